"""The forecast of whole steps against published step times, row by row.

Rows that state layers, degrees, batch and number format become plans. By a fixed seed a
third of them takes no part in the fit of the constants (bench/fit_step_time.py): their
groups end in `unused`.
"""

import hashlib
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from predictions.prediction import Prediction, rows
from speccheck.validator.catalogue.hardware import Accelerator, resolve_accelerator
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import Value
from speccheck.validator.forecast.step import step_forecast

Row = Mapping[str, str]

_SEED = "20261124"
_UNUSED_OF = 3
# Of throughput.csv the groups that state a step, and who ran it.
_ENGINES = {
    "hfu-narayanan": "deepspeed",
    "hfu-narayanan-old-formula": "deepspeed",
    "llm-foundry": "fsdp1",
    "nemo-dense": "megatron",
    "nemo-moe": "megatron",
    "nemo-lora": "megatron",
    "torchtitan": "fsdp2",
}
_GPUS = {
    "A100-80GB": "a100-sxm4-80gb",
    "a100_40gb": "a100-sxm4-40gb",
    "a100_80gb": "a100-sxm4-80gb",
    "h100_80gb": "h100-sxm5-80gb",
    "H100-80GB": "h100-sxm5-80gb",
    "DGX-H100": "h100-sxm5-80gb",
    "DGX-B200": "b200-sxm-180gb",
    "DGX-B300": "B300",
    "DGX-GB200": "GB200",
    "DGX-GB300": "GB300",
    "H100-96GB-500W": "",  # no GPU of the catalogue
}
# Bits a second for each GPU, where the source does not say: of such machines usually.
_NETWORK = {(8, 0): 200e9, (9, 0): 400e9, (10, 0): 400e9, (10, 3): 800e9}
# Jean Zay: four Omni-Path links of 100 Gbit/s for eight GPUs (bigscience/bloom).
_OMNI_PATH = 50e9
_GPUS_PER_NODE, _RACK = 8, 72
_SIZE_OF_HEAD = 128
# Experts, chosen (shared ones among them), their width; heads and key-value heads.
_MIXTURES = {
    "DeepSeekV3": (256, 9, 2048, 128, 128),
    "Kimi_K2": (384, 9, 2048, 64, 64),
    "Qwen3_235B_a22B": (128, 8, 1536, 64, 4),
    "Qwen3_30B_a3B": (128, 8, 768, 32, 4),
}
_KEY_VALUE_HEADS = 8  # of Llama 3
_NARROW = "fp8"


def predictions() -> Iterator[Prediction]:
    """Yield predictions of all rows that state a step and what it is made of."""
    for row, leaves, seconds in stated_steps():
        if (plan := plan_of(leaves)) is None:
            continue
        step = step_forecast(plan).named("step_seconds")
        if step.estimate is None:
            continue
        kind = "mixture" if leaves.get("model.experts") else "dense"
        use = "unused" if is_unused(row["id"]) else "calibrated"
        yield Prediction(
            table="steps",
            group=f"step-seconds, {kind}, {use}",
            id=row["id"],
            unit="s",
            published=seconds,
            predicted=step.estimate.value,
            lower=step.estimate.lower,
            upper=step.estimate.upper,
        )


def is_unused(row_id: str) -> bool:
    """Return whether a row takes no part in any fit."""
    digest = hashlib.sha256((_SEED + row_id).encode()).hexdigest()
    return int(digest, 16) % _UNUSED_OF == 0


def stated_steps() -> Iterator[tuple[Row, dict[str, object], float]]:
    """Yield rows, the leaves that each states, and the seconds of its step."""
    for row in chain(rows("throughput"), rows("steps")):
        is_of_steps = "family" in row
        if not is_of_steps and row["group"] not in _ENGINES:
            continue
        gpu = _gpu_of(row)
        seconds = _seconds_of(row)
        if gpu is None or seconds is None:
            continue
        leaves = _of_steps(row) if is_of_steps else _of_throughput(row)
        if leaves:
            yield row, {**leaves, **_of_machine(row, gpu)}, seconds


def plan_of(leaves: Mapping[str, Any]) -> TrainingPlan | None:
    """Return the plan; None where ranks and batch do not come out even."""
    ranks = leaves["cluster.world_size"]
    for kind in ("tensor", "pipeline", "context"):
        ranks //= leaves[f"parallelism.{kind}_parallel_size"]
    samples = leaves["batch.micro_batch_size"] * ranks
    steps, rest = divmod(leaves["batch.global_batch_size"], samples or 1)
    if not samples or rest or not steps:
        return None
    whole = {
        **leaves,
        "parallelism.data_parallel_size": ranks,
        "batch.gradient_accumulation_steps": steps,
    }
    known = {name: Value(name, leaf, "stated") for name, leaf in whole.items()}
    return TrainingPlan(known)


def _gpu_of(row: Row) -> Accelerator | None:
    name = _GPUS.get(row["gpu"], row["gpu"])
    try:
        gpu = resolve_accelerator(name)
    except ValueError:
        return None
    return gpu if gpu.compute_capability and gpu.dense_teraflops else None


def _seconds_of(row: Row) -> float | None:
    stated = row.get("step_seconds") or row.get("step_time_s")
    if stated:
        return float(stated)
    names = ("global_batch", "seq_len", "gpus", "tokens_per_s_per_gpu")
    if not all(row[name] for name in names):
        return None
    batch, length, gpus, rate = (float(row[name]) for name in names)
    return batch * length / rate / gpus


def _of_machine(row: Row, gpu: Accelerator) -> dict[str, object]:
    capability = gpu.compute_capability or (0, 0)
    is_rack = row["gpu"].removeprefix("DGX-").startswith("GB")
    group = row.get("group", "")
    network = _OMNI_PATH if group.startswith("hfu") else _NETWORK.get(capability)
    links = gpu.nvlink_gigabytes_per_second
    return {
        "cluster.world_size": int(row["gpus"]),
        "cluster.gpus_per_node": _GPUS_PER_NODE // 2 if is_rack else _GPUS_PER_NODE,
        "cluster.nvlink_domain_size": _RACK if is_rack else _GPUS_PER_NODE,
        "cluster.compute_capability": capability,
        "cluster.peak_bf16_flops_per_second": gpu.dense_teraflops["bf16"] * 1e12,
        "cluster.peak_fp8_flops_per_second": gpu.dense_teraflops.get("fp8", 0) * 1e12,
        "cluster.memory_bytes_per_second": (gpu.memory_gigabytes_per_second or 0) * 1e9,
        "cluster.nvlink_bytes_per_second": (links or 300) * 1e9,
        "cluster.nic_bits_per_second_per_gpu": network,
    }


def _count(row: Row, name: str, default: int | None = None) -> int:
    """Return a number of the row; raises KeyError where it is not stated."""
    text = row[name]
    if text and text != "n/a":
        return int(float(text))
    if default is None:
        raise KeyError(name)
    return default


def _degrees(row: Row, *, default: int | None) -> dict[str, object]:
    return {
        "parallelism.tensor_parallel_size": _count(row, "tp", default),
        "parallelism.pipeline_parallel_size": _count(row, "pp", default),
        "parallelism.virtual_stages": _count(row, "vpp", 1),
        "parallelism.context_parallel_size": _count(row, "cp", 1),
        "parallelism.expert_parallel_size": _count(row, "ep", 1),
        "batch.micro_batch_size": _count(row, "micro_batch"),
        "batch.global_batch_size": _count(row, "global_batch"),
        "batch.sequence_length": _count(row, "seq_len"),
        "model.layers": _count(row, "n_layers"),
        "model.hidden_size": _count(row, "hidden"),
        "model.vocabulary_size": _count(row, "vocab"),
    }


def _precision(text: str) -> str | None:
    """Return the format of the products; None where it is not stated or not known."""
    name = text.lower().replace("mxfp8", _NARROW)
    if name.startswith(_NARROW):
        return _NARROW
    return name if name in {"bf16", "fp16"} else None


def _of_steps(row: Row) -> dict[str, object]:
    """Return what a row of steps.csv states; nothing where too little."""
    precision = _precision(row["precision"])
    if precision is None:
        return {}
    is_adapter, is_torch = "lora" in row["task"], "Automodel" in row["framework"]
    variant, overlap = row["kernel_or_variant"], row["overlap"]
    is_old = row["family"] == "aleph-alpha-layouts"
    engine = "fsdp2" if is_torch else "megatron"
    try:
        leaves = _degrees(row, default=None)
        hidden, heads = _count(row, "hidden"), _count(row, "heads")
        leaves |= {
            "model.attention_heads": heads,
            "model.key_value_heads": _count(row, "kv_heads", heads),
            "model.head_dimension": _count(row, "head_dim", hidden // heads),
            "model.feed_forward_size": _count(row, "ffn"),
        }
        if row["n_experts"]:
            leaves |= {
                "model.experts": _count(row, "n_experts"),
                "model.experts_per_token": _count(row, "experts_topk"),
                "model.expert_feed_forward_size": _count(row, "moe_ffn"),
            }
    except KeyError:
        return {}
    is_eager = (is_old and "flash" not in variant) or row["family"] == "mt-nlg-530b"
    leaves |= {
        "parallelism.engine": engine,
        "parallelism.sharding_stage": 3 if row["sharding"].startswith("fsdp") else 1,
        "parallelism.sequence_parallel": row["sp"] == "true",
        "precision.compute_dtype": precision,
        "memory.recompute_mode": (row["recompute"] or "none").split()[0],
        "model.gated_feed_forward": not row["model"].lower().startswith(_PLAIN),
        "kernels.attention_backend": "eager" if is_eager else "flash",
        "kernels.fused_normalization": not is_old or "RMS" in variant,
        "model.adapter": "lora" if is_adapter else "none",
        "run.role": "lora" if is_adapter else "pretrain",
    }
    if overlap.startswith("off"):
        leaves["communication.overlap_tensor_parallel"] = False
        leaves["communication.overlap_gradient_reduce"] = False
    return leaves


# Families whose feed-forward block has two matrices.
_PLAIN = ("gpt", "nemotron", "bert", "mt-nlg")


def _of_throughput(row: Row) -> dict[str, object]:
    """Return what a row of throughput.csv states; nothing where too little."""
    engine, model = _ENGINES[row["group"]], row["model"]
    precision = _precision(row["precision"])
    if precision is None or not row["params"]:
        return {}
    try:
        leaves = _degrees(row, default=1)
    except KeyError:
        return {}
    hidden, layers = _count(row, "hidden"), _count(row, "n_layers")
    width, vocabulary = _count(row, "attn_dim"), _count(row, "vocab")
    heads = width // _SIZE_OF_HEAD
    is_gpt = engine in {"deepspeed", "fsdp1"}
    mixture = next((v for k, v in _MIXTURES.items() if model.startswith(k)), None)
    if mixture is None:
        pairs = heads if is_gpt else _KEY_VALUE_HEADS
        matrices = _count(row, "params") - vocabulary * hidden * (1 if is_gpt else 2)
        attention = 2 * hidden * (width + pairs * _SIZE_OF_HEAD)
        blocks = matrices / layers - attention
        leaves["model.feed_forward_size"] = round(
            blocks / hidden / (2 if is_gpt else 3)
        )
    else:
        experts, chosen, size, heads, pairs = mixture
        leaves |= {
            "model.experts": experts,
            "model.experts_per_token": chosen,
            "model.expert_feed_forward_size": size,
        }
    is_adapter = row["run"] == "lora"
    stage = {"full_shard": 3, "shard_grad_op": 2}.get(row["sharding"], 1)
    if row["fsdp"].isdigit() and int(row["fsdp"]) > 1:
        stage = 3
    return leaves | {
        "model.attention_heads": heads,
        "model.key_value_heads": pairs,
        "model.head_dimension": _SIZE_OF_HEAD,
        "model.parameters": _count(row, "params"),
        "model.gated_feed_forward": not is_gpt,
        "model.tied_embeddings": is_gpt,
        "model.adapter": "lora" if is_adapter else "none",
        "parallelism.engine": engine,
        "parallelism.sharding_stage": stage,
        "parallelism.sequence_parallel": engine == "megatron",
        "precision.compute_dtype": precision,
        "memory.recompute_mode": row["recompute"] or "none",
        "kernels.attention_backend": "eager" if engine == "deepspeed" else "flash",
        "run.role": "lora" if is_adapter else "pretrain",
    }
