"""Amounts of memory, as people say them."""

_MEBIBYTE, _GIBIBYTE = 2**20, 2**30


def mebibytes(amount: int) -> str:
    """Bytes in binary units: `64 MiB`, `1 GiB`."""
    if amount % _GIBIBYTE == 0:
        return f"{amount // _GIBIBYTE:,} GiB"
    return f"{amount / _MEBIBYTE:,.4g} MiB"
