"""What it costs to gather what rules judge: by kind of evidence, for all that ask.

A tier says what may be done to a node: 0 reads, and puts no load on it; 1 copies for
a moment; 2 works its GPUs and NVLink; 3 needs several nodes at once. The seconds are
those of a node with eight GPUs, much of them to load PyTorch and to start as many
processes: an engineering default, of which a node with fewer GPUs takes less.
"""

from speccheck.validator.evidence.record import Record

TIERS = (0, 1, 2, 3)
# What `speccheck preflight` may take by default, for all that a tier allows together.
BUDGET_SECONDS = {0: 60, 1: 120, 2: 600, 3: 900}


class Cost(Record):
    """What evidence of one kind takes.

    tier: from which on preflight gathers it; None for what it never does.
    seconds: what it usually takes. how: what gathers it.
    """

    tier: int | None
    seconds: float
    how: str


READING = Cost(0, 1, "the probes read it and put no load on the machine")
# 8 GPUs: 24 copies of one GPU and 56 of pairs, 23 times 256 MiB each, take ten seconds
# at 50 GB/s. Products: two types on each GPU, three seconds of warm-up each. Of
# all-reduce fourteen sizes up to 8 GiB, the last of them 25 times 30 ms, and compared.
COSTS: dict[str, Cost] = {
    "copy_tests": Cost(1, 20, "speccheck bench memory copies between host and GPUs"),
    "matrix_products": Cost(2, 70, "speccheck bench gemm multiplies on each GPU"),
    "collective_runs": Cost(
        2,
        60,
        "speccheck bench all-reduce runs over the GPUs of the node; tier 3: over "
        "all ranks",
    ),
    "rdma_transfers": Cost(None, 0, "perftest between nodes: speccheck FILE reads it"),
    "diagnostic_results": Cost(None, 0, "dcgmi diag -j: speccheck FILE reads it"),
    "communicators": Cost(
        None, 0, "a run with NCCL_DEBUG=INFO: speccheck LOG reads it"
    ),
    "variables_in_force": Cost(
        None, 0, "a run with NCCL_DEBUG=INFO: speccheck LOG reads it"
    ),
}


class Measurement(Record):
    """One measurement that preflight makes: a kind of `speccheck bench`.

    kind: of the evidence that it gives. bench: words of the command.
    is_joint: whether all ranks of the engine take part.
    """

    tier: int
    kind: str
    bench: tuple[str, ...]
    is_joint: bool = False


MEASUREMENTS = (
    Measurement(1, "copy_tests", ("memory",)),
    Measurement(2, "matrix_products", ("gemm",)),
    Measurement(2, "collective_runs", ("all-reduce",)),
    Measurement(3, "collective_runs", ("all-reduce",), is_joint=True),
)


def cost_of(kinds: tuple[str, ...], *, is_of_node: bool) -> Cost | None:
    """Return what a rule costs for evidence of these kinds; None for files alone.

    The dearest counts; what preflight never gathers is dearer than all else.
    """
    costs = [COSTS[kind] for kind in kinds if kind in COSTS]
    if not costs:
        return READING if is_of_node else None
    return max(
        costs, key=lambda cost: (cost.tier is None, cost.tier or 0, cost.seconds)
    )


def cost_text(cost: Cost) -> str:
    """Return the cost as people read it: `tier 1, about 20 s: ...`."""
    if cost.tier is None:
        return f"not in preflight: {cost.how}"
    seconds = f"about {cost.seconds:g} s" if cost.tier else "a second or less"
    return f"tier {cost.tier}, {seconds}: {cost.how}"
