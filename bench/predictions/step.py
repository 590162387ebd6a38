"""The forecast of whole steps against published step times, row by row.

Of throughput.csv only BLOOM's search states batch, degrees, and time of a step, so that
a plan can be made of the row. Its slowest rows set the lower end of the utilizations of
Ampere: the bounds are in sample, the best value is not.
"""

from collections.abc import Iterator, Mapping

from predictions.prediction import Prediction, rows
from speccheck.validator.catalogue.hardware import resolve_accelerator
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import Value
from speccheck.validator.forecast.step import step_forecast

Row = Mapping[str, str]

GROUPS = {"hfu-narayanan", "hfu-narayanan-old-formula"}
# Jean Zay: four Omni-Path links of 100 Gbit/s for eight GPUs (model card of
# bigscience/bloom).
_GPUS_PER_NODE, _ADAPTER_BITS = 8, 50e9
_SIZE_OF_HEAD = 128


def predictions() -> Iterator[Prediction]:
    """Yield predictions of all rows that state the time of a step and its degrees."""
    for row in rows("throughput"):
        if row["group"] not in GROUPS:
            continue
        step = step_forecast(plan_of(row)).named("step_seconds").need()
        yield Prediction(
            table="throughput",
            group="step-seconds",
            id=row["id"],
            unit="s",
            published=float(row["step_time_s"]),
            predicted=step.value,
            lower=step.lower,
            upper=step.upper,
        )


def plan_of(row: Row) -> TrainingPlan:
    """Return the plan of the row: GPT, four matrices of 4 h in each layer."""
    gpu, hidden = resolve_accelerator(row["gpu"]), int(row["hidden"])
    links = gpu.nvlink_gigabytes_per_second or 0.0
    leaves: dict[str, object] = {
        "cluster.world_size": int(row["gpus"]),
        "cluster.gpus_per_node": _GPUS_PER_NODE,
        "cluster.compute_capability": gpu.compute_capability,
        "cluster.peak_bf16_flops_per_second": gpu.dense_teraflops["bf16"] * 1e12,
        "cluster.nvlink_bytes_per_second": links * 1e9,
        "cluster.nic_bits_per_second_per_gpu": _ADAPTER_BITS,
        "parallelism.engine": "deepspeed",
        "parallelism.sharding_stage": int(row["sharding"].removeprefix("zero-")),
        "parallelism.tensor_parallel_size": int(row["tp"]),
        "parallelism.pipeline_parallel_size": int(row["pp"]),
        "parallelism.context_parallel_size": 1,
        "parallelism.data_parallel_size": int(row["dp"]),
        "batch.micro_batch_size": int(row["micro_batch"]),
        "batch.gradient_accumulation_steps": int(row["grad_accum"]),
        "batch.global_batch_size": int(row["global_batch"]),
        "batch.sequence_length": int(row["seq_len"]),
        "precision.compute_dtype": row["precision"],
        "memory.recompute_mode": row["recompute"],
        "model.layers": int(row["n_layers"]),
        "model.hidden_size": hidden,
        "model.attention_heads": hidden // _SIZE_OF_HEAD,
        "model.feed_forward_size": 4 * hidden,
        "model.vocabulary_size": int(row["vocab"]),
        "model.tied_embeddings": True,
        "run.role": "pretrain",
    }
    known = {name: Value(name, leaf, "stated") for name, leaf in leaves.items()}
    return TrainingPlan(known)
