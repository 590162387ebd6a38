"""Forms that the text of a variable must have, by name, and the tests of its value."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from speccheck.validator.evidence.nccl_text import integer_seen

# NVIDIA/nccl docs, NCCL_DEBUG_SUBSYS.
_SUBSYSTEMS = frozenset(
    {
        *("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC"),
        *("ALLOC_HOST", "CALL", "PROXY", "NVLS", "BOOTSTRAP", "REG", "PROFILE"),
        *("RAS", "DESTROY", "ALL"),
    }
)
_STREAMS = ("/dev/stdout", "/dev/stderr", "stdout", "stderr")
_FEWEST_LETTERS = 2  # NVIDIA/nccl src/misc/socket.cc: one letter counts as not set


def entries(text: str) -> list[str]:
    """The entries of a list, without its operators and without blanks."""
    listed = text.strip().removeprefix("^").removeprefix("=").split(",")
    return [one.strip() for one in listed]


def _distinct_entries(text: str) -> bool:
    """As PyTorch reads devices: what is no number ends the list, MIG and GPU ids not.

    Source: pytorch/pytorch torch/cuda/__init__.py (_parse_visible_devices).
    """
    found = entries(text)
    if not found[0].startswith(("GPU-", "MIG-")):
        ends = (at for at, one in enumerate(found) if not one.isdecimal())
        found = found[: next(ends, len(found))]
    return len(found) == len(set(found))


def _exclusion_of_loopback(text: str) -> bool:
    """A list that leaves something out leaves the loopback out as well."""
    is_exact = text.strip().startswith("^=")
    return not text.strip().startswith("^") or any(
        one == "lo" or (one == "l" and not is_exact) for one in entries(text)
    )


def _one_file_a_process(text: str) -> bool:
    return "%p" in text or text.strip().lower() in _STREAMS or "$" in text


def _prefixes_that_differ(text: str) -> bool:
    """No name without `=` is the beginning of others of the same kind: mlx5_1."""
    if text.strip().lstrip("^").startswith("="):
        return True
    names = [one.partition(":")[0] for one in entries(text)]
    return not any(one.endswith("_1") for one in names)


def _power_of_two(text: str) -> bool:
    number = integer_seen(text)
    return number is None or number <= 0 or number & (number - 1) == 0


def _address_range(text: str) -> bool:
    address, slash, length = text.strip().partition("/")
    plain = address.replace(":", "").replace(".", "")
    is_address = bool(plain) and all(one in "0123456789abcdefABCDEF" for one in plain)
    return bool(slash) and is_address and length.isdecimal()


def _two_letters(text: str) -> bool:
    return len(text) >= _FEWEST_LETTERS


def _no_blanks(text: str) -> bool:
    return not any(one.isspace() for one in text.strip())


def _written_out_path(text: str) -> bool:
    return not text.strip().startswith("~")


def _subsystems(text: str) -> bool:
    named = [one.removeprefix("^").upper() for one in entries(text)]
    return all(one in _SUBSYSTEMS for one in named if one)


def _address_and_port(text: str) -> bool:
    head, _, port = text.strip().rpartition(":")
    return bool(head) and port.isdecimal()


FORMS: Mapping[str, Callable[[str], bool]] = {
    "distinct_entries": _distinct_entries,
    "exclusion_of_loopback": _exclusion_of_loopback,
    "one_file_a_process": _one_file_a_process,
    "prefixes_that_differ": _prefixes_that_differ,
    "power_of_two": _power_of_two,
    "address_range": _address_range,
    "two_letters": _two_letters,
    "no_blanks": _no_blanks,
    "written_out_path": _written_out_path,
    "subsystems": _subsystems,
    "address_and_port": _address_and_port,
}


def _is(text: str, wanted: Sequence[str | int]) -> bool:
    number = integer_seen(text) or 0  # no number at the start is read as 0
    folded = text.strip().lower()
    return any(
        number == one if isinstance(one, int) else folded == one.lower()
        for one in wanted
    )


def _contains(text: str, parts: Sequence[str]) -> bool:
    folded = text.lower()
    return any(part.lower() in folded for part in parts)


def _above(text: str, limit: int) -> bool:
    number = integer_seen(text)
    return number is not None and number > limit


def _below(text: str, limit: int) -> bool:
    number = integer_seen(text)
    return number is not None and number < limit


def _lists(text: str, words: Sequence[str]) -> bool:
    return any(one.upper() in words for one in entries(text))


def _begins(text: str, starts: Sequence[str]) -> bool:
    return text.strip().lower().startswith(tuple(one.lower() for one in starts))


# Tests of one text by itself; those that look at other variables are the relation's.
TESTS: Mapping[str, Callable[[str, Any], bool]] = {
    "is": _is,
    "is_not": lambda text, values: not _is(text, values),
    "above": _above,
    "below": _below,
    "lists": _lists,
    "begins": _begins,
    "contains": _contains,
    "is_without": lambda text, parts: not _contains(text, parts),
    "malformed": lambda text, form: not FORMS[form](text),
    "set": lambda _text, _is_set: True,
}
