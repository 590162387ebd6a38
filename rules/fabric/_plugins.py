"""Which library NCCL loads for a plugin's name."""

from collections.abc import Iterable


def library_found(wanted: str, part: str, found: Iterable[str | None]) -> bool:
    """Whether one of the libraries is what NCCL looks for.

    It tries the value as a file, and as the ending of libnccl-PART-VALUE.so
    (NVIDIA/nccl src/plugin/plugin_open.cc).
    """
    name = wanted.strip().rpartition("/")[2]
    names = {name, f"libnccl-{part}-{name}.so"}
    return any((one or "").rpartition("/")[2] in names for one in found)
