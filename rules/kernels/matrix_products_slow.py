"""A GPU that multiplies matrices slower than its type can.

Why it hurts: matrix products are most of the work of a step, and all ranks wait for the
slowest GPU. Heat, a lowered power limit, reduced clocks and faults show here.

What passes: the share of the dense bf16 peak that the clause has for this type. With a
power limit below the default, the expectation falls by the same share.

Where it does not apply: other types of numbers. Types of GPU of which nobody has
published what they reach are unknown, and so are products below the floor that are
small, or whose power limit is not known.

Source: stas00/ml-engineering, maximum achievable FLOPS; Azure/AI-benchmarking-guide.

Bad::

    speccheck bench gemm   # 512 TFLOPS of 989 on an H100

Good::

    speccheck bench gemm   # 742 TFLOPS of 989 on an H100
"""

from speccheck.rules.kernels._products import BFLOAT16, TERA, need_gpu, peak_of, shape
from speccheck.validator.evidence.measurement.device import MatrixProduct
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_SHARE = "KERN-004.gemm_share"


class Floor(Numbers):
    """The least share of the peak; the least dimension of a product that may fail."""

    gemm_share: float | None
    dimension_min: int


@rule(clause="KERN-004")
def matrix_products_slow(
    product: MatrixProduct, cluster: Cluster, profiles: GpuProfiles, limit: Floor
) -> Verdicts:
    """Judge one product of bf16 by the peak of its GPU."""
    if product.data_type.need() != BFLOAT16:
        return
    need_gpu(product)
    if limit.gemm_share is None:
        needed = f"a published share for {cluster.accelerator.need()}"
        raise MissingEvidence(needed, _SHARE)
    peak = peak_of(product, profiles.by_id(cluster.accelerator)).need()
    rate = product.flops_per_second
    value, wanted = rate.need() / TERA, limit.gemm_share * peak
    if value > peak:
        raise MissingEvidence(rate.name, "faster than the GPU can be")
    if value >= wanted:
        yield passed(at=rate, measured=value, required=wanted)
        return
    _need_size(product, limit.dimension_min)
    power = _power_share(product)
    wanted *= power
    if value >= wanted:
        yield passed(at=rate, measured=value, required=wanted)
        return
    lowered = f" at {power:.0%} of the default power" if power < 1 else ""
    yield fail(
        f"multiplies {shape(product)} at {value:,.0f} TFLOPS, {value / peak:.0%} of "
        f"{peak:,.0f}; required {limit.gemm_share:.0%}{lowered}, {wanted:,.0f} TFLOPS",
        at=rate,
        measured=value,
        required=wanted,
        cost="all ranks wait for this GPU in each step",
        action="ISOLATE",
    )


def _need_size(product: MatrixProduct, least: int) -> None:
    for size in (product.rows, product.columns, product.depth):
        if size.need() < least:
            raise MissingEvidence(size.name, f"too small to judge by: below {least:,}")


def _power_share(product: MatrixProduct) -> float:
    """Return the power limit in force as a share of the default, at most 1."""
    limit, default = product.power_limit_watts, product.power_limit_default_watts
    return min(1.0, limit.need() / default.need())
