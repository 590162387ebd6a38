"""Takes a text apart into what NCCL says in it, and who said it.

NCCL begins a line with `host:pid:tid [device] NCCL INFO` (NVIDIA/nccl src/debug.cc);
launchers and collectors of logs write before that: `[1,0]<stdout>:` of mpirun, `0: ` of
srun, `[rank0]:` of torchrun, times. The release alone is also written bare.
"""

from collections.abc import Iterator

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import line_span

# Level VERSION writes no more than this, and rank 0 writes it without its name.
VERSION = lazy_pattern(
    r"(?<![A-Za-z])NCCL version (\d+\.\d+\.\d+)\S*?(?:\+cuda(\S+))?\s*$"
)
_SAID = ("NCCL INFO ", "NCCL WARN ")
_WRITER = lazy_pattern(r":(\d{1,10}):(\d{1,10}) \[(-?\d{1,5})\] ?(?:\S{1,200} )?$")
_OF_HOSTS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-<>"
_DEVICE = lazy_pattern(r"\[(-?\d{1,5})\] ?$")
_MOST_BEFORE = 600  # letters of a line that may tell who writes it
_MOST_MESSAGE = 20_000  # a list of adapters; longer lines are none of NCCL


class Writer(Record):
    """The thread that wrote a line; a text without names has one process for all."""

    host: str = ""
    process: int = 0
    thread: int = 0
    device: int = -1

    @property
    def of_process(self) -> tuple[str, int]:
        """What all threads of the process share."""
        return self.host, self.process


class Line(Record):
    """One message, and where the line stands on which it begins."""

    writer: Writer
    is_warning: bool
    text: str
    span: Span


NOBODY = Writer()


def lines_of(text: str) -> Iterator[Line]:
    """All messages of NCCL, in their order; threads may share a line."""
    known: dict[str, Writer] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if "NCCL " not in line:
            continue
        starts = _starts(line)
        if not starts:
            if VERSION.search(line):
                yield Line(NOBODY, False, line.strip(), line_span(number, line))  # noqa: FBT003
            continue
        span = line_span(number, line)
        ends = [start for start, _ in starts[1:]] + [len(line)]
        before = 0
        for (start, is_warning), end in zip(starts, ends, strict=True):
            head = line[max(before, start - _MOST_BEFORE) : start]
            writer = known.get(head)
            if writer is None:
                writer = known[head] = _writer(head)
            said = line[start + len(_SAID[0]) : end]
            if end < len(line):
                said = _without_writer(said)
            if len(said) <= _MOST_MESSAGE:
                yield Line(writer, is_warning, said.strip(), span)
            before = start


def _starts(line: str) -> list[tuple[int, bool]]:
    """Where the messages of a line begin, and which of them are warnings."""
    found: list[tuple[int, bool]] = []
    at = line.find("NCCL ")
    while at >= 0:
        if line.startswith(_SAID, at):
            found.append((at, line.startswith(_SAID[1], at)))
        at = line.find("NCCL ", at + 1)
    return found


def _writer(head: str) -> Writer:
    match = _WRITER.search(head)
    if match is not None:
        host = _host(head[: match.start()])
        return Writer(host, int(match[1]), int(match[2]), int(match[3]))
    device = _DEVICE.search(head)
    return Writer(device=int(device[1])) if device else NOBODY


def _without_writer(said: str) -> str:
    """A message that another thread's broke into, without the other's name."""
    end = said[-_MOST_BEFORE:]
    match = _WRITER.search(end)
    if match is None:
        return said
    host = _host(end[: match.start()])
    return said[: len(said) - len(match[0]) - len(host)]


def _host(before: str) -> str:
    """The name that a text ends with."""
    return before[len(before.rstrip(_OF_HOSTS)) :]
