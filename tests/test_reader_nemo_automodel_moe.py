"""NeMo Automodel's YAML recipes of MoE models, whose blocks have keys of their own."""

import pytest

from reader_text import ReadText, read_text
from speccheck.validator.sources.formats.nemo_automodel import READER

RECIPE = """\
recipe: TrainFinetuneRecipeForNextTokenPrediction
step_scheduler: {global_batch_size: 32, local_batch_size: 1, max_steps: 20}
distributed:
  _target_: nemo_automodel.components.distributed.fsdp2.FSDP2Manager
  ep_size: 8
parallelizer:
  _target_: nemo_automodel.components.moe.parallelizer.parallelize_model
  activation_checkpointing: true
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: org/moe-30b
  backend:
    attn: te
    te_fp8: {recipe: block}
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "recipe.yaml")


@pytest.mark.parametrize(
    ("old", "new", "mode"),
    [
        ("", "", "full"),
        ("activation_checkpointing: true", "activation_checkpointing: false", "none"),
        ("  ep_size: 8", "  ep_size: 8\n  activation_checkpointing: false", "none"),
    ],
)
def test_the_parallelizer_recomputes(old: str, new: str, mode: str) -> None:
    found = read(RECIPE.replace(old, new, 1))
    assert found.value("memory.recompute_mode") == mode
    assert found.status("memory.recompute_mode") == "stated"


@pytest.mark.parametrize(
    ("block", "is_on", "recipe"),
    [
        ("{recipe: block}", True, "block"),
        ("{}", True, None),
        ("null", False, None),
        ("{recipe: block}\nfp8: {enabled: false}", True, "block"),
        ("{recipe: block}\nfp8: {enabled: true, recipe_name: tensor}", True, "tensor"),
    ],
)
def test_eight_bits_of_the_backend(
    block: str, recipe: str | None, *, is_on: bool
) -> None:
    found = read(RECIPE.replace("{recipe: block}", block))
    assert found.value("precision.fp8") is is_on
    assert found.value("precision.fp8_recipe") == recipe


def test_new_weights_have_the_name_of_their_configuration() -> None:
    named = "  pretrained_model_name_or_path: org/moe-30b\n"
    config = "  config: {pretrained_model_name_or_path: org/moe-8b}\n"
    found = read(RECIPE.replace(named, config))
    assert found.value("model.name_of_model") == "org/moe-8b"
    unnamed = read(RECIPE.replace(named, "  config: org/x\n"))
    assert unnamed.value("model.name_of_model") is None
