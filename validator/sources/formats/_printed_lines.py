"""Lines of a log of several processes, without what launchers put before them.

Each line knows the process that it names: the lines of several processes mix, and only
together with the others of its own process does a line mean something.
"""

from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import line_span

# Numbers of lines as tools print them; `inf`, `nan` and `N/A` are no values.
NUMBER = r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf|nan)"

_TIME = (
    r"\[?(?:\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}"  # mpirun --timestamp-output
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[-+]\d\d:?\d\d)?)"
    r"\]?:? ?"
)
_PROCESS = (
    r"\[(?:[\w.@-]+@)?\d+(?:,\d+)+\](?:<std\w+>)?: ?"  # mpirun --tag-output
    r"|\[1,mpirank:\d+,[\w.-]+\]<std\w+>: ?"  # mpirun of SageMaker
    r"|\[pod/[^\]\s]+\] ?"  # kubectl logs --prefix
    r"| {0,8}\d{1,7}: ?(?!\d)"  # srun --label
    r"|\[\d{1,7}\] ?(?=#| )"  # mpiexec -prepend-rank
    r"|[A-Za-z][\w.-]*: (?=#| *\d)"  # pdsh
)
_PREFIX = lazy_pattern(rf"(?P<time>{_TIME})|(?P<process>{_PROCESS})")
_MOST_PREFIXES = 3
_MOST = 1e18  # of bytes, microseconds and their rates


class Line(Record):
    """One line of a log; label: of the process that printed it, empty if not told."""

    number: int
    whole: str
    text: str
    label: str
    is_cut: bool = False  # the log ends in it, without an end of line

    @property
    def span(self) -> Span:
        """Where it stands."""
        return line_span(self.number, self.whole)


def lines_of(text: str) -> Iterator[Line]:
    """The lines of a log in their order."""
    lines = text.splitlines()
    cut = 0 if text.endswith(("\n", "\r")) else len(lines)
    for number, whole in enumerate(lines, 1):
        at, label = 0, ""
        for _ in range(_MOST_PREFIXES):
            found = _PREFIX.match(whole, at)
            if found is None:
                break
            at = found.end()
            label = (found["process"] or "").strip() or label
        yield Line(number, whole, whole[at:], label, number == cut)


def finite(text: str) -> float | None:
    """A number that a tool has printed; None for one that no measurement can be."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < _MOST else None


def number_of(found: object) -> float | None:
    """A number of a document, in the same way; `"nan"` and true are none."""
    if type(found) not in {int, float} or not isinstance(found, int | float):
        return None
    return float(found) if abs(found) < _MOST else None


def absent(message: str, source: str) -> Mapping[str, str]:
    """A leaf of which a tool says nothing, and why."""
    return {"status": "absent", "message": message, "source": source}
