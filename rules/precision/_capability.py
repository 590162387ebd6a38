"""Compute capabilities as clauses write them, to compare with those of a GPU."""


def capability(number: float) -> tuple[int, int]:
    """Return 8.9 as (8, 9), the form in which evidence holds a compute capability."""
    major, _, minor = f"{number:.1f}".partition(".")
    return int(major), int(minor)


def dotted(capability_of_gpu: tuple[int, int]) -> str:
    """Return (8, 9) as `8.9`."""
    major, minor = capability_of_gpu
    return f"{major}.{minor}"
