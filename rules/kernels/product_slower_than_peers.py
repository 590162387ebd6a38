"""A GPU that multiplies slower than the other GPUs of its node.

Why it hurts: it may hold every floor and is still the straggler: all ranks wait for it
in each step.

What passes: GPUs near the median of those that computed the same product.

Where it does not apply: products that fewer than three GPUs computed.

Source: microsoft/superbenchmark; Azure/ai-infrastructure-on-azure; the distances of the
clause.

Bad::

    speccheck bench gemm   # 742  739  741  655 TFLOPS

Good::

    speccheck bench gemm   # 742  739  741  738 TFLOPS
"""

from speccheck.rules.kernels._products import TERA, shape
from speccheck.validator.evidence.measurement.device import (
    MatrixProduct,
    MatrixProducts,
)
from speccheck.validator.models.peers import peers_of
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Distance(Numbers):
    """How far below its peers a GPU may be."""

    deviations: float
    below_median: float


@rule(clause="KERN-030", confidence="calibrated")
def product_slower_than_peers(
    product: MatrixProduct, products: MatrixProducts, limit: Distance
) -> Verdicts:
    """Compare one product with the same of the other GPUs."""
    alike = _same(product)
    rates = {
        matrix_product.gpu_index.need(): matrix_product.flops_per_second.need()
        for matrix_product in products.each()
        if _same(matrix_product) == alike
    }
    if not list(rates)[2:]:
        return
    rate = product.flops_per_second
    usual = peers_of(list(rates.values()), limit.deviations, limit.below_median)
    value = rate.need()
    if value >= usual.least:
        yield passed(at=rate, measured=value / TERA, required=usual.least / TERA)
        return
    yield fail(
        f"multiplies {shape(product)} at {value / TERA:,.0f} TFLOPS, "
        f"{1 - usual.share(value):.0%} below the median of its peers, "
        f"{usual.median / TERA:,.0f} TFLOPS; it should be above "
        f"{usual.least / TERA:,.0f} TFLOPS",
        at=rate,
        measured=value / TERA,
        required=usual.least / TERA,
        action="MONITOR",
    )


def _same(product: MatrixProduct) -> tuple[object, ...]:
    """Return what two products must share to be compared."""
    sizes = product.rows, product.columns, product.depth
    numbers = (product.gpu, product.data_type, *sizes)
    return tuple(value.need() for value in numbers)
