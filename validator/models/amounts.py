"""Amounts as people say them: bytes, parameters."""

_MEBIBYTE, _GIBIBYTE = 2**20, 2**30


def mebibytes(amount: int) -> str:
    """Bytes in binary units: `64 MiB`, `1 GiB`, `23.55 GiB`."""
    if amount % _GIBIBYTE == 0:
        return f"{amount // _GIBIBYTE:,} GiB"
    if amount >= _GIBIBYTE:
        return f"{amount / _GIBIBYTE:,.2f} GiB"
    return f"{amount / _MEBIBYTE:,.4g} MiB"


def gigabytes(amount: float) -> str:
    """Bytes as people read them, in GB of 1e9 bytes."""
    size = amount / 1e9
    return f"{size:,.0f} GB" if size >= 10 else f"{size:,.1f} GB"  # noqa: PLR2004


def billions(count: float) -> str:
    """A number of parameters as people read it."""
    return f"{count / 1e9:,.1f} billion"
