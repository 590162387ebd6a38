"""Units of metrics: the spellings that logs use, and the way to that of the dictionary.

Units as of UCUM, as OpenTelemetry has them.
"""

_SCALES: dict[str, tuple[str, float]] = {
    "1": ("1", 1.0),
    "%": ("1", 0.01),
    "percent": ("1", 0.01),
    "ratio": ("1", 1.0),
    "s": ("s", 1.0),
    "seconds": ("s", 1.0),
    "ms": ("s", 1e-3),
    "milliseconds": ("s", 1e-3),
    "us": ("s", 1e-6),
    "ns": ("s", 1e-9),
    "By": ("By", 1.0),
    "B": ("By", 1.0),
    "bytes": ("By", 1.0),
    "KiB": ("By", 2.0**10),
    "MiB": ("By", 2.0**20),
    "GiB": ("By", 2.0**30),
    "kB": ("By", 1e3),
    "MB": ("By", 1e6),
    "GB": ("By", 1e9),
    "By/s": ("By/s", 1.0),
    "B/s": ("By/s", 1.0),
    "MiB/s": ("By/s", 2.0**20),
    "GB/s": ("By/s", 1e9),
    "W": ("W", 1.0),
    "watts": ("W", 1.0),
    "mW": ("W", 1e-3),
    "J": ("J", 1.0),
    "joules": ("J", 1.0),
    "mJ": ("J", 1e-3),
    "Cel": ("Cel", 1.0),
    "C": ("Cel", 1.0),
    "celsius": ("Cel", 1.0),
    "MHz": ("MHz", 1.0),
    "GHz": ("MHz", 1e3),
    "TFLOP/s": ("TFLOP/s", 1.0),
    "TFLOPS": ("TFLOP/s", 1.0),
}


def factor(told: str, wanted: str) -> float | None:
    """What a value in one unit is to be multiplied with; None for another quantity."""
    if told == wanted:
        return 1.0
    left, right = _SCALES.get(told), _SCALES.get(wanted)
    if left is None or right is None or left[0] != right[0]:
        return None
    return left[1] / right[1]
