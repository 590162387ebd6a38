"""Parameters, states, activations, peaks: counts, and what widens their bounds."""

import pytest

from known_models import LLAMA_8B, LLAMA_70B, QWEN3_30B
from speccheck.validator.models.estimate import exactly
from speccheck.validator.models.parameters import (
    COUNT,
    Dimensions,
    counted_parameters,
    fullest_stage_parameters,
    megatron_feed_forward_size,
    most_layer_parameters,
    parameter_buckets,
    parameter_estimate,
    stage_imbalance,
)
from speccheck.validator.models.peak_memory import FAMILIES, MemoryJob, peak_of
from speccheck.validator.models.training_memory import (
    Scheme,
    Sharding,
    TrainingWork,
    activation_estimate,
    bytes_per_parameter,
    host_bytes,
    logit_estimate,
    most_layer_bytes,
    state_bytes,
)
from speccheck.validator.models.units import billions, gigabytes

BARE = Dimensions(layers=48, hidden_size=7168, attention_heads=56)
DEEPSPEED = Scheme("bf16", "deepspeed", accumulate_dtype="bf16", optimizer="adamw")
MEGATRON = Scheme("bf16", "megatron", accumulate_dtype="fp32", optimizer="adam")
BILLION = exactly(1e9, COUNT)
WHOLE = Sharding(1, 1, 1, 0)


@pytest.mark.parametrize("dimensions", [LLAMA_8B, LLAMA_70B, QWEN3_30B])
def test_a_complete_count_is_exact_and_within_its_bounds(
    dimensions: Dimensions,
) -> None:
    found, count = parameter_estimate(dimensions), counted_parameters(dimensions)
    assert (found.value, found.kind) == (count, "exact")
    assert 0.98 * count < found.lower <= count <= found.upper


def test_what_is_not_known_counts_as_nothing_in_the_lower_bound() -> None:
    found = parameter_estimate(BARE)
    assert found.lower == 48 * 2 * 7168 * 7168
    assert (found.kind, found.upper) == ("lower_bound", float("inf"))
    assert most_layer_parameters(BARE) is None


def test_a_mixture_that_is_not_sure_gives_no_exact_count() -> None:
    """Which layers have experts, and whether attention is latent, is not told."""
    unsure = QWEN3_30B._replace(mixture_is_sure=False, feed_forward_size=6144)
    assert parameter_estimate(unsure).kind != "exact"
    assert parameter_estimate(unsure).lower < counted_parameters(QWEN3_30B)


def test_tied_embeddings_are_counted_once() -> None:
    tied = LLAMA_8B._replace(tied_embeddings=True)
    assert counted_parameters(LLAMA_8B) - counted_parameters(tied) == 128256 * 4096


def test_megatron_buckets_add_up() -> None:
    found = parameter_buckets(QWEN3_30B)
    assert sum(found) == counted_parameters(QWEN3_30B)
    assert found.of_experts == 48 * 128 * 3 * 2048 * 768
    assert found.replicated == 48 * (2 * 2048 + 128 * 2048) + 2048


def test_the_first_stage_carries_the_embedding() -> None:
    layer = 218_112_000  # 41.9 m attention, 176.2 m feed-forward, two norms
    found = fullest_stage_parameters(LLAMA_8B, 4)
    assert found == 8 * layer + 128256 * 4096
    slots = fullest_stage_parameters(LLAMA_8B, 17, embeddings_are_slots=True)
    assert slots == 128256 * 4096 + layer
    assert stage_imbalance(LLAMA_8B, [8] * 4).ratio == pytest.approx(1.2, abs=0.1)


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
    ("stage", "best", "least"),
    [
        (0, 20.0, 16.0),
        (1, 4.0 + 16 / 64, 4.0 + 12 / 64),
        (2, 2.0 + 18 / 64, 2.0 + 14 / 64),
        (3, 18 / 64, 16 / 64),
    ],
)
def test_zero_stages_with_adam_and_16_bits(
    stage: int, best: float, least: float
) -> None:
    found = state_bytes(BILLION, DEEPSPEED, Sharding(1, 64, 64, stage))
    assert found.value == pytest.approx(best * 1e9)
    assert found.lower == pytest.approx(least * 1e9)
    assert found.value <= found.upper


def test_accumulation_that_is_not_stated_widens_the_interval() -> None:
    open_one = DEEPSPEED._replace(accumulate_dtype="")
    sharding = Sharding(1, 64, 64, 1)
    found = state_bytes(BILLION, open_one, sharding)
    narrow = state_bytes(BILLION, DEEPSPEED, sharding)
    wide = state_bytes(BILLION, DEEPSPEED._replace(accumulate_dtype="fp32"), sharding)
    assert found.lower <= narrow.lower
    assert wide.upper <= found.upper
    assert found.kind == "lower_bound"


@pytest.mark.parametrize(
    ("scheme", "bytes_each"),
    [
        (Scheme("fp32", optimizer="adamw"), 16.0),
        (Scheme("bf16", parameter_dtype="fp32", optimizer="adamw"), 16.0),
        (Scheme("bf16", parameter_dtype="bf16", optimizer="adamw"), 8.0),
        (Scheme("bf16", parameter_dtype="bf16", optimizer="adamw_8bit"), 2.0),
        (Scheme("bf16", parameter_dtype="bf16"), 2.0),
        (MEGATRON, 18.0),
        (MEGATRON._replace(accumulate_dtype="bf16"), 16.0),
        (MEGATRON._replace(optimizer_state_dtype="bf16"), 6.0),
        (MEGATRON._replace(optimizer="distributed_fused_adam"), 12.0),
        (Scheme("bf16", "deepspeed", optimizer="galore_adamw"), 8.0),
        (Scheme("bf16", parameter_dtype="bf16", optimizer="badam_adamw"), 2.0),
    ],
)
def test_the_lower_bound_counts_only_what_is_sure(
    scheme: Scheme, bytes_each: float
) -> None:
    assert bytes_per_parameter(scheme).sum().lower == bytes_each


def test_offload_takes_optimizer_and_gradients_off_the_lower_bound() -> None:
    moved = Sharding(1, 8, 8, 2, offloads_optimizer=True)
    assert state_bytes(BILLION, DEEPSPEED, moved).lower == 2e9
    gone = Sharding(1, 8, 8, 3, offloads_optimizer=True, offloads_weights=True)
    assert state_bytes(BILLION, DEEPSPEED, gone).lower == 0
    # Megatron-LM keeps its gradient buffer on the device.
    assert state_bytes(BILLION, MEGATRON, moved._replace(stage=1)).lower == 6e9


def test_what_is_offloaded_lies_on_the_host() -> None:
    moved = Sharding(1, 8, 8, 2, offloads_optimizer=True)
    assert host_bytes(BILLION, DEEPSPEED, moved).lower == pytest.approx(12e9 / 8)
    assert host_bytes(BILLION, DEEPSPEED, Sharding(1, 8, 8, 2)).lower == 0


def test_model_parallel_ranks_divide_the_states() -> None:
    found = state_bytes(exactly(8e9, COUNT), MEGATRON, Sharding(8, 1, 1, 0))
    assert found.value == found.lower == 18e9


def test_context_ranks_widen_the_interval_of_a_sharded_state() -> None:
    found = state_bytes(BILLION, DEEPSPEED, Sharding(1, 64, 16, 3))
    assert found.lower == pytest.approx(16e9 / 64)
    assert found.upper >= 18e9 / 16


def test_a_frozen_base_keeps_its_bits_and_a_small_trained_part() -> None:
    found = state_bytes(exactly(70e9, COUNT), Scheme("bf16", base_bits=4), WHOLE)
    assert found.lower == pytest.approx(31.5e9)
    assert found.upper == pytest.approx(70e9 * (1.0 + 1.6))


def test_activations_of_a_gated_layer() -> None:
    work = TrainingWork(
        tokens=8192, sequence_length=8192, attention="flash", recompute="none"
    )
    layer = 102_400 * 2 * 8192  # 8 h + 2 (a + 2 k) d + 4 f
    assert most_layer_bytes(LLAMA_8B, work) == layer
    found = activation_estimate(LLAMA_8B, work._replace(is_compiled=False), 32)
    assert found.value == found.upper == 32 * layer
    # Inputs of the products: 2 h + 2 (a + k) d + 2 f.
    assert found.lower == 32 * 2 * 47_104 * 8192
    assert activation_estimate(LLAMA_8B, work, 32).value == pytest.approx(
        0.73 * 32 * layer
    )


def test_scores_are_counted_unless_a_kernel_keeps_them_on_chip() -> None:
    work = TrainingWork(tokens=8192, sequence_length=8192)
    eager = most_layer_bytes(LLAMA_8B, work)
    flash = most_layer_bytes(LLAMA_8B, work._replace(attention="flash"))
    assert eager - flash == 5 * 32 * 8192 * 8192  # 5 a s^2, in bytes


def test_full_recomputation_keeps_boundaries_and_one_layer() -> None:
    kept = TrainingWork(8192, 8192, attention="flash", recompute="none")
    more = activation_estimate(LLAMA_8B, kept, 32).upper
    less = activation_estimate(LLAMA_8B, kept._replace(recompute="full"), 32).upper
    layer = 102_400 * 2 * 8192
    boundaries = 2 * 4096 * 8192 * 33
    assert more - less == pytest.approx(31 * layer - boundaries)


def test_interleaving_and_short_samples_take_nothing_from_the_upper_bound() -> None:
    sure = TrainingWork(8192, 8192, recompute="full", micro_batches_in_flight=4)
    unsure = sure._replace(schedule_is_sure=False)
    found, open_one = (
        activation_estimate(LLAMA_8B, work, 8) for work in (sure, unsure)
    )
    assert open_one.lower == found.lower / 4
    assert open_one.upper > found.upper
    short = activation_estimate(LLAMA_8B, sure._replace(tokens_are_sure=False), 8)
    assert (short.lower, short.upper) == (0.0, found.upper)


def test_a_loss_that_is_not_known_may_keep_no_logits_or_four_copies() -> None:
    found = logit_estimate(LLAMA_8B, TrainingWork(16384, 8192))
    assert (found.lower, found.upper) == (0.0, 16 * 16384 * 128256)


def test_the_parts_that_a_job_leaves_open_reach_to_infinity() -> None:
    job = MemoryJob(70_000_000_000, None, DEEPSPEED, Sharding(1, 8, 8, 3))
    total = peak_of(job).total()
    assert total.lower == pytest.approx(16 * 70e9 / 8 + 0.5e9)
    assert (total.upper, total.kind) == (float("inf"), "lower_bound")


def test_only_a_family_of_rows_makes_a_total_calibrated() -> None:
    work = TrainingWork(8192, 8192, recompute="full", attention="flash", loss="eager")
    scheme = Scheme("bf16", parameter_dtype="fp32", optimizer="adamw")
    job = MemoryJob(None, LLAMA_8B, scheme, Sharding(1, 8, 8, 3), work=work)
    assert peak_of(job).total().kind == "advisory"
    family = FAMILIES["fsdp"]
    found = peak_of(job, family).total(family)
    assert found.kind == "calibrated"
    assert found.lower < found.value
    assert found.upper >= found.value * (1 + family.band)


def test_experts_lie_on_their_own_ranks() -> None:
    experts = parameter_buckets(QWEN3_30B).of_experts
    dense = counted_parameters(QWEN3_30B) - experts
    whole, cut = Sharding(1, 64, 64, 1), Sharding(8, 8, 8, 1)
    job = MemoryJob(None, QWEN3_30B, MEGATRON, whole, expert_sharding=cut)
    states = peak_of(job).states
    expected = dense * (6 + 12 / 64) + experts / 8 * (6 + 12 / 8)
    assert states.value == pytest.approx(expected, rel=0.001)


def test_a_sum_with_a_plain_number_is_refused() -> None:
    with pytest.raises(TypeError):
        _ = BILLION + 3


@pytest.mark.parametrize(
    ("amount", "text"),
    [(127.4e9, "127 GB"), (8.03e9, "8 GB"), (1_234e9, "1,234 GB")],
)
def test_bytes_as_people_read_them(amount: float, text: str) -> None:
    assert gigabytes(amount) == text


def test_parameters_as_people_read_them() -> None:
    assert billions(29_940_000_000) == "29.9 billion"


def test_an_adapter_keeps_inputs_of_layers_at_least() -> None:
    """Products of frozen weights need no inputs."""
    work = TrainingWork(
        tokens=8192,
        sequence_length=8192,
        attention="flash",
        recompute="none",
        trains_weights=False,
    )
    assert activation_estimate(LLAMA_8B, work, 32).lower == 32 * 2 * 4096 * 8192


def test_scores_that_are_computed_again_are_not_stored() -> None:
    """Megatron's selective recomputation is of them; the kernel is of no matter."""
    work = TrainingWork(tokens=8192, sequence_length=8192, recompute="selective")
    assert most_layer_bytes(LLAMA_8B, work) == 102_400 * 2 * 8192


def test_logits_are_gathered_unless_the_loss_is_known_to_be_parallel() -> None:
    """A loss of all the vocabulary on each tensor-parallel rank."""
    work = TrainingWork(tokens=8192, sequence_length=8192, tensor_ranks=8)
    whole = 16 * 8192 * 128256
    assert logit_estimate(LLAMA_8B, work).upper == whole
    parallel = work._replace(loss="vocabulary-parallel")
    assert logit_estimate(LLAMA_8B, parallel).upper == whole / 8
