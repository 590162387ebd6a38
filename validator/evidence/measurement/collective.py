"""Runs of collectives: what nccl-tests, `speccheck bench` and others measure.

One run is one collective over one set of ranks with one placement of its buffers. Its
points are lists of one length, in the order measured: all of them describe the message
of `size_bytes` at the same position. What a tool did not tell of a point is None.

Sizes count the whole buffer, for all-gather the gathered one, and bus bandwidth is what
NVIDIA/nccl-tests doc/PERFORMANCE.md calls so.
"""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value


class CollectiveRun(Part):
    """One collective, measured over messages of several sizes."""

    __slots__ = ()
    kind = "collective_runs"
    scope = "measurement"

    tool: Value[str]  # nccl-tests, speccheck, superbench, osu
    tool_version: Value[str]
    collective: Value[str]  # all_reduce, all_gather, reduce_scatter, all_to_all, ...
    placement: Value[str]  # out_of_place, in_place
    backend: Value[str]  # nccl, rccl, gloo, mpi
    library_version: Value[str]  # of the backend: 2.25.1
    function: Value[str]  # of a library that did it: all_gather_into_tensor
    torch_version: Value[str]  # whose library that is
    data_type: Value[str]  # as the tool writes it
    gpu: Value[str]  # the name of all GPUs; absent where they differ
    ranks: Value[int]  # one for each GPU
    nodes: Value[int]
    hosts: Value[tuple[str | None, ...]]  # by name, each once, in order of their ranks
    round: Value[int]  # of a plan that takes turns, from 0
    algorithm: Value[str]  # that was forced: ring, tree, nvls, collnet_direct, ...
    warmup_iterations: Value[int]
    iterations: Value[int]
    is_complete: Value[bool]  # it ended as the tool ends; otherwise it died
    ended_by: Value[str]  # of one that is not complete: time budget, interrupt, fault
    is_compared: Value[bool]  # its results were compared with the right ones
    out_of_bounds: Value[int]  # sizes with wrong results, as the tool sums them up
    wrong_hosts: Value[tuple[str | None, ...]]  # whose ranks received wrong values

    size_bytes: Value[tuple[int | None, ...]]
    seconds: Value[tuple[float | None, ...]]  # median over iterations, slowest rank
    algorithm_bytes_per_second: Value[tuple[float | None, ...]]
    bus_bytes_per_second: Value[tuple[float | None, ...]]
    wrong_values: Value[tuple[int | None, ...]]
    spread: Value[tuple[float | None, ...]]  # quartiles apart, over the median
    variation: Value[tuple[float | None, ...]]  # standard deviation over the mean
    p99_seconds: Value[tuple[float | None, ...]]  # of iterations, slowest rank
    repeats: Value[tuple[int | None, ...]]  # measured again because it was unsteady


class CollectiveRuns(Parts[CollectiveRun]):
    """All runs, of one tool or of several."""

    __slots__ = ()
    part = CollectiveRun
    scope = "measurement"
