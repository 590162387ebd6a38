"""The parts of a node by their names, folded: `GPU 0-3, 6`."""

from collections.abc import Iterable, Sequence

_GPU = "GPU "
_OPEN = "-i N"  # as remedies name a GPU of any number


def folded_subjects(subjects: Iterable[str]) -> str:
    """The names in their order; those that end in a number share a beginning."""
    numbers: dict[str, list[int]] = {}
    for subject in dict.fromkeys(subjects):
        start, _, end = subject.rpartition(" ")
        if start and end.isdecimal():
            numbers.setdefault(start, []).append(int(end))
        else:
            numbers.setdefault(subject, [])
    return "; ".join(
        f"{start} {_ranges(found)}" if found else start
        for start, found in numbers.items()
    )


def with_numbers(text: str, subjects: Iterable[str]) -> str:
    """A command for a GPU (`-i N`) as one for these GPUs (`-i 3,4`)."""
    numbers = dict.fromkeys(
        one.removeprefix(_GPU) for one in subjects if one.startswith(_GPU)
    )
    return text.replace(_OPEN, f"-i {','.join(numbers)}") if numbers else text


def _ranges(numbers: Sequence[int]) -> str:
    """`0-3, 6`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(
        str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in found
    )
