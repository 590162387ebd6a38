"""Copies between host and GPUs: nvbandwidth and `speccheck bench memory`."""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value


class CopyTest(Part):
    """One kind of copy, measured for GPUs or pairs of them.

    Each rate stands at the position of the GPUs it belongs to.
    """

    __slots__ = ()
    kind = "copy_tests"
    scope = "measurement"

    tool: Value[str]  # nvbandwidth, speccheck, superbench
    tool_version: Value[str]
    name: Value[str]  # as the tool calls it: host_to_device_memcpy_ce
    direction: Value[str]  # host_to_device, device_to_host, device_to_device, local
    method: Value[str]  # copy_engine, sm
    operation: Value[str]  # write, read: who of a pair of GPUs moves the bytes
    is_bidirectional: Value[bool]
    is_sum_of_both_ways: Value[bool]  # of a bidirectional one; else the way it names
    is_all_at_once: Value[bool]  # all GPUs copy at the same time
    gpu: Value[str]  # the name of all GPUs
    size_bytes: Value[int]
    iterations: Value[int]  # timed ones, of which the rate is the median
    from_gpu: Value[tuple[int | None, ...]]  # None: the host
    to_gpu: Value[tuple[int | None, ...]]
    bytes_per_second: Value[tuple[float | None, ...]]  # None: no path, or no result


class CopyTests(Parts[CopyTest]):
    """All kinds of copies that were measured."""

    __slots__ = ()
    part = CopyTest
    scope = "measurement"
