"""What was measured within one node: copies, matrix products, RDMA, a diagnosis.

The tools are `speccheck bench`, nvbandwidth, perftest and `dcgmi diag -j`.
"""

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


class MatrixProduct(Part):
    """One GPU multiplying matrices of one type and shape."""

    __slots__ = ()
    kind = "matrix_products"
    scope = "measurement"

    tool: Value[str]
    tool_version: Value[str]
    gpu: Value[str]  # the name
    gpu_index: Value[int]
    data_type: Value[str]  # bfloat16, float16, float8_e4m3
    rows: Value[int]  # m, n and k of C[m, n] = A[m, k] B[k, n]
    columns: Value[int]
    depth: Value[int]
    iterations: Value[int]
    seconds: Value[float]  # median of one product
    spread: Value[float]  # quartiles apart, over the median
    flops_per_second: Value[float]
    is_compared: Value[bool]
    wrong_values: Value[int]
    power_limit_watts: Value[float]  # that was in force
    power_limit_default_watts: Value[float]


class MatrixProducts(Parts[MatrixProduct]):
    """All products that were measured."""

    __slots__ = ()
    part = MatrixProduct
    scope = "measurement"


class RdmaTransfer(Part):
    """One pair of adapters, measured over messages of several sizes.

    Its points are lists of one length, as those of a collective.
    """

    __slots__ = ()
    kind = "rdma_transfers"
    scope = "measurement"

    tool: Value[str]  # perftest, superbench
    tool_version: Value[str]
    name: Value[str]  # ib_write_bw
    operation: Value[str]  # write, read, send
    device: Value[str]  # mlx5_0
    link_layer: Value[str]  # InfiniBand, Ethernet
    transport: Value[str]  # IB, RoCE, EFA
    mtu_bytes: Value[int]
    queue_pairs: Value[int]
    memory: Value[str]  # gpu, host: where the buffers lie
    is_bidirectional: Value[bool]
    is_complete: Value[bool]

    size_bytes: Value[tuple[int | None, ...]]
    iterations: Value[tuple[int | None, ...]]
    peak_bytes_per_second: Value[tuple[float | None, ...]]
    average_bytes_per_second: Value[tuple[float | None, ...]]
    typical_seconds: Value[tuple[float | None, ...]]  # of a latency test
    p99_seconds: Value[tuple[float | None, ...]]


class RdmaTransfers(Parts[RdmaTransfer]):
    """All pairs of adapters that were measured."""

    __slots__ = ()
    part = RdmaTransfer
    scope = "measurement"


class DiagnosticResult(Part):
    """What one test of a diagnosis says of one GPU, or of the machine."""

    __slots__ = ()
    kind = "diagnostic_results"
    scope = "measurement"

    tool: Value[str]  # dcgm
    tool_version: Value[str]
    category: Value[str]  # Deployment, Integration, Hardware, Stress
    name: Value[str]  # memory, pcie, targeted_stress
    gpu_index: Value[int]  # absent for one of the machine
    result: Value[str]  # pass, warn, fail, skip, not_run
    message: Value[str]
    error_code: Value[int]


class DiagnosticResults(Parts[DiagnosticResult]):
    """All results of the diagnosis."""

    __slots__ = ()
    part = DiagnosticResult
    scope = "measurement"
