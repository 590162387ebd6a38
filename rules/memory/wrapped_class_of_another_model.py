"""A layer class to wrap that belongs to another family of models.

Why it hurts: FSDP looks the class up by its name. It does not find it, and the run
stops after the model was loaded on every node.

What passes: a class of the model's own family.

Where it does not apply: models whose name tells no family, or several of them;
families whose later models are of another class (Falcon, DeepSeek, Granite).

Source: huggingface/accelerate utils/fsdp_utils.py (fsdp2_prepare_auto_wrap_policy);
hiyouga/LLaMA-Factory issue 8279.

Bad::

    model_name_or_path: Qwen/Qwen2.5-7B
    fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer

Good::

    model_name_or_path: Qwen/Qwen2.5-7B
    fsdp_transformer_layer_cls_to_wrap: Qwen2DecoderLayer
"""

from speccheck.validator.evidence.plan import Model, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule

# Every model of transformers with the name has classes that begin with it.
_FAMILIES = ("gemma", "llama", "mistral", "mixtral", "qwen")


@rule(
    clause="MEM-033",
    confidence="advisory",
    about=("parallelism.wrapped_layer_classes",),
)
def wrapped_class_of_another_model(parallelism: Parallelism, model: Model) -> Verdicts:
    """Judge the classes against the family that the name of the model tells."""
    classes, name = parallelism.wrapped_layer_classes, model.name_of_model
    if not classes.is_known or not name.is_known:
        return
    last = name.need().rstrip("/").rpartition("/")[2].lower()
    families = [family for family in _FAMILIES if family in last]
    if len(families) != 1:
        return
    result = {
        text: family
        for text in classes.need()
        for family in _FAMILIES
        if text.lower().startswith(family)
    }
    foreign = [text for text, family in result.items() if family != families[0]]
    at = [classes, name]
    if foreign:
        yield fail(
            f"{foreign[0]} is no layer of {name.need()}, whose classes begin with "
            f"{families[0].capitalize()}",
            at=at,
            measured=foreign[0],
            required=families[0],
            cost="the run stops after the model was loaded on every node",
            remedy="Name the class of the model's layers, or leave the key out: "
            "transformers knows them.",
        )
    elif result:
        yield passed(at=at)
