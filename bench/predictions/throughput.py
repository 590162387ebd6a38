"""Published throughput, and what the models of FLOPs, bubbles and sharding make of it.

Rows of throughput.csv without a tolerance are no test rows: sliding-window and hybrid
attention, raw tokens per second, and readings of a formula that its authors mended.
"""

from collections.abc import Callable, Iterator, Mapping

from predictions.prediction import Prediction, rows
from speccheck.validator.models.flops import (
    Convention,
    TokenWork,
    TrainingStep,
    flops_per_token,
    megatron_model_flops,
    recomputed_flops,
)
from speccheck.validator.models.throughput import (
    PipelineShape,
    scaled_throughput,
    sharded_throughput,
    training_days,
    utilization,
)

Row = Mapping[str, str]

TERA = 1e12
# BLOOM's early rows were printed by a formula that read low by this factor.
OLD_FORMULA = 1.0376
# Korthikanti's and Narayanan's step, of four matrices of 4 h in each layer.
_CONVENTIONS: dict[str, Convention] = {
    "palm": "palm",
    "torchtitan": "torchtitan",
    "nemo": "nemo",
    "nemo-lora": "nemo-lora",
}
# The reference point of the strong-scaling rows: micro-batches and TFLOPs.
_SCALED_FROM = {"mlp": (112, 1877.0), "l3-bubble": (32, 430.0)}
# One bandwidth and one ceiling of compute, fitted on the six rows of table 2 in
# Narayanan et al. 2021 (arXiv:2104.04473): in sample, so the band says little.
_ZERO3_BYTES, _ZERO3_CEILING = 16.1e9, 160.0


def predictions() -> Iterator[Prediction]:
    """Yield all rows that a model speaks of."""
    for row in rows("throughput"):
        predict = _MODELS.get(row["group"])
        if predict is None:
            continue
        published = float(row["published"])
        if row["group"] == "hfu-narayanan-old-formula":
            published *= OLD_FORMULA
        band = row["tolerance_percent"] or _BANDS.get(row["group"], "")
        yield Prediction(
            table="throughput",
            group=row["group"],
            id=row["id"],
            unit=row["metric"],
            published=published,
            predicted=predict(row),
            band_percent=float(band) if band else None,
        )


def token_work(row: Row) -> TokenWork:
    """Return what a token passes through; a mixture counts what multiplies it."""
    layers, embedding = int(row["n_layers"]), float(row["embedding_params"] or 0)
    active = row["active_params"]
    if active and "MTP" in row["note"]:
        layers += 1
    return TokenWork(
        parameters=float(active or row["params"]),
        embedding_parameters=0.0 if active else embedding,
        layers=layers,
        attention_width=float(row["attn_dim"]),
        sequence_length=int(row["seq_len"]),
    )


def tokens_per_second(row: Row) -> float:
    """Return the tokens per second of one GPU, printed or from batch and step time."""
    if row["tokens_per_s_per_gpu"]:
        return float(row["tokens_per_s_per_gpu"])
    tokens = float(row["global_batch"]) * float(row["seq_len"])
    return tokens / float(row["step_time_s"]) / float(row["gpus"])


def _model_flops(row: Row) -> float:
    """Return the model FLOPs, by the convention of the row."""
    return flops_per_token(_CONVENTIONS[row["convention"]], token_work(row)).value


def _utilization(row: Row) -> float:
    peak = float(row["peak_tflops"]) * TERA
    return 100 * utilization(_model_flops(row), tokens_per_second(row), peak).value


def _model_throughput(row: Row) -> float:
    return _model_flops(row) * tokens_per_second(row) / TERA


def _step(row: Row) -> TrainingStep:
    return TrainingStep(
        samples=int(row["global_batch"]),
        sequence_length=int(row["seq_len"]),
        layers=int(row["n_layers"]),
        hidden_size=int(row["hidden"]),
        vocabulary_size=int(row["vocab"]),
    )


def _gpu_seconds(row: Row) -> float:
    return float(row["step_time_s"]) * float(row["gpus"])


def _hardware_throughput(row: Row) -> float:
    return recomputed_flops(_step(row)).value / _gpu_seconds(row) / TERA


def _megatron_utilization(row: Row) -> float:
    achieved = megatron_model_flops(_step(row)).value / _gpu_seconds(row)
    return 100 * achieved / (float(row["peak_tflops"]) * TERA)


def _stated_utilization(row: Row) -> float:
    """Return TFLOPs that the row's note states: `430 TFLOPs per GPU published`."""
    return 100 * float(row["note"].split()[0]) / float(row["peak_tflops"])


def _days(row: Row) -> float:
    """Return days of tokens and rate in the row's note: `300B tokens at 140 TFLOPs`."""
    tokens, _, _, rate, *_ = row["note"].split()
    return training_days(
        float(row["params"]),
        float(tokens.removesuffix("B")) * 1e9,
        int(row["gpus"]),
        float(rate) * TERA,
    ).value


def _scaled(row: Row) -> float:
    name = "l3-bubble" if row["id"] == "l3-bubble" else "mlp"
    micro_batches, measured = _SCALED_FROM[name]
    pipeline = PipelineShape(int(row["pp"]), micro_batches, int(row["vpp"]))
    return scaled_throughput(measured, pipeline, int(row["grad_accum"])).value


def _sharded(row: Row) -> float:
    tokens = float(row["micro_batch"]) * float(row["seq_len"])
    estimate = sharded_throughput(
        tokens,
        int(row["gpus"]),
        compute_ceiling=_ZERO3_CEILING * TERA,
        bytes_per_second=_ZERO3_BYTES,
    )
    return estimate.value / TERA


_MODELS: dict[str, Callable[[Row], float]] = {
    "llm-foundry": _utilization,
    "torchtitan": _utilization,
    "palm": _utilization,
    "nemo-dense": _model_throughput,
    "nemo-moe": _model_throughput,
    "nemo-lora": _model_throughput,
    "hfu-narayanan": _hardware_throughput,
    "hfu-narayanan-old-formula": _hardware_throughput,
    "korthikanti": _megatron_utilization,
    "mfu-from-tflops": _stated_utilization,
    "training-days": _days,
    "bubble-scaling": _scaled,
    "zero3-comm-bound": _sharded,
}
_BANDS = {"hfu-narayanan-old-formula": "0.2"}
