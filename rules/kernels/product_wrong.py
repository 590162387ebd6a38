"""A matrix product with wrong values.

Why it hurts: a GPU that computes wrong values ruins a run without any message: losses
rise or rest where they are, and weights are lost back to an unknown step.

What passes: products that were compared with the same in higher precision, and agreed.

Where it does not apply: nothing; a product that was not compared is unknown.

Source: oracle-quickstart/oci-hpc; NVIDIA/DCGM.

Bad::

    speccheck bench gemm   # 3 of 32,768 compared values are wrong on GPU 5

Good::

    speccheck bench gemm   # all compared values are right
"""

from speccheck.rules.kernels._products import need_gpu, shape
from speccheck.validator.evidence.measurement.device import MatrixProduct
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Most(Numbers):
    """The most values of a matrix product that may be wrong."""

    wrong_max: int


@rule(clause="KERN-031")
def product_wrong(product: MatrixProduct, limit: Most) -> Verdicts:
    """Judge how many values of one product are wrong."""
    if not product.is_compared.need():
        raise MissingEvidence(product.wrong_values.name, "nothing was compared")
    wrong = product.wrong_values.need()
    if wrong <= limit.wrong_max:
        need_gpu(product)
        yield passed(at=product.wrong_values, measured=wrong, required=limit.wrong_max)
        return
    yield fail(
        f"{wrong:,} values of a product of {shape(product)} in "
        f"{product.data_type.or_else('an unknown type')} are wrong; required "
        f"{limit.wrong_max}",
        at=product.wrong_values,
        measured=wrong,
        required=limit.wrong_max,
        cost="weights and losses that this GPU computes cannot be relied on",
        action="ISOLATE",
    )
