"""What ranks send, and what must then arrive: exact in every type of data.

A value depends on rank and element. It is a small whole number, and so is every sum of
such values over the ranks: bfloat16 holds whole numbers up to 256 exactly, whatever the
order of additions. So results are compared for equality.

Values repeat over elements with a prime period, so that a block that lands in another
one's place is seen, and buffers are written and compared tile by tile.
"""

from typing import Any

# Of data that is only moved: the largest prime below 256.
_MOVED_PERIOD = 251
_RANK_STEP = 37
# Of data that is summed: at most 32 ranks have a part in an element, each up to 7.
_SUMMED_PERIOD = 7
_MOST_PARTS = 32
_TILE_ELEMENTS = 2**20


def moved(rank: int) -> list[int]:
    """Return the values of a rank whose data is only moved, over one period."""
    return [
        (element + _RANK_STEP * rank) % _MOVED_PERIOD
        for element in range(_MOVED_PERIOD)
    ]


def summed(rank: int, ranks: int) -> list[int]:
    """Return the values of a rank whose data is added to that of the others."""
    stride = _stride(ranks)
    return [
        _part(element, rank) if (element + rank) % stride == 0 else 0
        for element in range(_SUMMED_PERIOD * stride)
    ]


def sums(ranks: int) -> list[int]:
    """Return the sums of these values over all ranks."""
    stride = _stride(ranks)
    return [
        sum(_part(element, rank) for rank in range(-element % stride, ranks, stride))
        for element in range(_SUMMED_PERIOD * stride)
    ]


def _stride(ranks: int) -> int:
    return -(-ranks // _MOST_PARTS)


def _part(element: int, rank: int) -> int:
    return 1 + (element + 3 * rank) % _SUMMED_PERIOD


def write(torch: Any, buffer: Any, values: list[int]) -> None:  # noqa: ANN401
    """Fill a buffer with values that repeat."""
    tile = _tile(torch, buffer, values, 0)
    for chunk in buffer.split(len(tile)):
        chunk.copy_(tile[: len(chunk)])


def differing(torch: Any, buffer: Any, values: list[int], first: int = 0) -> int:  # noqa: ANN401
    """Return how many elements are wrong; `first` is the number of the first."""
    tile = _tile(torch, buffer, values, first)
    wrong = [(chunk != tile[: len(chunk)]).sum() for chunk in buffer.split(len(tile))]
    return int(torch.stack(wrong).sum().item()) if wrong else 0


def _tile(torch: Any, buffer: Any, values: list[int], first: int) -> Any:  # noqa: ANN401
    """Return as many whole periods as are handled at a time, from that element on."""
    first %= len(values)
    period = torch.tensor(values[first:] + values[:first], dtype=torch.float32)
    wanted = min(len(buffer), _TILE_ELEMENTS)
    times = max(1, -(-wanted // len(values)))
    return period.to(buffer.dtype).to(buffer.device).repeat(times)
