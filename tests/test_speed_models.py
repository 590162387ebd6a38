"""Traffic, elasticity, packing, overlap and NCCL releases: what no row holds."""

import pytest

from speccheck.validator.models.collective_time import (
    CommunicatorShape,
    latency,
    nvls_time,
    nvls_tree_latency,
    ring_time,
)
from speccheck.validator.models.elasticity import (
    Elastic,
    Nodes,
    elastic_batch,
    elastic_batch_of_nodes,
    is_settled,
)
from speccheck.validator.models.estimate import exactly, within
from speccheck.validator.models.packing import (
    PackedSamples,
    packed_sequences,
    packing_gain,
    padded_share,
)
from speccheck.validator.models.throughput import scaling_efficiency
from speccheck.validator.models.traffic import (
    Activations,
    context_parallel_bytes,
    data_parallel_bytes,
    expert_parallel_bytes,
    pipeline_bytes,
    tensor_parallel_bytes,
)

ONE_LAYER = Activations(tokens=4096, hidden_size=8192)  # 64 MiB


def test_distributed_optimizer_moves_gradients_and_weights_once() -> None:
    """16-bit weights are gathered, gradients scattered: like DDP with 16 bits."""
    ddp = data_parallel_bytes("ddp", 8e9, 8, gradient_bytes=2)
    same = data_parallel_bytes("distributed-optimizer", 8e9, 8, gradient_bytes=2)
    wide = data_parallel_bytes("distributed-optimizer", 8e9, 8, gradient_bytes=4)
    assert (same, wide) == (ddp, 8e9 * 6 * 7 / 8)


def test_weight_sharding_pays_for_each_micro_batch() -> None:
    """DDP and ZeRO 1 and 2 exchange once in a step."""
    once = data_parallel_bytes("fsdp", 8e9, 8, gradient_bytes=4)
    four = data_parallel_bytes("fsdp", 8e9, 8, gradient_bytes=4, micro_batches=4)
    assert four == 4 * once


def test_recomputation_repeats_the_forward_exchanges() -> None:
    """Half as much again."""
    plain = tensor_parallel_bytes(ONE_LAYER, 8)
    assert tensor_parallel_bytes(ONE_LAYER, 8, recomputes=True) == 1.5 * plain


def test_activations_between_stages() -> None:
    """Output on and gradient back, each chunk, each tensor rank its part."""
    whole = 2 * 4096 * 8192
    assert pipeline_bytes(ONE_LAYER, chunks=1, tensor_ranks=1) == 2 * whole
    assert pipeline_bytes(ONE_LAYER, chunks=4, tensor_ranks=8) == whole


def test_tokens_travel_to_their_experts() -> None:
    """There and back, forward and backward; one rank keeps its own."""
    found = expert_parallel_bytes(ONE_LAYER, 8, experts_per_token=2, tensor_ranks=1)
    assert found == 4 * 2 * (2 * 4096 * 8192) * 7 / 8


def test_keys_and_values_go_around_the_context_ring() -> None:
    """Three rounds of two tensors to each other rank."""
    assert context_parallel_bytes(4096, 1024, 4) == 3 * 2 * 4096 * 1024 * 2 * 3


@pytest.mark.parametrize(
    ("version", "microseconds"),
    [((2, 18), 84.0), ((2, 20), 28 * 16.0), ((2, 22), 28 * 16.0), ((2, 23), 92.4)],
)
def test_tree_latency_by_release(version: tuple[int, int], microseconds: float) -> None:
    """Simple over two nodes: 2 x (7 hops inside + 1 across) and the base."""
    who = CommunicatorShape("hopper", 2, 8, version=version)
    assert latency(who, "tree", "simple") * 1e6 == pytest.approx(microseconds)


@pytest.mark.parametrize(
    ("version", "microseconds"), [((2, 20), 51.0), ((2, 27), 53.0), ((2, 28), 66.8)]
)
def test_nvls_tree_latency_by_release(
    version: tuple[int, int], microseconds: float
) -> None:
    """Two nodes: the hop inside and two across."""
    assert nvls_tree_latency(2, version) * 1e6 == pytest.approx(microseconds)


def test_amd_hosts_pay_more_for_each_send() -> None:
    """28 hops inside take 6 microseconds instead of 3.4."""
    intel = CommunicatorShape("hopper", 2, 8)
    slower = latency(intel._replace(cpu="amd"), "ring", "simple")
    assert (slower - latency(intel, "ring", "simple")) * 1e6 == pytest.approx(
        28 * (6.0 - 3.4)
    )


def test_ring_over_nodes_is_advice() -> None:
    """No published times hold it."""
    assert ring_time(CommunicatorShape("hopper", 1, 8), 2**20).kind == "calibrated"
    assert ring_time(CommunicatorShape("hopper", 2, 8), 2**20).kind == "advisory"


def test_nvls_is_of_one_node_with_a_switch_that_adds() -> None:
    """Ampere's switch does not; over nodes the tree takes over."""
    assert nvls_time(CommunicatorShape("ampere", 1, 8), 2**30) is None
    assert nvls_time(CommunicatorShape("hopper", 2, 8), 2**30) is None


def test_elastic_micro_batch_above_the_largest_batch_is_refused() -> None:
    """DeepSpeed raises ValueError."""
    assert elastic_batch(Elastic((8, 64), 32)) is None


def test_elastic_smaller_batch_on_a_tie() -> None:
    """Both candidates allow as many worlds; the setting decides."""
    larger = elastic_batch(Elastic((2, 5), 20, 1, 1))
    smaller = elastic_batch(Elastic((2, 5), 20, 1, 1, prefers_larger_batch=False))
    assert larger is not None
    assert smaller is not None
    assert (larger.batch, smaller.batch) == (20, 12)


def test_elastic_batch_is_settled_where_all_releases_agree() -> None:
    """A common multiple beyond the largest batch was a candidate once."""
    assert is_settled(Elastic((2, 3), 6))
    assert not is_settled(Elastic((7, 11), 76))
    assert not is_settled(Elastic((1, 1_000_000_007), 10**18))


def test_elastic_nodes_scale_the_batch_by_ranks_of_a_node() -> None:
    """Four nodes of 8 GPUs, model parallel 2: 4 ranks a node, 1,680 / 4 = 420."""
    elastic = Elastic((2, 4, 6), 2000, 8, 64)
    found = elastic_batch_of_nodes(elastic, Nodes(8, 2), 32)
    assert found is not None
    assert (found.batch, found.data_parallel_sizes) == (
        1920,
        (4, 8, 12, 16, 20, 24, 32),
    )
    assert found.micro_batch == 6


def test_elastic_nodes_give_an_unlisted_world_its_own_batch() -> None:
    """Seven nodes divide no listed batch: the largest multiple of 6 x 28 is taken."""
    elastic = Elastic((2, 4, 6), 2000, 8, 64)
    found = elastic_batch_of_nodes(elastic, Nodes(8, 2), 56)
    assert found is not None
    assert (found.batch, found.data_parallel_sizes) == (1960, (28,))


def test_elastic_nodes_need_whole_groups_on_a_node() -> None:
    """DeepSpeed raises ElasticityError."""
    assert elastic_batch_of_nodes(Elastic((2,), 64), Nodes(8, 3), 24) is None


def test_efficiency_falls_by_what_shows() -> None:
    """Ten seconds of compute, none exposed before and two after."""
    found = scaling_efficiency(
        exactly(10.0, ""), exactly(0.0, ""), within(2.0, 0.5, "")
    )
    assert found.value == pytest.approx(10 / 12)
    assert (found.lower, found.upper) == (10 / 13, 10 / 11)


def test_padding_wastes_what_samples_lack() -> None:
    """300 of 4,096 positions are used."""
    assert padded_share(300, 4096).value == 1 - 300 / 4096


def test_packing_takes_what_the_tokens_fill() -> None:
    """52,000 samples of 300 tokens: 15.6 million fill 3,809 sequences of 4,096.

    Each is left with less room than the longest sample of 1,000 tokens.
    """
    of = PackedSamples(52_000, 300, 1000)
    found = packed_sequences(of, 4096)
    assert (found.lower, found.upper) == (3809, 15_600_000 // 3097 + 1)
    gain = packing_gain(of, 4096)
    assert (gain.lower, gain.value) == (52_000 / 5038, 52_000 / 3809)


def first_fit(lengths: list[int], room: int) -> int:
    left: list[int] = []
    for length in lengths:
        for at, free in enumerate(left):
            if length <= free:
                left[at] -= length
                break
        else:
            left.append(room - length)
    return len(left)


@pytest.mark.parametrize(
    "lengths", [[7, 7, 7], [6, 5, 4, 3, 2, 1], [1] * 21, [10, 10], [5, 6, 5, 6, 5, 4]]
)
def test_first_fit_lies_within_the_bounds(lengths: list[int]) -> None:
    """Sequences of 10 tokens."""
    of = PackedSamples(len(lengths), sum(lengths) / len(lengths), max(lengths))
    found = packed_sequences(of, 10)
    assert found.lower <= first_fit(lengths, 10) <= found.upper
