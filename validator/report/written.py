"""Values of a plan as people write them."""

_EXACT = 2**53  # floats beyond it are no exact whole numbers


def written(value: object) -> str:
    """A value as people write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        value = int(value)
    if isinstance(value, int) and abs(value) >= 10_000:  # noqa: PLR2004 - readable
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        between = "." if all(isinstance(one, int) for one in value) else ", "
        return between.join(map(written, value))
    return str(value)
