"""What rules on measured matrix products share."""

from speccheck.validator.evidence.measurement.device import MatrixProduct
from speccheck.validator.evidence.node.profile import GpuProfile
from speccheck.validator.evidence.value import MissingEvidence, Value

BFLOAT16 = "bfloat16"
TERA = 1e12


def peak_of(product: MatrixProduct, profile: GpuProfile) -> Value[float]:
    """Return the dense peak for the type of the product, in 1e12 operations a second.

    Raises MissingEvidence for a type whose peak the catalogue does not have.
    """
    kind = product.data_type.need()
    if kind == BFLOAT16:
        return profile.bfloat16_teraflops
    if kind == "float16":
        return profile.float16_teraflops
    if kind.startswith("float8_"):
        return profile.float8_teraflops
    raise MissingEvidence(product.data_type.name, f"the peak of {kind} is not known")


def need_gpu(product: MatrixProduct) -> None:
    """Raise MissingEvidence for a product that may be none of a GPU."""
    if not product.gpu_index.is_known:
        product.gpu.need()


def shape(product: MatrixProduct) -> str:
    """Return the rows, columns and depth, as people write them."""
    sizes = product.rows, product.columns, product.depth
    known = [str(size.value) for size in sizes if size.is_known]
    return " x ".join(known) or "unknown size"
