"""FLOPs, time, traffic and energy against exact vectors."""

from collections.abc import Callable
from typing import Any

import pytest

from predictions.prediction import vectors
from predictions.throughput import TERA
from speccheck.validator.models.batch import (
    critical_batch_tokens,
    data_parallel_size,
    deepseek_recipe,
    global_batch,
    tokens_to_hide_sharding,
)
from speccheck.validator.models.bus_bandwidth import (
    GIGA,
    Architecture,
    Network,
    adapter_rate,
    all_to_all_ceiling,
    bandwidths,
    bus_factor,
    hierarchical_ceiling,
    nvlink_ring_ceiling,
    ranks_of_all_reduce,
    ring_ceiling,
)
from speccheck.validator.models.collective_time import (
    CommunicatorShape,
    latency,
    nvls_tree_latency,
    ring_time,
    ring_tree_crossover,
)
from speccheck.validator.models.elasticity import (
    Elastic,
    elastic_batch,
    elastic_micro_batch,
)
from speccheck.validator.models.flops import (
    Convention,
    Layers,
    Mixture,
    TokenWork,
    TrainingStep,
    flops_per_token,
    matmul_parameters,
    recomputed_flops,
)
from speccheck.validator.models.throughput import (
    JOULES_PER_KILOWATT_HOUR,
    PipelineShape,
    energy_per_token,
    idle_over_ideal,
    idle_share,
    implied_flops_per_second,
    is_power_limited,
    run_energy,
    scaled_throughput,
    training_days,
)
from speccheck.validator.models.traffic import (
    Activations,
    Scheme,
    data_parallel_bytes,
    tensor_parallel_bytes,
)

Inputs = dict[str, Any]
MICRO = 1e6
_ARCHITECTURES: dict[str, Architecture] = {
    "a100": "ampere",
    "h100": "hopper",
    "b200": "blackwell",
}


def _flops(inputs: Inputs) -> float:
    work = TokenWork(
        inputs["params"],
        inputs["embedding_params"],
        inputs["layers"],
        inputs["attn_dim"],
        inputs["seq"],
    )
    return flops_per_token(inputs["convention"], work).value


def _ratio(inputs: Inputs) -> float:
    work = TokenWork(70553706496, 1050673152, 80, 8192, inputs["seq"])
    above: Convention = inputs["numerator"]
    below: Convention = inputs["denominator"]
    return flops_per_token(above, work).value / flops_per_token(below, work).value


def _recomputed(inputs: Inputs) -> float:
    sizes = (inputs["batch"], inputs["seq"], inputs["L"], inputs["h"], inputs["V"])
    seconds: float = inputs["step_s"] * inputs["gpus"]
    return recomputed_flops(TrainingStep(*sizes)).value / seconds / TERA


def _active(inputs: Inputs) -> float:
    layers = Layers(
        inputs["L"],
        inputs["h"],
        query_width=inputs["a"] * inputs["dh"],
        key_value_width=inputs["k"] * inputs["dh"],
        feed_forward=Mixture(inputs["n_experts"], inputs["topk"], inputs["moe_f"]),
    )
    return matmul_parameters(layers, inputs["V"])


def _days(inputs: Inputs) -> float:
    return training_days(
        inputs["params"], inputs["tokens"], inputs["gpus"], inputs["tflops"] * TERA
    ).value


def _bubble(inputs: Inputs) -> Inputs:
    pipeline = PipelineShape(inputs["p"], inputs["m"], inputs["v"])
    return {
        "relative_to_ideal": idle_over_ideal(pipeline).value,
        "fraction_of_total": idle_share(pipeline).value,
    }


def _scaled(inputs: Inputs) -> float:
    before = PipelineShape(inputs["p"], inputs["m_ref"], inputs["v"])
    return scaled_throughput(inputs["tflops_ref"], before, inputs["m"]).value


def _bandwidths(inputs: Inputs) -> Inputs:
    seconds = inputs["time_us"] / MICRO
    size, ranks = inputs["size_bytes"], inputs["ranks"]
    found = bandwidths(inputs["collective"], ranks, size, seconds)
    return {
        "algbw": found.algorithm.value / GIGA,
        "busbw": found.bus.value / GIGA,
    }


def _ceilings(inputs: Inputs) -> Inputs:
    rate = inputs["nic_gbit_per_gpu"] / 8 * GIGA
    network = Network(inputs["nodes"], inputs["gpus_per_node"], rate)
    return {
        "ring": ring_ceiling(network).value / GIGA,
        "hierarchical": hierarchical_ceiling(network).value / GIGA,
    }


def _all_to_all(inputs: Inputs) -> float:
    each = inputs["gpus_per_node"]
    nodes = inputs["ranks"] // each
    rate = inputs["nic_gbyte_per_gpu"] * GIGA
    return all_to_all_ceiling(Network(nodes, each, rate)).value / GIGA


def _communicator(inputs: Inputs) -> CommunicatorShape:
    return CommunicatorShape(
        architecture=inputs["arch"],
        nodes=inputs["nodes"],
        gpus_per_node=inputs["gpus_per_node"],
        channels=inputs.get("channels", 16),
        channel_rate=inputs.get("gbps_per_channel", 24) * GIGA,
    )


def _latencies(inputs: Inputs) -> Inputs:
    who = _communicator(inputs)
    return {
        f"{algorithm}_{protocol}": latency(who, algorithm, protocol) * MICRO
        for algorithm in ("ring", "tree")
        for protocol in ("ll", "ll128", "simple")
    }


def _data_parallel(inputs: Inputs) -> float:
    scheme: Scheme = inputs["scheme"]
    return data_parallel_bytes(
        scheme,
        inputs["params"],
        inputs["ranks"],
        gradient_bytes=inputs["grad_bytes"],
        micro_batches=inputs.get("microbatches", 1),
    )


def _tensor(inputs: Inputs) -> float:
    tokens = inputs["s"] * inputs["b"]
    activations = Activations(tokens, inputs["h"], inputs["bytes"])
    return tensor_parallel_bytes(activations, inputs["t"])


def _fewest_tokens(inputs: Inputs) -> float:
    achieved = inputs["peak_tflops"] * TERA * inputs["eta"]
    rate = inputs["busbw_gbps"] * GIGA
    return tokens_to_hide_sharding(achieved, rate, inputs["grad_bytes"]).value


def _elastic(inputs: Inputs) -> Elastic:
    sizes = tuple(inputs["micro_batches"])
    return Elastic(sizes, inputs["max_batch"], inputs["min_gpus"], inputs["max_gpus"])


def _elastic_batch(inputs: Inputs) -> Inputs:
    found = elastic_batch(_elastic(inputs))
    assert found is not None
    return {
        "batch": found.batch,
        "valid_gpu_counts": len(found.world_sizes),
        "gpus": list(found.world_sizes),
    }


def _elastic_micro_batch(inputs: Inputs) -> int | str:
    elastic = _elastic(inputs)
    chosen = elastic_batch(elastic)
    assert chosen is not None
    return elastic_micro_batch(elastic, chosen, inputs["world_size"]) or "error"


def _energy(inputs: Inputs) -> Inputs:
    joules = run_energy(inputs["gpu_hours"], inputs["watts"]).value
    return {
        "gwh": joules / JOULES_PER_KILOWATT_HOUR / 1e6,
        "joule_per_token": joules / inputs["tokens"],
    }


def _recipe(inputs: Inputs) -> Inputs:
    found = deepseek_recipe(inputs["compute_flops"])
    return {"batch_tokens": found.batch_tokens.value, "lr": found.learning_rate.value}


MODELS: dict[str, Callable[[Inputs], Any]] = {
    "flops_per_token": _flops,
    "mfu_convention_ratio": _ratio,
    "step_flops_narayanan": _recomputed,
    "active_matmul_params": _active,
    "training_days": _days,
    "bubble": _bubble,
    "bubble_scaled_tflops": _scaled,
    "implied_tflops": lambda of: (
        implied_flops_per_second(of["params"], of["tokens"], of["gpu_hours"]).value
        / TERA
    ),
    "power_limit_downgrade": lambda of: is_power_limited(
        of["enforced_w"], of["default_w"]
    ),
    "busbw": _bandwidths,
    "busbw_factor": lambda of: bus_factor(of["collective"], of["ranks"]),
    "busbw_ceiling": _ceilings,
    "ranks_from_bandwidths": lambda of: ranks_of_all_reduce(of["algbw"], of["busbw"]),
    "hierarchical_nic_rate": lambda of: adapter_rate(
        of["busbw"], of["nodes"], of["ranks"]
    ),
    "all_to_all_ceiling": _all_to_all,
    "nccl_allreduce_latency_us": _latencies,
    "nccl_nvlstree_latency_us": lambda of: nvls_tree_latency(of["nodes"]) * MICRO,
    "nccl_ring_allreduce_time_us": lambda of: (
        ring_time(_communicator(of), of["size_bytes"]).value * MICRO
    ),
    "nccl_ring_tree_crossover_bytes": lambda of: (
        ring_tree_crossover(_communicator(of)).value
    ),
    "nvlink_ring_ceiling": lambda of: (
        nvlink_ring_ceiling(of["links"], _ARCHITECTURES[of["gpu"]]).value / GIGA
    ),
    "tp_bytes_per_layer": _tensor,
    "dp_bytes_per_step": _data_parallel,
    "fsdp_min_tokens_per_gpu": _fewest_tokens,
    "deepspeed_elastic_v01": _elastic_batch,
    "deepspeed_elastic_micro_batch": _elastic_micro_batch,
    "global_batch": lambda of: global_batch(
        of["micro_batch"], of["grad_accum"], of["dp"]
    ),
    "data_parallel_size": lambda of: data_parallel_size(
        of["world"], tensor=of["tp"], pipeline=of["pp"], context=of["cp"]
    ),
    "critical_batch_tokens_kaplan": lambda of: critical_batch_tokens(of["loss"]).value,
    "deepseek_batch_lr": _recipe,
    "energy": _energy,
    "joule_per_token": lambda of: (
        energy_per_token(
            of["watts"],
            of["tflops"] * TERA / of["flops_per_token"],
            power_usage_effectiveness=of["pue"],
        ).value
    ),
}


@pytest.mark.parametrize(
    "vector",
    [vector for function in MODELS for vector in vectors(function)],
    ids=lambda vector: vector["id"],
)
def test_exact_vectors(vector: dict[str, Any]) -> None:
    """Each number that the vector names, within its tolerance."""
    found, expected = MODELS[vector["function"]](vector["inputs"]), vector["expected"]
    if not isinstance(expected, dict):
        found, expected = {"": found}, {"": expected}
    for name, value in expected.items():
        if isinstance(value, str | list | bool):
            assert found[name] == value
        else:
            share = str(vector["tolerance"])
            near = float(share.rstrip("%")) / (100 / value if "%" in share else 1)
            assert found[name] == pytest.approx(value, abs=near, rel=1e-12), name


def test_no_function_of_this_part_lacks_vectors() -> None:
    """A misspelt function would have none."""
    assert [name for name in MODELS if not vectors(name)] == []
