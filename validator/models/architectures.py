"""Generations of data-centre GPUs that published readings tell apart."""

from typing import Literal

Architecture = Literal["ampere", "hopper", "blackwell"]

_ARCHITECTURES: dict[tuple[int, int], Architecture] = {
    (8, 0): "ampere",  # A100, A800, A30
    (9, 0): "hopper",  # H100, H200, H800, H20, GH200
    (10, 0): "blackwell",  # B200, GB200
    (10, 3): "blackwell",  # B300, GB300
}


def architecture_of(compute_capability: tuple[int, int]) -> Architecture | None:
    """The generation of a compute capability; None for one without readings."""
    return _ARCHITECTURES.get(compute_capability)
