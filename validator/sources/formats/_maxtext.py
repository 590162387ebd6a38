"""What MaxText's mesh makes of devices and batch, and what its names mean together.

Sources, at 0.2.5: maxtext/configs/types.py (set_derived_and_validate_values),
maxtext/utils/max_utils.py (fill_unspecified_mesh_axes), maxtext/configs/base.yml
(logical_axis_rules). Every axis has a size within a slice (`ici_`) and one across
slices (`dcn_`); -1 fills one axis of each. Batches are per device, not per
data-parallel rank.
"""

from collections.abc import Mapping
from math import prod

from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.mapping import (
    Unusable,
    boolean,
    derive_switch,
    integer,
    number,
    without_place,
)
from speccheck.validator.sources.reader import Fact, FactSheet

Settings = Mapping[str, object]

FULL_SHARD = 3
_FILL = -1
_NETWORKS = ("dcn", "ici")
# The axes that are not 1 by default (base.yml of every version).
_FILLED = frozenset({"dcn_data_parallelism", "ici_fsdp_parallelism"})
# `embed` lies on the fsdp and expert axes, and so does the batch.
_GROUPS = {
    "parallelism.tensor_parallel_size": (
        "tensor",
        "tensor_transpose",
        "tensor_sequence",
    ),
    "parallelism.pipeline_parallel_size": ("pipeline",),
    "parallelism.context_parallel_size": ("context",),
    "parallelism.ulysses_size": ("sequence", "context_usp_ulysses"),
    "parallelism.expert_parallel_size": ("expert",),
    "parallelism.replicate_size": ("diloco", "data"),
    "parallelism.shard_size": ("fsdp", "fsdp_transpose", "expert"),
}
_SHARD = "parallelism.shard_size"
_EXPERT = "parallelism.expert_parallel_size"
_PIPELINE = "parallelism.pipeline_parallel_size"
_OF_A_REPLICA = (
    "parallelism.tensor_parallel_size",
    _PIPELINE,
    "parallelism.context_parallel_size",
    "parallelism.ulysses_size",
)
_USUAL_AXES = frozenset({"data", "stage", "fsdp", "tensor"})


class _Axis(Record):
    """The size of one axis over one network; None where it cannot be worked out."""

    key: str
    size: int | None
    is_stated: bool = False


def state_mesh(sheet: FactSheet, data: Settings) -> None:
    """State the degrees that the axes of the mesh make."""
    if _is_own_mesh(data):
        for leaf in _GROUPS:
            without_place(sheet, leaf, "the file gives a mesh of its own")
        return
    is_moved = data.get("context_sharding", "context") != "context"
    fills = [one for one in _axes(data, _ALL_AXES) if one.size == _FILL]
    for leaf, names in _GROUPS.items():
        if is_moved and leaf in {"parallelism.context_parallel_size", _EXPERT}:
            without_place(sheet, leaf, "context_sharding uses another axis")
            continue
        _state_degree(sheet, leaf, _axes(data, names), fills)
    _world(sheet, _axes(data, _ALL_AXES))


def _is_own_mesh(data: Settings) -> bool:
    """Whether other axes than those of base.yml make the mesh."""
    axes = data.get("mesh_axes")
    is_cut = isinstance(axes, list) and not _USUAL_AXES.issubset(axes)
    return is_cut or data.get("custom_mesh_and_rule") not in (None, "", "default")


_ALL_AXES = (
    "diloco",
    "data",
    "pipeline",
    "fsdp",
    "fsdp_transpose",
    "sequence",
    "context",
    "context_usp_ulysses",
    "context_autoregressive",
    "tensor",
    "tensor_transpose",
    "tensor_sequence",
    "expert",
    "autoregressive",
)


def _axes(data: Settings, names: tuple[str, ...]) -> list[_Axis]:
    found: list[_Axis] = []
    for name in names:
        for network in _NETWORKS:
            key = f"{network}_{name}_parallelism"
            value = data.get(key)
            if value is None:
                found.append(_Axis(key, _FILL if key in _FILLED else 1))
                continue
            size = integer(value)
            found.append(
                _Axis(key, size if isinstance(size, int) else None, is_stated=True)
            )
    return found


def _state_degree(
    sheet: FactSheet, leaf: str, axes: list[_Axis], fills: list[_Axis]
) -> None:
    unreadable = next((one for one in axes if one.size is None), None)
    if unreadable is not None:
        reason = f"{unreadable.key} is not a whole number"
        sheet.unusable(leaf, reason, (unreadable.key,))
        return
    places = [(one.key,) for one in axes if one.is_stated]
    filled = next((one for one in axes if one.size == _FILL), None)
    if filled is not None:
        if leaf == _SHARD and len(fills) == 1:
            _put(sheet, leaf, _FILL, f"{filled.key}: -1 fills the mesh", places)
            return
        what = "the slices" if filled.key.startswith("dcn") else "the slice"
        reason = f"{filled.key}: -1 fills {what}"
        sheet.facts.append(
            Fact(leaf, None, "unknown", tuple(sheet.place(at) for at in places), reason)
        )
        return
    factors = [one for one in axes if one.is_stated]
    factors = [one for one in factors if one.size != 1] or factors[:1]
    places = [(one.key,) for one in factors]
    note = " x ".join(f"{one.key} {one.size}" for one in factors)
    value = prod(one.size or 1 for one in axes)
    if len(factors) > 1:
        note += f" = {value:,}"
    _put(sheet, leaf, value, note, places)


def _put(
    sheet: FactSheet, leaf: str, value: int, note: str, places: list[tuple[str]]
) -> None:
    if not places:
        note = note or "no axis of the mesh is set for it"
        sheet.default(leaf, value, note)
    elif len(places) == 1:
        sheet.state(leaf, value, places[0])
    else:
        sheet.derive(leaf, value, note, *places)


def _world(sheet: FactSheet, axes: list[_Axis]) -> None:
    """A mesh without -1 tells the devices; what launches the job knows them better."""
    sizes = [one.size for one in axes]
    factors = [one for one in axes if one.is_stated and one.size != 1]
    if not factors or any(size is None or size < 1 for size in sizes):
        return
    world_size = prod(size or 1 for size in sizes)
    product = " x ".join(str(one.size) for one in factors)
    note = f"all axes of the mesh: {product} = {world_size:,}"
    places = tuple(sheet.place((one.key,)) for one in factors)
    sheet.facts.append(Fact("cluster.world_size", world_size, "default", places, note))


def state_pipeline(sheet: FactSheet, data: Settings) -> None:
    """Circular pipelines: a rank holds one stage for each repeat."""
    if (_known(sheet, _PIPELINE) or 1) == 1:
        return
    repeats = integer(data.get("num_pipeline_repeats", _FILL))
    layers = integer(data.get("num_layers_per_pipeline_stage", 1))
    if isinstance(repeats, int) and repeats > 0:
        at = ("num_pipeline_repeats",)
        sheet.state("parallelism.virtual_stages", repeats, at)
    elif isinstance(layers, int):
        leaf, at = (
            "parallelism.layers_per_virtual_stage",
            ("num_layers_per_pipeline_stage",),
        )
        if at[0] in data:
            sheet.state(leaf, layers, at)
        else:
            sheet.default(leaf, layers, "num_layers_per_pipeline_stage is not set: 1")


def state_sharding(sheet: FactSheet, data: Settings) -> None:
    """Weights lie on the fsdp axes; without them the optimizer may still be cut."""
    shards = _known(sheet, _SHARD)
    leaf = "parallelism.sharding_stage"
    if shards == 1:
        over_data = boolean(data.get("shard_optimizer_over_data"))
        stage = 1 if over_data is True else 0
        key = "shard_optimizer_over_data"
        note = "the fsdp axes are 1" + (f"; {key}" if stage else "")
        places = [(key,)] if stage else [("ici_fsdp_parallelism",)]
        sheet.derive(leaf, stage, note, *[at for at in places if at[0] in data])
    elif shards is not None or _is_filled(data):
        sheet.default(leaf, FULL_SHARD, "weights lie on the fsdp axes of the mesh")


def _is_filled(data: Settings) -> bool:
    return integer(data.get("ici_fsdp_parallelism", _FILL)) == _FILL


def state_batch(sheet: FactSheet, data: Settings) -> None:
    """Samples of a data-parallel rank: those of all devices of one replica."""
    micro, steps = "batch.micro_batch_size", "batch.gradient_accumulation_steps"
    key = "per_device_batch_size"
    at = (key,)
    accumulation = integer(data.get("gradient_accumulation_steps", 1))
    size = number(data.get(key)) if data.get(key) is not None else None
    degrees = [_known(sheet, leaf) for leaf in _OF_A_REPLICA]
    known = [one for one in degrees if one is not None]
    if len(known) < len(degrees):
        if size is not None:
            sheet.unusable(micro, "the devices of one replica are not known", at)
        return
    devices = prod(known)
    stages = _known(sheet, _PIPELINE) or 1
    splits = _pipeline_splits(data, stages)
    if stages > 1 and isinstance(accumulation, int) and splits:
        note = f"{accumulation} x {splits} micro-batches of the pipeline"
        keys = ("gradient_accumulation_steps", "num_pipeline_microbatches")
        places = [(key,) for key in keys if data.get(key) is not None]
        sheet.derive(steps, accumulation * splits, note, *places)
    elif data.get("gradient_accumulation_steps") is not None:
        _put_converted(sheet, steps, accumulation, ("gradient_accumulation_steps",))
    else:
        sheet.default(steps, 1, "gradient_accumulation_steps is not set: 1")
    if isinstance(size, Unusable):
        sheet.unusable(micro, size.reason, at)
    elif isinstance(size, float) and splits:
        _micro_batch(sheet, size, devices, splits)


def _micro_batch(sheet: FactSheet, size: float, devices: int, splits: int) -> None:
    micro, at = "batch.micro_batch_size", ("per_device_batch_size",)
    samples = size * devices / splits
    note = f"{size:g} samples a device x {devices} devices of a replica"
    if splits > 1:
        note += f" / {splits} micro-batches"
    if not samples.is_integer():
        sheet.unusable(micro, f"{note} = {samples:g}", at)
    elif devices == splits:
        sheet.state(micro, int(samples), at)
    else:
        sheet.derive(micro, int(samples), f"{note} = {int(samples)}", at)


def _pipeline_splits(data: Settings, stages: int) -> int:
    """Micro-batches of one forward pass; 0 where they are not known."""
    if stages == 1:
        return 1
    stated = integer(data.get("num_pipeline_microbatches", _FILL))
    if not isinstance(stated, int):
        return 0
    if stated > 0:
        return stated
    is_delayed = boolean(data.get("pipeline_delay_activation_forwarding", False))
    return stages * (2 if is_delayed is True else 1)


def _put_converted(
    sheet: FactSheet, leaf: str, converted: object, at: tuple[str]
) -> None:
    if isinstance(converted, Unusable):
        sheet.unusable(leaf, converted.reason, at)
    else:
        sheet.state(leaf, converted, at)


def _known(sheet: FactSheet, leaf: str) -> int | None:
    value = next((fact.value for fact in sheet.facts if fact.name == leaf), None)
    return value if isinstance(value, int) else None


def state_quantization(sheet: FactSheet, value: object) -> None:
    """The names of `quantization` that compute in fp8 hold `fp8`."""
    at = ("quantization",)
    if value is None or value == "":
        note = "quantization is off"
        if value is None:
            sheet.default("precision.fp8", value=False, note=note)
        else:
            derive_switch(sheet, "precision.fp8", note, at, is_on=False)
    elif isinstance(value, str):
        is_on = "fp8" in value
        note = f"quantization: {value}"
        derive_switch(sheet, "precision.fp8", note, at, is_on=is_on)
        if is_on:
            sheet.state("precision.fp8_recipe", value, at)
