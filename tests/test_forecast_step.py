"""Forecasts of step and energy: numbers of a known job, and what they need."""

import pytest

from predictions.step import predictions as step_predictions
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.batch import batch_forecast
from speccheck.validator.forecast.energy import energy_forecast
from speccheck.validator.forecast.quantity import Quantity
from speccheck.validator.forecast.step import step_forecast
from stated_plan import plan

# Llama 3.1 8B under FSDP on 16 nodes of 8 H100, 400 Gbit/s for each GPU.
LLAMA: dict[str, object] = {
    "cluster.nodes": 16,
    "cluster.gpus_per_node": 8,
    "cluster.world_size": 128,
    "cluster.compute_capability": (9, 0),
    "cluster.peak_bf16_flops_per_second": 989e12,
    "cluster.memory_bytes_per_second": 3350e9,
    "cluster.nvlink_bytes_per_second": 450e9,
    "cluster.nic_bits_per_second_per_gpu": 400e9,
    "cluster.power_watts": 700.0,
    "parallelism.engine": "fsdp2",
    "parallelism.sharding_stage": 3,
    "parallelism.tensor_parallel_size": 1,
    "parallelism.pipeline_parallel_size": 1,
    "parallelism.context_parallel_size": 1,
    "parallelism.data_parallel_size": 128,
    "batch.micro_batch_size": 2,
    "batch.gradient_accumulation_steps": 1,
    "batch.global_batch_size": 256,
    "batch.sequence_length": 8192,
    "precision.compute_dtype": "bf16",
    "precision.gradient_reduce_dtype": "fp32",
    "model.parameters": 8_030_261_248,
    "model.layers": 32,
    "model.hidden_size": 4096,
    "model.attention_heads": 32,
    "model.key_value_heads": 8,
    "model.feed_forward_size": 14336,
    "model.gated_feed_forward": True,
    "model.vocabulary_size": 128256,
    "model.tied_embeddings": False,
    "run.role": "pretrain",
    "run.steps": 1000,
}
# Tensor parallelism within a node, four stages, the optimizer distributed.
MEGATRON: dict[str, object] = {
    **LLAMA,
    "parallelism.engine": "megatron",
    "parallelism.sharding_stage": 1,
    "parallelism.tensor_parallel_size": 8,
    "parallelism.pipeline_parallel_size": 4,
    "parallelism.data_parallel_size": 4,
    "parallelism.virtual_stages": 2,
    "parallelism.sequence_parallel": True,
    "batch.micro_batch_size": 1,
    "batch.gradient_accumulation_steps": 64,
    "memory.recompute_mode": "none",
}


def quantity(name: str, of: TrainingPlan) -> Quantity:
    return step_forecast(of).named(name)


def test_model_flops_are_of_palm() -> None:
    """2,097,152 tokens x the exact vector of Llama 3.1 8B at 8,192 tokens."""
    found = quantity("model_flops", plan(LLAMA)).need()
    assert found.value == 2_097_152 * 61_066_469_376
    assert (found.kind, found.lower) == ("exact", found.value)


def test_counted_model_comes_within_a_percent() -> None:
    """Norms are what a count of matrices leaves out."""
    stated = quantity("model_flops", plan(LLAMA)).need().value
    found = quantity("model_flops", plan(LLAMA, model__parameters=None)).need()
    assert found.kind == "calibrated"
    assert found.lower < stated < found.upper
    assert found.value == pytest.approx(stated, rel=1e-4)


def test_mixture_counts_the_experts_that_a_token_meets() -> None:
    """Qwen3 235B: 21.57 billion of 235 multiply a token."""
    qwen = plan(
        LLAMA,
        model__parameters=None,
        model__layers=94,
        model__attention_heads=64,
        model__head_dimension=128,
        model__key_value_heads=4,
        model__experts=128,
        model__experts_per_token=8,
        model__expert_feed_forward_size=1536,
        model__vocabulary_size=151936,
    )
    tokens = 2_097_152
    scores = 12 * 94 * 64 * 128 * 8192
    found = quantity("model_flops", qwen).need().value
    assert found == pytest.approx(tokens * (6 * 21_567_635_456 + scores))


def test_adapter_needs_no_gradients_of_frozen_weights() -> None:
    """4 instead of 6 operations for each weight, no embedding."""
    found = quantity("model_flops", plan(LLAMA, model__adapter="lora")).need()
    assert found.value == 2_097_152 * 4 * (8_030_261_248 - 525_336_576)


def test_compute_is_a_share_of_the_peak() -> None:
    """The products alone at 77 percent of 989 TFLOPS, and what is beside them."""
    found = quantity("compute_seconds", plan(LLAMA, memory__recompute_mode="none"))
    ideal = 2_097_152 * 61_066_469_376 / (128 * 989e12)
    estimate = found.need()
    assert 1.5 * ideal < estimate.value < 3 * ideal
    assert estimate.lower == pytest.approx(0.80 * estimate.value)
    assert estimate.upper == pytest.approx(1.42 * estimate.value)
    assert estimate.kind == "advisory"
    assert "of 989 TFLOPS" in found.note


def test_recomputation_runs_every_layer_again() -> None:
    """A third more at most; where it is not known the upper end has it."""
    none = plan(LLAMA, memory__recompute_mode="none")
    full = plan(LLAMA, memory__recompute_mode="full")
    without = quantity("compute_seconds", none).need()
    again = quantity("compute_seconds", full).need()
    either = quantity("compute_seconds", plan(LLAMA)).need()
    assert 1.2 * without.value < again.value < 4 / 3 * without.value
    assert (either.value, either.upper) == (without.value, again.upper)


def test_no_range_for_a_gpu_without_published_runs() -> None:
    """The plan may state the time of a step instead."""
    ada = plan(LLAMA, cluster__compute_capability=(8, 9))
    assert quantity("compute_seconds", ada).missing == ("run.step_seconds",)
    stated = plan(LLAMA, cluster__compute_capability=(8, 9), run__step_seconds=3.0)
    assert quantity("tokens_per_second", stated).need().value == 2_097_152 / 3
    assert quantity("tokens_per_second", stated).need().kind == "exact"


def test_reinforcement_learning_generates_too() -> None:
    """No utilization of training says how long that takes."""
    found = quantity("compute_seconds", plan(LLAMA, run__role="rl"))
    assert found.estimate is None
    assert "generates" in found.note


def test_bubble_of_an_interleaved_pipeline() -> None:
    """3 / (2 x 64 + 3)."""
    found = quantity("bubble_share", plan(MEGATRON))
    assert found.need().value == 3 / 131
    assert found.note == "3 / (2 x 64 + 3)"


def test_bubble_of_torchtitan_is_open() -> None:
    """It cuts its local batch by settings of its own."""
    found = quantity("bubble_share", plan(MEGATRON, run__framework="torchtitan"))
    assert found.missing == ("batch.gradient_accumulation_steps",)


def test_sharded_weights_and_gradients() -> None:
    """(2 x 2 + 4) bytes of each parameter, 127 of 128 parts."""
    found = quantity("data_parallel_traffic", plan(LLAMA))
    assert found.need().value == 8_030_261_248 * 8 * 127 / 128
    assert found.need().lower == 8_030_261_248 * 6 * 127 / 128
    assert found.note == "fsdp over 128 ranks"


def test_hybrid_sharding_reduces_between_replicas() -> None:
    """8 ranks shard; 16 replicas reduce an eighth of the gradients in 32 bits."""
    found = quantity("data_parallel_traffic", plan(LLAMA, parallelism__shard_size=8))
    within = 8_030_261_248 * 8 * 7 / 8
    across = 2 * 4 * 8_030_261_248 / 8 * 15 / 16
    assert found.need().value == within + across
    assert found.note == "fsdp over 8 ranks, 16 replicas"


def test_unknown_gradient_width_widens_the_traffic() -> None:
    """16 or 32 bits of each gradient."""
    found = quantity(
        "data_parallel_traffic",
        plan(MEGATRON, precision__gradient_reduce_dtype=None),
    ).need()
    share = 8_030_261_248 / 32 * 3 / 4
    assert (found.lower, found.value, found.upper) == (4 * share, 6 * share, 6 * share)


def test_experts_are_exchanged_among_their_own_ranks() -> None:
    """With as many expert-parallel as data-parallel ranks they stay where they are."""
    mixture: dict[str, object] = {
        "model__parameters": None,
        "model__experts": 8,
        "model__experts_per_token": 2,
        "parallelism__engine": "ddp",
        "parallelism__sharding_stage": 0,
    }
    apart = plan(LLAMA, **mixture, parallelism__expert_parallel_size=128)
    found = quantity("data_parallel_traffic", apart).need().value
    attention = 32 * 4096 * (2 * 4096 + 2 * 1024) + 32 * 4096 * 8
    dense = attention + 2 * 128256 * 4096
    assert found == pytest.approx(dense * 2 * 4 * 127 / 128)


def test_tensor_parallel_traffic_of_a_stage() -> None:
    """8 exchanges of 64 MiB, 7 of 8 parts, 8 layers, 64 micro-batches."""
    found = quantity("tensor_parallel_traffic", plan(MEGATRON)).need()
    assert found.value == 8 * (2 * 8192 * 4096) * 7 / 8 * 8 * 64
    assert found.kind == "exact"


def test_recomputation_unknown_widens_tensor_traffic() -> None:
    """Recomputing a layer repeats its forward exchanges."""
    open_mode = plan(MEGATRON, memory__recompute_mode=None)
    found = quantity("tensor_parallel_traffic", open_mode).need()
    assert found.upper == 1.5 * found.lower


def test_pipeline_traffic_of_a_stage() -> None:
    """An eighth of 64 MiB both ways, two chunks, 64 micro-batches."""
    found = quantity("pipeline_traffic", plan(MEGATRON)).need()
    assert found.value == 2 * (2 * 8192 * 4096) / 8 * 2 * 64


def test_expert_traffic_of_a_stage() -> None:
    """Twice 64 MiB over 8 tensor ranks, 4 times, 3 of 4 parts, 8 layers, 64 batches."""
    mixture = plan(
        MEGATRON,
        model__parameters=None,
        model__experts=8,
        model__experts_per_token=2,
        parallelism__expert_parallel_size=4,
    )
    found = quantity("expert_parallel_traffic", mixture).need()
    assert found.value == 4 * 2 * (2 * 8192 * 4096) / 8 * 3 / 4 * 8 * 64
    assert quantity("expert_parallel_traffic", plan(MEGATRON)).need().upper == 0.0


def test_context_traffic_of_a_stage() -> None:
    """4,096 tokens x one of 8 key-value heads, 3 rounds of 2 tensors to one rank."""
    two = plan(MEGATRON, parallelism__context_parallel_size=2)
    found = quantity("context_parallel_traffic", two).need()
    assert found.value == 3 * 2 * (4096 * 128 * 2) * 1 * 8 * 64
    assert quantity("context_parallel_traffic", plan(MEGATRON)).need().upper == 0.0


def test_a_part_of_an_exchange_that_overlaps_shows() -> None:
    """Weights are gathered for each micro-batch; 29 percent of published ones show."""
    of = plan(LLAMA, communication__overlap_gradient_reduce=True)
    alone = quantity("data_parallel_seconds", of).need().value
    found = quantity("exposed_communication", of).need()
    assert found.value == pytest.approx(0.29 * alone)
    assert quantity("scaling_efficiency", of).need().lower > 0.9


def test_all_of_an_exchange_without_overlap_shows() -> None:
    """As long as it takes on the wires."""
    off = plan(LLAMA, communication__overlap_gradient_reduce=False)
    alone = quantity("data_parallel_seconds", off).need().value
    assert quantity("exposed_communication", off).need().value == alone
    assert quantity("scaling_efficiency", off).need().upper < 1.0


def test_parts_of_a_step_add_up() -> None:
    """Kernels, waiting and exchange are all that there is."""
    of = plan(MEGATRON)
    names = ("compute_seconds", "pipeline_wait_seconds", "exposed_communication")
    whole = sum(quantity(name, of).need().value for name in names)
    assert quantity("step_seconds", of).need().value == pytest.approx(whole)


def test_unknown_network_leaves_the_exchange_open() -> None:
    """No catalogue entry, no time."""
    dark = plan(LLAMA, cluster__nic_bits_per_second_per_gpu=None)
    found = quantity("exposed_communication", dark)
    assert found.missing == ("cluster.nic_bits_per_second_per_gpu",)
    assert quantity("data_parallel_traffic", dark).estimate is not None


def test_all_that_is_missing_is_named_at_once() -> None:
    """So that one round of questions is enough."""
    found = quantity(
        "model_flops", plan(LLAMA, model__layers=None, batch__sequence_length=None)
    )
    assert set(found.missing) == {"model.layers", "batch.sequence_length"}


def test_unpacked_samples_are_advice() -> None:
    """Fine-tuning samples are shorter than the sequence length."""
    sft = plan(LLAMA, run__role="sft")
    packed = plan(LLAMA, run__role="sft", batch__packing=True)
    assert quantity("model_flops", sft).need().kind == "advisory"
    assert quantity("model_flops", packed).need().kind == "exact"


def test_published_steps_are_foretold() -> None:
    """829 steps; the third that no constant was fitted on is no further off."""
    found = list(step_predictions())
    assert len(found) == 829
    for use in ("calibrated", "unused"):
        errors = [row.error_percent for row in found if row.group.endswith(use)]
        off = [abs(error) for error in errors if error is not None]
        assert sum(off) / len(off) < 10, use


def test_published_steps_lie_within_the_bounds() -> None:
    """97 in 100, of dense models and of mixtures of experts."""
    for kind in ("dense", "mixture"):
        rows = [row for row in step_predictions() if f" {kind}," in row.group]
        within = [
            row
            for row in rows
            if (row.lower or 0) <= (row.published or 0) <= (row.upper or 0)
        ]
        assert len(within) >= 0.97 * len(rows), kind


def test_energy_of_a_stated_step() -> None:
    """128 GPUs x 700 W x 2 s over 2,097,152 tokens; 1,000 steps of 2 s."""
    of = energy_forecast(plan(LLAMA, run__step_seconds=2.0))
    watts = 128 * 700
    assert of.named("power").need().value == watts
    assert of.named("energy_per_token").need().value == watts * 2 / 2_097_152
    assert of.named("run_energy").need().value == pytest.approx(watts * 2000)
    assert of.named("run_energy").note == "89,600 W x 0.6 h = 50 kWh"


def test_energy_of_stated_hours() -> None:
    """A GPU under 60 percent of its limit is taken for the least."""
    of = energy_forecast(plan(LLAMA, run__hours=10.0, model__layers=None))
    found = of.named("run_energy").need()
    assert (found.lower, found.upper) == (0.6 * 128 * 700 * 36_000, 128 * 700 * 36_000)
    assert "model.layers" in of.named("energy_per_token").missing


def test_energy_needs_the_power_of_the_gpu() -> None:
    """It stands in the hardware catalogue for the usual ones."""
    of = energy_forecast(plan(LLAMA, cluster__power_watts=None))
    assert of.named("power").missing == ("cluster.power_watts",)
    assert of.named("run_energy").missing == ("cluster.power_watts",)


# What `speccheck plan` and its JSON show: a name that changes breaks whoever reads it.
_NAMES = {
    "step": {
        "model_flops": "flops",
        "compute_seconds": "seconds",
        "bubble_share": "share",
        "pipeline_wait_seconds": "seconds",
        "data_parallel_traffic": "bytes",
        "data_parallel_seconds": "seconds",
        "tensor_parallel_traffic": "bytes",
        "pipeline_traffic": "bytes",
        "expert_parallel_traffic": "bytes",
        "context_parallel_traffic": "bytes",
        "exposed_communication": "seconds",
        "step_seconds": "seconds",
        "tokens_per_second": "tokens_per_second",
        "scaling_efficiency": "share",
    },
    "energy": {"power": "watts", "energy_per_token": "joules", "run_energy": "joules"},
    "batch": {
        "step_tokens": "tokens",
        "micro_batch_tokens": "tokens",
        "critical_batch": "tokens",
    },
}


@pytest.mark.parametrize("of", [LLAMA, {}], ids=["known", "empty"])
def test_names_and_units_are_those_of_the_report(of: dict[str, object]) -> None:
    """The same for a plan that says nothing."""
    made = (step_forecast, energy_forecast, batch_forecast)
    found = [forecast(plan(of)) for forecast in made]
    names = {
        finding.subject: {each.name: each.unit for each in finding.quantities}
        for finding in found
    }
    assert names == _NAMES


def test_nothing_is_forecast_of_nothing() -> None:
    """Each quantity names a leaf that would give it."""
    for forecast in (step_forecast, energy_forecast, batch_forecast):
        for item in forecast(plan({})).quantities:
            assert item.estimate is None, item.name
            assert item.missing, item.name


def test_tokens_of_a_rank_and_of_the_step() -> None:
    """2 samples of 8,192 tokens over 4 context ranks; 256 samples in a step."""
    of = batch_forecast(plan(LLAMA, parallelism__context_parallel_size=4))
    assert of.named("micro_batch_tokens").need().value == 2 * 8192 / 4
    assert of.named("step_tokens").need().value == 256 * 8192


def test_critical_batch_of_eight_billion_parameters() -> None:
    """2.1e8 / (8.8e13 / P)^(0.076 / 0.21): 7.2 million tokens, at a loss of 2.03."""
    found = batch_forecast(plan(LLAMA)).named("critical_batch")
    expected = 2.1e8 / (8.8e13 / 8_030_261_248) ** (0.076 / 0.21)
    assert found.need().value == pytest.approx(expected)
    assert found.need().kind == "advisory"
    assert found.note == "8.0 billion parameters, loss 2.03"


@pytest.mark.parametrize("size", [0, -1])
@pytest.mark.parametrize("base", [LLAMA, MEGATRON], ids=["llama", "megatron"])
def test_sizes_of_nothing_give_no_forecast(base: dict[str, object], size: int) -> None:
    """Rules of their own refuse them; a division by zero helps nobody."""
    numbers = [name for name, value in base.items() if type(value) in {int, float}]
    for name in numbers:
        odd = plan({**base, name: size})
        for forecast in (step_forecast, energy_forecast, batch_forecast):
            for item in forecast(odd).quantities:
                assert item.estimate is None or item.estimate.lower >= 0, (
                    name,
                    item.name,
                )
    step = step_forecast(plan({**base, "model.layers": size})).named("model_flops")
    assert step.note == f"{size} allows no forecast"
