"""The settings that a run of torchtitan writes down, as if they were its TOML.

`debug.save_config_file` and `debug.print_config` give JSON (torchtitan/trainer.py,
Config.to_dict). Up to v0.2.2 it is the tree of the TOML. Since February 2026, when the
settings became Python, some sections have other names: `model_spec`, `profiler`,
`checkpointer`, a `dataloader` of its own, `dump_folder` at the top; a section that is
null is off; and from f204eb6 on batches are counted in tokens.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.documents.document import Document, Resolution
from speccheck.validator.sources.mapping import (
    derive_switch,
    integer,
    items,
    lower_text,
    number,
    put,
    put_numbers,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

_CHECKPOINT = ("checkpoint", "checkpointer")
_TOKENS = "num_tokens_per_microbatch_per_dp_rank"
_ALL_TOKENS = "num_tokens_per_train_step"
_LENGTH = "max_context_length"
_BETAS = ("optimizer.beta1", "optimizer.beta2")


class DumpSheet(FactSheet):
    """A sheet whose paths are those of the TOML; places are where the dump says it."""

    __slots__ = ("written",)

    def __init__(self, document: Document, written: Mapping[KeyPath, KeyPath]) -> None:
        """Take the document, and by section of the TOML the path in the dump."""
        super().__init__(document.name, document)
        self.written = written

    def place(self, path: KeyPath) -> Place:
        """The place of a key path of the TOML."""
        return super().place(self._in_dump(path))

    def _where(self, at: KeyPath | Place) -> tuple[Place, Resolution | None]:
        return super()._where(at if isinstance(at, Place) else self._in_dump(at))

    def _in_dump(self, path: KeyPath) -> KeyPath:
        for length in range(len(path), 0, -1):
            written = self.written.get(path[:length])
            if written is not None:
                return (*written, *path[length:])
        return path


def is_dump(data: Settings) -> bool:
    """Whether these are the settings of a run of 2026, not a TOML of before."""
    return "dump_folder" in data and isinstance(data.get("training"), dict)


def opened(document: Document, data: Settings) -> tuple[DumpSheet, Settings]:
    """A sheet for a dump, and its settings in the sections of the TOML."""
    saves = next((name for name in _CHECKPOINT if name in data), _CHECKPOINT[0])
    profiles = "profiler" if "profiler" in data else "profiling"
    loads = section(data, "dataloader")
    view: dict[str, object] = {
        **data,
        "checkpoint": section(data, saves),
        "job": {"dump_folder": data.get("dump_folder")},
        "model": section(data, "model_spec"),
        "profiling": section(data, profiles),
        "training": {**section(data, "training"), "dataloader": loads},
    }
    written: dict[KeyPath, KeyPath] = {
        ("checkpoint",): (saves,),
        ("job",): (),
        ("model",): ("model_spec",),
        ("profiling",): (profiles,),
        ("training", "dataloader"): ("dataloader",),
    }
    return DumpSheet(document, written), view


def state_dump(sheet: FactSheet, data: Settings) -> None:
    """State what a dump says in another way than the TOML; `data` as it is written."""
    saves = next((name for name in _CHECKPOINT if name in data), "")
    _presence(sheet, data, saves, "checkpoint.enabled", ("checkpoint",))
    _presence(sheet, data, "compile", "kernels.compiled", ("compile",))
    if "activation_checkpoint" in data and data["activation_checkpoint"] is None:
        leaf, at = "memory.recompute_mode", ("activation_checkpoint",)
        sheet.derive(leaf, "none", "activation_checkpoint is null", at)
    _optimizer(sheet, section(data, "optimizer"))
    _converters(sheet, data)
    _tokens(sheet, data)
    _graphs(sheet, section(data, "training"))


def _presence(
    sheet: FactSheet, data: Settings, name: str, leaf: str, at: KeyPath
) -> None:
    """A section without a switch is on where it stands, and off where it is null."""
    if name not in data or "enable" in section(data, name):
        return
    is_on = isinstance(data[name], dict)
    note = f"{name} is {'configured' if is_on else 'null'}"
    derive_switch(sheet, leaf, note, at, is_on=is_on)


def _optimizer(sheet: FactSheet, optimizer: Settings) -> None:
    """The last group of parameters takes all that no pattern before it took."""
    groups = items(optimizer.get("param_groups"))
    if not groups:
        return
    at: KeyPath = ("optimizer", "param_groups", len(groups) - 1)
    group = section(groups[-1])
    settings = section(group, "optimizer_kwargs")
    if group.get("optimizer_name") is not None:
        name = lower_text(group["optimizer_name"])
        put(sheet, "optimizer.name_of_optimizer", name, (*at, "optimizer_name"))
    for key, leaf in (
        ("lr", "optimizer.learning_rate"),
        ("weight_decay", "optimizer.weight_decay"),
    ):
        if settings.get(key) is not None:
            put(sheet, leaf, number(settings[key]), (*at, "optimizer_kwargs", key))
    place = (*at, "optimizer_kwargs", "betas")
    put_numbers(sheet, _BETAS, settings.get("betas"), place)


def _converters(sheet: FactSheet, data: Settings) -> None:
    """Converters have no names in a dump; those of fp8 have a recipe."""
    found = items(section(data, "model_converters").get("converters"))
    for index, converter in enumerate(found):
        recipe = section(converter).get("recipe_name")
        if not isinstance(recipe, str) or "fp4" in recipe:
            continue
        at: KeyPath = ("model_converters", "converters", index, "recipe_name")
        derive_switch(sheet, "precision.fp8", f"recipe {recipe}", at)
        sheet.state("precision.fp8_recipe", recipe, at)


def _tokens(sheet: FactSheet, data: Settings) -> None:
    """Tokens in samples of the longest context; documents may be shorter."""
    training = section(data, "training")
    length = integer(training.get(_LENGTH))
    tokens, total = integer(training.get(_TOKENS)), integer(training.get(_ALL_TOKENS))
    if not isinstance(length, int) or not isinstance(tokens, int) or length < 1:
        return
    long: KeyPath = ("training", _LENGTH)
    sheet.state("batch.sequence_length", length, long)
    at: KeyPath = ("training", _TOKENS)
    micro = "batch.micro_batch_size"
    note = f"{tokens:,} tokens / {length:,} of a sample"
    if tokens % length == 0:
        samples = tokens // length
        sheet.derive(micro, samples, f"{note} = {samples:,}", at, long)
    else:
        sheet.unusable(micro, f"{note} is no whole number", at)
    if isinstance(total, int) and total > 0:
        _all_tokens(sheet, total, length)
    else:
        _fewest_steps(sheet, data)


def _all_tokens(sheet: FactSheet, total: int, length: int) -> None:
    at: KeyPath = ("training", _ALL_TOKENS)
    note = f"{total:,} tokens / {length:,} of a sample"
    leaf = "batch.global_batch_size"
    if total % length == 0:
        sheet.derive(leaf, total // length, f"{note} = {total // length:,}", at)
    else:
        sheet.unusable(leaf, f"{note} is no whole number", at)


def _fewest_steps(sheet: FactSheet, data: Settings) -> None:
    """Without a total each rank runs one round of pipeline micro-batches."""
    parallel = section(data, "parallelism")
    ranks = integer(parallel.get("pipeline_parallel_degree", 1))
    count = integer(parallel.get("num_pp_microbatches", 1)) if ranks != 1 else 1
    leaf = "batch.gradient_accumulation_steps"
    if isinstance(count, int) and count > 0:
        note = f"{_ALL_TOKENS} is not set: one round"
        places = [("parallelism", "num_pp_microbatches")] if ranks != 1 else []
        sheet.derive(leaf, count, note, ("training", _ALL_TOKENS), *places)


def _graphs(sheet: FactSheet, training: Settings) -> None:
    switch = training.get("disable_cuda_graphs")
    if isinstance(switch, bool):
        at = ("training", "disable_cuda_graphs")
        note = f"disable_cuda_graphs: {str(switch).lower()}"
        derive_switch(sheet, "kernels.cuda_graphs", note, at, is_on=not switch)
