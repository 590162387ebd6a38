"""How each framework takes what stands in its file: one row for each schema.

A schema must not cry at a file that the framework takes. The key tables say which type
a key has; what else is taken in its place - a number in quotes, null, `${...}` - is a
matter of the loader and of the classes behind it, and stands here.
"""

from typing import Literal

from speccheck.validator.evidence.record import Record

# What becomes of a value that is not of the declared type:
# `checked`: the framework compares types and stops, `converted`: it turns texts into
# numbers and switches, `trusted`: it neither looks nor converts, and computes with it.
Handling = Literal["checked", "converted", "trusted"]


class Dialect(Record):
    """One schema: its key table, and what its framework takes besides.

    Attributes:
        table: key table in schemas/catalogues/frameworks.
        title: what the schema says that it describes.
        language: of most files; JSON is YAML for every loader of YAML here.
        handling: of values.
        top: the handling of keys at the top, where that is another one.
        as_written: blocks whose values are handled as those at the top.
        reads_exponents: the loader reads `2e-5` as a number, where YAML 1.1 has a text.
        takes_scalars_as_text: a number or switch may stand where a text is wanted.
        takes_null: null may stand for every value; elsewhere only where it is declared.
        takes_auto: the text `auto` may stand for every number and switch.
        interpolates: a text with `${...}`, or `???`, may stand for every value.
        is_mined: the types were gathered from published files, not from declarations:
            of texts, lists and blocks they are a hint and refuse nothing.
        joins_lists: a list may be written as one text of several words.
        demands: keys that the table calls required must stand in the file itself; where
            a command line may state them, their absence is no fault of the file.
        closed_texts: keys declared as `enum|str` whose texts are members all the same.
        block: the block of the table that is the whole file; empty for all of it.
        stands_below: the key at the top below which all keys stand.
        wrappers: keys at the top below which the whole file may stand.
        dashes: keys at the top may be written with dashes for underscores.
    """

    table: str
    title: str
    handling: Handling
    language: Literal["yaml", "json", "toml"] = "yaml"
    top: Handling | None = None
    as_written: tuple[str, ...] = ()
    reads_exponents: bool = False
    takes_scalars_as_text: bool = True
    takes_null: bool = True
    takes_auto: bool = False
    interpolates: bool = False
    is_mined: bool = False
    joins_lists: bool = False
    demands: bool = False
    closed_texts: tuple[str, ...] = ()
    block: str = ""
    stands_below: str = ""
    wrappers: tuple[str, ...] = ()
    dashes: bool = False

    def handling_at(self, path: str) -> Handling:
        """How values at a path of the table are handled."""
        first, _, below = path.partition(".")
        if self.top is not None and (not below or first in self.as_written):
            return self.top
        return self.handling


_STRATEGIES = (
    "eval_strategy",
    "evaluation_strategy",
    "hub_strategy",
    "logging_strategy",
    "save_strategy",
)

DIALECTS = {
    # values go to the environment and to launch arguments as texts
    "accelerate": Dialect(
        "accelerate", "Hugging Face Accelerate", "converted", demands=True
    ),
    # pydantic converts; it takes no number for a text
    "axolotl": Dialect(
        "axolotl", "Axolotl", "converted", takes_scalars_as_text=False, takes_null=False
    ),
    # its pydantic models convert, the rest is read from dictionaries
    "deepspeed": Dialect(
        "deepspeed",
        "DeepSpeed",
        "converted",
        language="json",
        top="trusted",
        as_written=("optimizer", "scheduler"),
        takes_auto=True,
    ),
    # validate_types compares the types of what stands at the top
    "gpt-neox": Dialect(
        "gpt-neox",
        "GPT-NeoX",
        "converted",
        top="checked",
        as_written=("optimizer", "scheduler"),
        dashes=True,
    ),
    "hf-fsdp-json": Dialect(
        "hf-training-arguments",
        "Hugging Face fsdp_config",
        "converted",
        language="json",
        block="fsdp_config",
    ),
    # TrlParser converts by argparse, HfArgumentParser.parse_yaml_file does not
    "hf-trainer": Dialect(
        "hf-training-arguments",
        "Hugging Face TrainingArguments and TRL",
        "converted",
        closed_texts=_STRATEGIES,
    ),
    "litgpt": Dialect("litgpt", "LitGPT", "converted"),
    # read by OmegaConf, handed to dataclasses
    "llamafactory": Dialect(
        "llamafactory",
        "LLaMA-Factory",
        "trusted",
        reads_exponents=True,
        closed_texts=_STRATEGIES,
    ),
    "llm-foundry": Dialect(
        "llm-foundry",
        "LLM Foundry",
        "trusted",
        reads_exponents=True,
        interpolates=True,
        is_mined=True,
        wrappers=("parameters",),
    ),
    # pydantic converts
    "maxtext": Dialect(
        "maxtext",
        "MaxText",
        "converted",
        takes_scalars_as_text=False,
    ),
    # its values become words of a command line, after the shell has expanded them
    "megatron-model-config": Dialect(
        "megatron-lm",
        "Megatron-LM model_config.yaml",
        "converted",
        interpolates=True,
        joins_lists=True,
        stands_below="MODEL_ARGS",
    ),
    # dacite compares types
    "nanotron": Dialect(
        "nanotron",
        "Nanotron",
        "checked",
        takes_scalars_as_text=False,
        takes_null=False,
        demands=True,
    ),
    "nemo-automodel": Dialect(
        "nemo-automodel",
        "NeMo AutoModel",
        "converted",
        interpolates=True,
        is_mined=True,
    ),
    "nemo1": Dialect(
        "nemo1",
        "NeMo 1",
        "trusted",
        reads_exponents=True,
        interpolates=True,
        is_mined=True,
        wrappers=("training",),
    ),
    # OmegaConf converts to what the structured configuration declares
    "olmo": Dialect("olmo", "OLMo", "converted", interpolates=True, demands=True),
    "torchtitan": Dialect(
        "torchtitan", "torchtitan", "trusted", language="toml", takes_null=False
    ),
    "torchtune": Dialect(
        "torchtune",
        "torchtune",
        "trusted",
        reads_exponents=True,
        interpolates=True,
        is_mined=True,
    ),
    "verl": Dialect(
        "verl",
        "verl",
        "trusted",
        reads_exponents=True,
        interpolates=True,
        is_mined=True,
    ),
}
