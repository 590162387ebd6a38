"""What each JSON Schema of a framework describes: one row for each schema.

Which values are taken beside those of the declared type stands in the key tables
(`loaders`), where the rules find it as well.
"""

from collections.abc import Mapping
from typing import Any

from speccheck.validator.evidence.accepted_values import Loader
from speccheck.validator.evidence.record import Record


class Dialect(Record):
    """One schema.

    Attributes:
        table: key table in schemas/catalogues/frameworks.
        title: what the schema says that it describes.
        block: the block of the table that is the whole file; empty for all of it.
        stands_below: the key at the top below which all keys stand.
        wrappers: keys at the top below which the whole file may stand.
        dashes: keys at the top may be written with dashes for underscores.
    """

    table: str
    title: str
    block: str = ""
    stands_below: str = ""
    wrappers: tuple[str, ...] = ()
    dashes: bool = False


def loader_of(name: str, table: Mapping[str, Any]) -> Loader:
    """Return how the format of a schema takes values, by its key table."""
    row: Mapping[str, Any] = table["loaders"][name]
    listed: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in row.items()
    }
    return Loader(**listed)


DIALECTS = {
    "accelerate": Dialect("accelerate", "Hugging Face Accelerate"),
    "axolotl": Dialect("axolotl", "Axolotl"),
    "deepspeed": Dialect("deepspeed", "DeepSpeed"),
    "gpt-neox": Dialect("gpt-neox", "GPT-NeoX", dashes=True),
    "hf-fsdp-json": Dialect(
        "hf-training-arguments", "Hugging Face fsdp_config", block="fsdp_config"
    ),
    "hf-trainer": Dialect(
        "hf-training-arguments", "Hugging Face TrainingArguments and TRL"
    ),
    "litgpt": Dialect("litgpt", "LitGPT"),
    "llamafactory": Dialect("llamafactory", "LLaMA-Factory"),
    "llm-foundry": Dialect("llm-foundry", "LLM Foundry", wrappers=("parameters",)),
    "maxtext": Dialect("maxtext", "MaxText"),
    "megatron-bridge": Dialect("megatron-bridge", "Megatron-Bridge"),
    "megatron-model-config": Dialect(
        "megatron-lm", "Megatron-LM model_config.yaml", stands_below="MODEL_ARGS"
    ),
    "nanotron": Dialect("nanotron", "Nanotron"),
    "nemo-automodel": Dialect("nemo-automodel", "NeMo AutoModel"),
    "nemo-rl": Dialect("nemo-rl", "NeMo RL"),
    "nemo1": Dialect("nemo1", "NeMo 1", wrappers=("training",)),
    "olmo": Dialect("olmo", "OLMo"),
    "olmo-core": Dialect("olmo-core", "OLMo-core"),
    "torchtitan": Dialect("torchtitan", "torchtitan"),
    "torchtune": Dialect("torchtune", "torchtune"),
    "verl": Dialect("verl", "verl"),
}
