"""Optimizer, data, checkpoints, model and role of a NeMo Automodel recipe.

Sources: NVIDIA-NeMo/Automodel nemo_automodel/recipes/base_recipe.py (load_checkpoint),
recipes/llm/train_ft.py and components/training/step_scheduler.py.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    apply,
    boolean,
    derive_switch,
    integer_text,
    placeholder,
    put,
    put_numbers,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

_SINKS = ("wandb", "mlflow", "comet")
_LENGTHS = ("seq_length", "seq_len")
_FUSED_LOSSES = ("FusedLinearCrossEntropy", "TEParallelCrossEntropy")
_DISTILLING = ("teacher_model", "kd_ratio")
_GPT2: Fields = {
    "n_embd": ("model.hidden_size", integer_text),
    "n_layer": ("model.layers", integer_text),
    "n_head": ("model.attention_heads", integer_text),
    "n_positions": ("model.maximum_positions", integer_text),
    "vocab_size": ("model.vocabulary_size", integer_text),
}
_FOUR_BITS, _EIGHT_BITS = 4, 8


def state_run(sheet: FactSheet, data: Settings) -> None:
    """State what the other sections mean together."""
    _optimizer(sheet, data)
    _sequence(sheet, data)
    _loader(sheet, section(data, "dataloader"))
    _resume(sheet, section(data, "checkpoint"))
    _model(sheet, data)
    _sinks(sheet, data)
    if section(data, "rng").get("seed") is None and data.get("seed") is not None:
        put(sheet, "run.seed", integer_text(data["seed"]), ("seed",))
    _eight_bits(sheet, data)


def _eight_bits(sheet: FactSheet, data: Settings) -> None:
    """FP8 of torchao, or of Transformer Engine where `te_fp8` is set."""
    recipe = section(data, "fp8").get("recipe_name")
    if boolean(section(data, "fp8").get("enabled")) is True:
        if isinstance(recipe, str):
            sheet.state("precision.fp8_recipe", recipe, ("fp8", "recipe_name"))
        return
    at = ("model", "backend", "te_fp8")
    if section(data, "model", "backend").get("te_fp8") is not None:
        sheet.facts[:] = [one for one in sheet.facts if one.name != "precision.fp8"]
        derive_switch(sheet, "precision.fp8", "te_fp8 is set", at)
        recipe = section(data, *at).get("recipe")
        if isinstance(recipe, str):
            sheet.state("precision.fp8_recipe", recipe, (*at, "recipe"))


def _target(block: Settings) -> str:
    """The callable that a section names; empty without one."""
    name = block.get("_target_")
    return name if isinstance(name, str) and placeholder(name) is None else ""


def _optimizer(sheet: FactSheet, data: Settings) -> None:
    block = section(data, "optimizer")
    betas = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, betas, block.get("betas"), ("optimizer", "betas"))
    name = _target(block).rpartition(".")[2]
    at: KeyPath = ("optimizer", "_target_")
    leaf = "kernels.fused_optimizer"
    if name:
        sheet.derive("optimizer.name_of_optimizer", name.lower(), name, at)
    if name.startswith("Fused"):
        derive_switch(sheet, leaf, name, at)
    elif block.get("fused") is not None:
        put(sheet, leaf, boolean(block["fused"]), ("optimizer", "fused"))
    loss = _target(section(data, "loss_fn")).rpartition(".")[2]
    if loss in _FUSED_LOSSES:
        place: KeyPath = ("loss_fn", "_target_")
        derive_switch(sheet, "kernels.fused_cross_entropy", loss, place)


def _sequence(sheet: FactSheet, data: Settings) -> None:
    """A pack has its size; without packing the data set cuts at its own length."""
    block = section(data, "packed_sequence")
    for key in ("packed_sequence_size", "pack_size"):
        size = integer_text(block.get(key))
        at: KeyPath = ("packed_sequence", key)
        if isinstance(size, int):
            note = f"{key}: {size:,}"
            derive_switch(sheet, "batch.packing", note, at, is_on=size > 0)
            if size > 0:
                sheet.state("batch.sequence_length", size, at)
                return
    if not block:
        sheet.default("batch.packing", value=False, note="packed_sequence is not set")
    for key in _LENGTHS:
        stated = section(data, "dataset").get(key)
        if stated is not None:
            length = integer_text(stated)
            put(sheet, "batch.sequence_length", length, ("dataset", key))
            return


def _loader(sheet: FactSheet, block: Settings) -> None:
    """Loaders of torch and torchdata work in the training process unless told."""
    name = _target(block).rpartition(".")[2]
    at: KeyPath = ("dataloader", "_target_")
    if name == "StatefulDataLoader":
        derive_switch(sheet, "data.resumable", "StatefulDataLoader", at)
    if name in {"StatefulDataLoader", "DataLoader"} and "num_workers" not in block:
        sheet.default("data.workers", 0, f"num_workers is not set: 0 in {name}")


def _resume(sheet: FactSheet, block: Settings) -> None:
    """Without restore_from the newest checkpoint of checkpoint_dir is loaded."""
    leaf, stated = "checkpoint.resume", block.get("restore_from")
    at: KeyPath = ("checkpoint", "restore_from")
    if stated is None:
        note = "restore_from is not set: the newest checkpoint of checkpoint_dir"
        sheet.default(leaf, value=True, note=note)
    elif stated == "LATEST":
        derive_switch(sheet, leaf, "LATEST: the newest checkpoint", at)
    else:
        fixed = Unusable("a fixed path: it may not be the newest checkpoint")
        sheet.unusable(leaf, (placeholder(stated) or fixed).reason, at)


def _model(sheet: FactSheet, data: Settings) -> None:
    model = section(data, "model")
    built = _target(model)
    if built.endswith("build_gpt2_model"):
        apply(sheet, model, _GPT2, ("model",))
    _adapter(sheet, data)
    at: KeyPath = ("model", "_target_")
    made_up = _target(section(data, "dataset"))
    if isinstance(data.get("benchmark"), dict):
        sheet.derive("run.role", "debug", "the section benchmark", ("benchmark",))
    elif ".mock" in made_up:
        place: KeyPath = ("dataset", "_target_")
        sheet.derive("run.role", "debug", f"{made_up}: made-up data", place)
    elif isinstance(data.get("peft"), dict):
        sheet.derive("run.role", "lora", "the section peft", ("peft",))
    elif any(key in data for key in _DISTILLING):
        return
    elif built.endswith((".from_config", "build_gpt2_model")):
        sheet.derive("run.role", "pretrain", f"{built}: new weights", at)
    elif data.get("recipe") == "FinetuneRecipeForVLM":
        sheet.derive("run.role", "sft", "FinetuneRecipeForVLM", ("recipe",))


def _adapter(sheet: FactSheet, data: Settings) -> None:
    block = section(data, "quantization")
    leaf = "model.adapter"
    bits = next(
        (
            (count, key)
            for key, count in (
                ("load_in_4bit", _FOUR_BITS),
                ("load_in_8bit", _EIGHT_BITS),
            )
            if boolean(block.get(key)) is True
        ),
        None,
    )
    if bits is not None:
        note = f"{bits[1]}: true"
        sheet.derive("model.quantized_bits", bits[0], note, ("quantization", bits[1]))
    if not isinstance(data.get("peft"), dict):
        if data.get("peft") is None:
            sheet.default(leaf, "none", "peft is not set")
        return
    name = "qlora" if bits is not None and bits[0] == _FOUR_BITS else "lora"
    sheet.derive(leaf, name, "the section peft", ("peft",))


def _sinks(sheet: FactSheet, data: Settings) -> None:
    on = tuple(
        name
        for name in _SINKS
        if isinstance(data.get(name), dict)
        and boolean(section(data, name).get("enable", True)) is not False
    )
    leaf = "telemetry.sinks"
    if on:
        sheet.derive(leaf, on, "sections of sinks", *((name,) for name in on))
    else:
        sheet.default(leaf, ("file",), "no sink is on: metrics go to files")
