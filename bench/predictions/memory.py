"""Published peaks of memory and what validator/models says of each of them.

The only mapping from rows of memory.csv to inputs of the models. Every row that has a
reading must lie between the bounds; the groups that an estimator covers must lie within
its band besides.
"""

from collections.abc import Iterator, Mapping

from predictions.memory_rows import (
    Row,
    adapter_base,
    dimensions_of,
    is_adapter,
    job_of,
    scheme_of,
    work_of,
)
from predictions.prediction import Prediction, rows
from speccheck.validator.models.estimate import Estimate, exactly
from speccheck.validator.models.parameters import COUNT, Dimensions
from speccheck.validator.models.peak_memory import (
    FAMILIES,
    Peak,
    adapter_peak,
    peak_of,
    single_device_active,
)
from speccheck.validator.models.training_memory import TrainingWork

# Figures of vendors for no run in particular.
NO_READINGS = frozenset({"rule-of-thumb"})
# Their table does not say over which ranks the model is cut.
WITHOUT_LAYOUT = frozenset({"swift-16", "mbridge-24"})
_FAMILY_OF = {
    "torchtitan-fsdp": "fsdp",
    "bloom-first-campaign": "megatron-deepspeed",
    "bloom-zero1-16bit-accum": "megatron-deepspeed",
    "bloom-zero1-fp32-accum": "megatron-deepspeed",
    "megatron-core": "megatron-core",
    "deepspeed-zero": "deepspeed",
}
GIB, GB = 2.0**30, 1e9


def predictions() -> Iterator[Prediction]:
    """Yield each row of memory.csv that has a reading or ran out of memory.

    The two rejected rows are held to the bounds alone.
    """
    for row in rows("memory"):
        if row["group"] not in NO_READINGS and row["id"] not in WITHOUT_LAYOUT:
            yield _prediction(row)


def capacity_predictions() -> Iterator[Prediction]:
    """Yield runs that fitted, of throughput.csv: the bound must stay below the card."""
    for row in rows("throughput"):
        if row["group"] == "llm-foundry":
            yield _capacity(row)


def family_of(row: Row) -> str:
    """Return the family that a row belongs to; empty for bounds alone."""
    if row["id"].startswith("bloom") and row["group"].startswith("oom"):
        return "megatron-deepspeed"
    if row["id"] == "swift-18":
        return "deepspeed"
    if row["id"] == "litgpt-40":
        return "fsdp"
    return _FAMILY_OF.get(row["group"], "")


def estimate_of(row: Row) -> Estimate:
    """Return the estimate in bytes.

    Of kind lower_bound where no estimator covers the row.
    """
    if is_adapter(row) and row["group"] not in {"lower-bound", "moe"}:
        return _adapter(row)
    is_whole = row["group"] == "torchtune-full" and not row["fsdp_shard"]
    if is_whole or row["id"] == "litgpt-43":
        return _active(row)
    peak = _without_overhead(row, peak_of(job_of(row), FAMILIES.get(family_of(row))))
    return peak.total(FAMILIES.get(family_of(row)))


def _described(row: Row) -> tuple[Dimensions, TrainingWork]:
    dimensions, work = dimensions_of(row), work_of(row)
    if dimensions is None or work is None:
        message = f"{row['id']}: no dimensions, or no tokens of a step"
        raise ValueError(message)
    return dimensions, work


def _adapter(row: Row) -> Estimate:
    dimensions, work = _described(row)
    estimate = adapter_peak(adapter_base(row), dimensions, work)
    if row["group"] == "lora-fp32-base":
        return estimate._replace(kind="lower_bound")
    return estimate


def _active(row: Row) -> Estimate:
    dimensions, work = _described(row)
    estimate = single_device_active(
        exactly(int(row["params"]), COUNT),
        dimensions,
        scheme_of(row),
        work,
        pages_optimizer="optimizer" in row["offload"],
    )
    if row["expected_band_percent"] == "lower-bound-only":
        return estimate._replace(kind="lower_bound")
    return estimate


def _without_overhead(row: Row, peak: Peak) -> Peak:
    """Return the peak without overhead, if the figure is the allocator's alone."""
    if row["kind"] in {"nvidia-smi", "oom"} and row["framework"] != "litgpt":
        return peak
    return peak._replace(overhead=exactly(0.0, "readings of the allocator"))


def _prediction(row: Row) -> Prediction:
    unit = GIB if row["unit"] == "GiB" else GB
    estimate = estimate_of(row)
    band = row["expected_band_percent"]
    is_calibrated = estimate.kind == "calibrated"
    return Prediction(
        table="memory",
        group=row["group"],
        id=row["id"],
        unit=row["unit"],
        published=float(row["published_peak"]) if row["published_peak"] else None,
        predicted=estimate.value / unit if is_calibrated else None,
        lower=estimate.lower / unit,
        upper=estimate.upper / unit,
        band_percent=float(band) if band.isdigit() else None,
    )


def _capacity(row: Mapping[str, str]) -> Prediction:
    """Return 16 bytes of each parameter over all GPUs, and the inputs of the layers."""
    parameters, gpus = int(row["params"]), int(row["gpus"])
    tokens = int(row["micro_batch"]) * int(row["seq_len"])
    kept = 2 * tokens * int(row["hidden"]) * int(row["n_layers"])
    return Prediction(
        table="throughput",
        group=row["group"],
        id=row["id"],
        unit="GiB",
        published=_CAPACITY_GIB[row["gpu"]],
        predicted=None,
        lower=(16 * parameters / gpus + kept) / GIB,
    )


_CAPACITY_GIB = {"h100_80gb": 79.1, "a100_80gb": 79.2, "a100_40gb": 39.4}
