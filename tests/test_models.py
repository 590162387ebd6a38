"""Parameters, states and activations: counts to the last one, bounds on both sides."""

import csv
from pathlib import Path
from typing import NamedTuple

import pytest

from corpus import SHARED
from speccheck.validator.models.activation_memory import (
    Work,
    least_layer_bytes,
    most_layer_bytes,
    most_rank_parameters,
    working_bytes,
)
from speccheck.validator.models.parameters import (
    Dimensions,
    gated_parameters,
    least_parameters,
    megatron_feed_forward_size,
    most_block_parameters,
)
from speccheck.validator.models.state_memory import (
    Interval,
    Scheme,
    Sharding,
    billions,
    bytes_per_parameter,
    gigabytes,
    state_bytes,
)

LLAMA_8B = Dimensions(32, 4096, 32, 8, 128, 14336, True, 128256, False)  # noqa: FBT003
LLAMA_70B = Dimensions(80, 8192, 64, 8, 128, 28672, True, 128256, False)  # noqa: FBT003
LLAMA_1B = Dimensions(16, 2048, 32, 8, 64, 8192, True, 128256, True)  # noqa: FBT003
MEMORY = (SHARED or Path()) / "facts" / "ground_truth" / "memory.csv"


@pytest.mark.parametrize(
    ("dimensions", "published"),
    [
        (LLAMA_8B, 8_030_261_248),
        (LLAMA_70B, 70_553_706_496),
        (LLAMA_1B, 1_235_814_400),
    ],
)
def test_published_sizes_come_out_to_the_last_parameter(
    dimensions: Dimensions, published: int
) -> None:
    assert gated_parameters(dimensions) == published


@pytest.mark.parametrize("dimensions", [LLAMA_8B, LLAMA_70B, LLAMA_1B])
def test_the_bounds_enclose_the_count(dimensions: Dimensions) -> None:
    count = gated_parameters(dimensions)
    fullest = most_rank_parameters(dimensions, 1)
    assert fullest is not None
    assert least_parameters(dimensions) <= count <= fullest


def test_what_is_not_known_counts_as_nothing_in_the_lower_bound() -> None:
    bare = Dimensions(layers=48, hidden_size=7168, attention_heads=56)
    assert least_parameters(bare) == 48 * 2 * 7168 * 7168
    assert most_block_parameters(bare) is None
    assert most_rank_parameters(bare, 1) is None


@pytest.mark.parametrize(
    ("hidden_size", "is_gated", "expected"),
    [(4096, False, 16384), (4096, True, 10880), (5120, True, 13632)],
)
def test_the_feed_forward_size_that_megatron_takes(
    hidden_size: int,
    is_gated: bool,  # noqa: FBT001 - a row of the table
    expected: int,
) -> None:
    assert megatron_feed_forward_size(hidden_size, is_gated=is_gated) == expected


@pytest.mark.parametrize(
    ("stage", "per_parameter"),
    [(0, 16.0), (1, 4.0 + 12 / 64), (2, 2.0 + 14 / 64), (3, 16 / 64)],
)
def test_zero_stages_with_adam_and_16_bits(stage: int, per_parameter: float) -> None:
    scheme = Scheme("bf16", keeps_master_weights=True, optimizer="adamw")
    sharding = Sharding(1, 64, 64, stage)
    found = state_bytes(Interval(1e9, 1e9), scheme, sharding)
    assert found.least == pytest.approx(per_parameter * 1e9)
    assert found.least <= found.most


@pytest.mark.parametrize(
    ("scheme", "bytes_each"),
    [
        (Scheme("fp32", keeps_master_weights=False, optimizer="adamw"), 16.0),
        (Scheme("bf16", False, "fp32", "adamw"), 16.0),  # noqa: FBT003
        (Scheme("bf16", False, "bf16", "adamw"), 8.0),  # noqa: FBT003
        (Scheme("bf16", False, "bf16", "adamw_bnb_8bit"), 2.0),  # noqa: FBT003
        (Scheme("bf16", True, "", ""), 8.0),  # noqa: FBT003
        (Scheme("bf16", True, "", "adam", "bf16"), 4.0),  # noqa: FBT003
    ],
)
def test_the_lower_bound_counts_only_what_is_sure(
    scheme: Scheme, bytes_each: float
) -> None:
    kept = bytes_per_parameter(scheme)
    assert sum(part.least for part in kept) == bytes_each


def test_offload_takes_optimizer_and_gradients_off_the_lower_bound() -> None:
    scheme = Scheme("bf16", keeps_master_weights=True, optimizer="adamw")
    moved = Sharding(1, 8, 8, 2, offloads_optimizer=True)
    assert state_bytes(Interval(1e9, 1e9), scheme, moved).least == 2e9
    gone = Sharding(1, 8, 8, 3, offloads_optimizer=True, offloads_weights=True)
    assert state_bytes(Interval(1e9, 1e9), scheme, gone).least == 0


def test_model_parallel_ranks_divide_the_states() -> None:
    scheme = Scheme("bf16", keeps_master_weights=True, optimizer="adam")
    found = state_bytes(Interval(8e9, 8e9), scheme, Sharding(8, 1, 1, 0))
    assert found.least == 16e9


def test_context_ranks_widen_the_interval_of_a_sharded_state() -> None:
    scheme = Scheme("bf16", keeps_master_weights=True, optimizer="adam")
    found = state_bytes(Interval(1e9, 1e9), scheme, Sharding(1, 64, 16, 3))
    assert found == Interval(16e9 / 64, 24e9 / 16)


def test_a_frozen_base_keeps_its_bits_and_a_small_trained_part() -> None:
    four_bits = Scheme("bf16", keeps_master_weights=False, base_bits=4)
    found = state_bytes(Interval(70e9, 70e9), four_bits, Sharding(1, 1, 1, 0))
    assert found.least == pytest.approx(31.5e9)
    assert found.most == pytest.approx(70e9 * (1.0 + 1.6))


def test_activations_of_a_gated_layer() -> None:
    work = Work(tokens=8192, sequence_length=8192, attention="flash")
    elements = 102_400  # 8 h + 2 (a + 2 k) d + 4 f
    assert most_layer_bytes(LLAMA_8B, work) == elements * 2 * 8192
    assert least_layer_bytes(LLAMA_8B, work) == pytest.approx(
        0.73 * elements * 2 * 8192
    )


def test_scores_are_counted_unless_a_kernel_keeps_them_on_chip() -> None:
    eager = most_layer_bytes(LLAMA_8B, Work(tokens=8192, sequence_length=8192))
    flash = most_layer_bytes(
        LLAMA_8B, Work(tokens=8192, sequence_length=8192, attention="flash")
    )
    assert eager is not None
    assert flash is not None
    assert eager - flash == 5 * 32 * 8192 * 8192  # 5 a s^2, in bytes


def test_full_recomputation_keeps_boundaries_and_one_layer() -> None:
    kept = Work(8192, 8192, attention="flash", recompute="none")
    redone = Work(8192, 8192, attention="flash", recompute="full")
    more, less = working_bytes(LLAMA_8B, kept), working_bytes(LLAMA_8B, redone)
    assert more is not None
    assert less is not None
    layer = 102_400 * 2 * 8192
    boundaries = 2 * 4096 * 8192 * 33
    assert more.most - less.most == pytest.approx(31 * layer - boundaries)


def test_no_upper_bound_without_the_dimensions_it_needs() -> None:
    bare = Dimensions(layers=48, hidden_size=7168, attention_heads=56)
    assert working_bytes(bare, Work(4096, 4096)) is None


def test_a_torn_interval_cannot_be_added_to_a_number() -> None:
    with pytest.raises(TypeError):
        _ = Interval(1, 2) + 3


@pytest.mark.parametrize(
    ("amount", "text"),
    [(127.4e9, "127 GB"), (8.03e9, "8.0 GB"), (1_234e9, "1,234 GB")],
)
def test_bytes_as_people_read_them(amount: float, text: str) -> None:
    assert gigabytes(amount) == text


def test_parameters_as_people_read_them() -> None:
    assert billions(29_940_000_000) == "29.9 billion"


class Reading(NamedTuple):
    """One published peak, with what the models need to bound it."""

    id: str
    published_bytes: float
    parameters: Interval
    scheme: Scheme
    sharding: Sharding
    dimensions: Dimensions | None
    work: Work | None


def _readings() -> list[Reading]:
    """Dense full training and adapters; rows that tell what the bounds need."""
    with MEMORY.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [_reading(row) for row in rows if _is_usable(row)]


def _is_usable(row: dict[str, str]) -> bool:
    """Leaves out rows whose optimizer or sharding the table does not tell."""
    groups = {"rejected", "rule-of-thumb", "moe-hybrid", "litgpt-full"}
    return (
        row["group"] not in groups
        and not row["n_experts"]
        and bool(row["params"] and row["published_peak"])
        and row["kind"] not in {"oom", "vendor-estimate"}
        and not (
            row["method"].startswith(("lora", "qlora")) and _whole(row["gpus"]) > 1
        )
    )


def _whole(text: str, default: int = 1) -> int:
    return int(float(text)) if text else default


def _reading(row: dict[str, str]) -> Reading:
    tensor, pipeline = _whole(row["tp"]), _whole(row["pp"])
    context, world = _whole(row["cp"]), _whole(row["gpus"])
    ranks = max(world // (tensor * pipeline), 1)
    stage = _whole(row["zero_stage"], 0)
    dimensions = _dimensions(row)
    count = _whole(row["params"])
    most = count
    if dimensions is not None and pipeline > 1:
        most = (most_rank_parameters(dimensions, pipeline) or 0) * pipeline
    unit = 2.0**30 if row["unit"] == "GiB" else 1e9
    return Reading(
        id=row["id"],
        published_bytes=float(row["published_peak"]) * unit,
        parameters=Interval(count, most),
        scheme=_scheme(row),
        sharding=Sharding(
            tensor * pipeline,
            ranks,
            max(ranks // context, 1),
            stage,
            offloads_optimizer="optimizer" in row["offload"],
            offloads_weights="params" in row["offload"],
        ),
        dimensions=dimensions,
        work=_work(row, tensor, pipeline, context, stage) if dimensions else None,
    )


def _dimensions(row: dict[str, str]) -> Dimensions | None:
    if not all(row[name] for name in ("n_layers", "hidden", "heads", "ffn", "vocab")):
        return None
    return Dimensions(
        layers=_whole(row["n_layers"]),
        hidden_size=_whole(row["hidden"]),
        attention_heads=_whole(row["heads"]),
        key_value_heads=_whole(row["kv_heads"]) if row["kv_heads"] else None,
        head_dimension=_whole(row["head_dim"]) if row["head_dim"] else None,
        feed_forward_size=_whole(row["ffn"]),
        gated_feed_forward=row["gated_mlp"] == "true",
        vocabulary_size=_whole(row["vocab"]),
    )


def _scheme(row: dict[str, str]) -> Scheme:
    method, optimizer = row["method"], row["optimizer"]
    base_bits = None
    if method.startswith(("lora", "qlora")):
        base_bits = 4 if method.startswith("qlora") else 16
    return Scheme(
        compute_dtype="bf16",
        keeps_master_weights=row["framework"].startswith("Megatron")
        or "deepspeed" in row["group"],
        parameter_dtype="fp32" if "fp32-master" in row["weight_dtype"] else "bf16",
        # Freed during the backward pass: nothing but the weights is sure.
        optimizer="" if "in-backward" in optimizer else optimizer,
        optimizer_state_dtype="bf16" if optimizer == "adamw-bf16" else "",
        base_bits=base_bits,
    )


def _work(
    row: dict[str, str], tensor: int, pipeline: int, context: int, stage: int
) -> Work | None:
    if not row["seq_len"] or not row["micro_batch"]:
        return None
    length, recompute = _whole(row["seq_len"]), row["recompute"]
    is_interleaved = row["vpp"] not in {"", "1"}
    return Work(
        tokens=_whole(row["micro_batch"]) * length // context,
        sequence_length=length,
        tensor_ranks=tensor,
        pipeline_ranks=pipeline,
        shards_sequence=row["sp"] == "true",
        recompute="full" if recompute == "full" else "selective",
        micro_batches_in_flight=min(pipeline, _whole(row["grad_accum"], pipeline))
        * (2 if is_interleaved else 1),
        gathers_weights=stage == 3,
    )


@pytest.mark.skipif(not MEMORY.exists(), reason="no published readings")
def test_the_lower_bound_is_never_above_a_published_reading() -> None:
    readings = _readings()
    assert len(readings) > 150
    above = [
        one.id
        for one in readings
        if state_bytes(one.parameters, one.scheme, one.sharding).least
        > one.published_bytes
    ]
    assert not above


@pytest.mark.skipif(not MEMORY.exists(), reason="no published readings")
def test_the_upper_bound_is_never_below_a_published_reading() -> None:
    judged, below = 0, []
    for one in _readings():
        if one.dimensions is None or one.work is None:
            continue
        working = working_bytes(one.dimensions, one.work)
        assert working is not None
        states = state_bytes(one.parameters, one.scheme, one.sharding)
        judged += 1
        if (states + working).most * 1.15 < one.published_bytes:
            below.append(one.id)
    assert judged > 150
    assert not below
