"""A matrix product that was measured faster than its GPU can be.

Why it hurts: the clock was read before the GPU had finished, operations were counted
twice, or the peak is one with sparsity. Whatever the number is compared with, the
verdict is worth nothing.

What passes: rates within the dense peak of the type of GPU, and what its highest clock
adds.

Where it does not apply: nothing; types whose peak is not known are unknown.

Source: stas00/ml-engineering, accelerator tables.

Bad::

    speccheck bench gemm   # 1,480 TFLOPS of bf16 on an H100, which has 989

Good::

    speccheck bench gemm   # 742 TFLOPS of bf16
"""

from speccheck.rules.kernels._products import TERA, need_gpu, peak_of, shape
from speccheck.validator.evidence.measurement.device import MatrixProduct
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Most(Numbers):
    """The largest share of the peak."""

    most_share: float


@rule(clause="KERN-032")
def product_beyond_peak(
    product: MatrixProduct, cluster: Cluster, profiles: GpuProfiles, limit: Most
) -> Verdicts:
    """Hold one product to the peak of its GPU."""
    need_gpu(product)
    peak = peak_of(product, profiles.by_id(cluster.accelerator)).need()
    rate = product.flops_per_second
    value, most = rate.need() / TERA, limit.most_share * peak
    if value <= most:
        yield passed(at=rate, measured=value, required=most)
        return
    yield fail(
        f"a product of {shape(product)} in {product.data_type.need()} was measured at "
        f"{value:,.0f} TFLOPS; the dense peak of the type is {peak:,.0f} TFLOPS, at "
        f"its highest clock {most:,.0f}",
        at=rate,
        measured=value,
        required=most,
        cost="no verdict on this product is worth anything",
    )
