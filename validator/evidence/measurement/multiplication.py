"""Products of dense matrices: `speccheck bench gemm` and others."""

from speccheck.validator.evidence.node.part import Part, Parts
from speccheck.validator.evidence.value import Value


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
