"""The degrees of a mesh as rules name them."""

from math import prod

from speccheck.validator.evidence.plan import Parallelism
from speccheck.validator.evidence.value import Value

Degree = tuple[str, Value[int]]


def model_parallel(parallelism: Parallelism) -> tuple[Degree, ...]:
    """Return the degrees that cut a replica of the model; Ulysses groups if known."""
    degrees = (
        ("tensor", parallelism.tensor_parallel_size),
        ("pipeline", parallelism.pipeline_parallel_size),
        ("context", parallelism.context_parallel_size),
    )
    if parallelism.ulysses_size.is_known:
        return (*degrees, ("Ulysses", parallelism.ulysses_size))
    return degrees


def known(degrees: tuple[Degree, ...]) -> tuple[Degree, ...]:
    """Return those whose value is known and cuts anything."""
    return tuple(degree for degree in degrees if degree[1].or_else(1) != 1)


def product(degrees: tuple[Degree, ...]) -> int:
    """Return the product of the known degrees."""
    return prod(degree.or_else(1) for _, degree in degrees)


def as_text(degrees: tuple[Degree, ...]) -> str:
    """Return the degrees such as `tensor 8 x pipeline 4 = 32`."""
    factors = " x ".join(f"{name} {degree.value}" for name, degree in degrees)
    return f"{factors} = {product(degrees):,}"


def values(degrees: tuple[Degree, ...]) -> list[Value[int]]:
    """Return the leaves, for the places of a verdict."""
    return [degree for _, degree in degrees]
