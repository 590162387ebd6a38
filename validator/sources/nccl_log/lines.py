"""Takes a text apart into what NCCL says in it, and who said it.

NCCL begins a line with `host:pid:tid [device] NCCL INFO` (NVIDIA/nccl src/debug.cc);
launchers and collectors of logs write before that: `[1,0]<stdout>:` of mpirun, `0: ` of
srun, `[rank0]:` of torchrun, times. The release alone is also written bare.
"""

from collections.abc import Iterator
from itertools import pairwise

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import line_span

# Level VERSION writes no more than this, and rank 0 writes it without its name.
VERSION = lazy_pattern(
    r"(?<![A-Z])NCCL version (\d+\.\d+\.\d+)\S*?"
    r"(?:(?:\+cuda| compiled with CUDA )([\d.]{1,12}))?\s*$"
)
_SAID = ("NCCL INFO ", "NCCL WARN ")
_WRITER = lazy_pattern(r":(\d{1,10}):(\d{1,10}) \[(-?\d{1,5})\] ?(?:\S{1,200} )?$")
_OF_HOSTS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-<>"
_LEFT_OUT = "[repeated "
_COLOUR = lazy_pattern(r"\x1b\[[0-9;]{0,20}m")
_DEVICE = lazy_pattern(r"\[(-?\d{1,5})\] ?$")
_MOST_BEFORE = 600  # letters of a line that may tell who writes it
_MOST_OF_LINE = 1000  # messages that share a line
_MOST_MESSAGE = 20_000  # letters that are read of it: a list of adapters is long


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
    """One message, and where the line stands on which it begins.

    stands_for_more: Ray leaves out lines that are alike, and says how many.
    """

    writer: Writer
    is_warning: bool
    text: str
    span: Span
    stands_for_more: bool = False


NOBODY = Writer()


def lines_of(log: str) -> Iterator[Line]:
    """All messages of NCCL, in their order; threads may share a line."""
    writers = _Writers()
    for number, whole in enumerate(log.splitlines(), 1):
        if "NCCL " not in whole:
            continue
        line = _COLOUR.sub("", whole) if "\x1b" in whole else whole
        starts = _starts(line)
        if not starts:
            if VERSION.search(line):
                span = line_span(number, whole)
                yield Line(NOBODY, is_warning=False, text=line.strip(), span=span)
            continue
        span = line_span(number, whole)
        begin = 0
        for (start, is_warning), (end, _) in pairwise([*starts, (len(line), False)]):
            writer, _ = writers.of(line[max(begin, start - _MOST_BEFORE) : start])
            begin = start + len(_SAID[0])
            said = line[begin : min(end, begin + _MOST_MESSAGE)]
            if end < len(line):
                _, length = writers.of(said[-_MOST_BEFORE:])
                said = said[: len(said) - length]
            text, *left_out = said.split(_LEFT_OUT, 1)
            yield Line(writer, is_warning, text.strip(), span, bool(left_out))


def _starts(line: str) -> list[tuple[int, bool]]:
    """Where the messages of a line begin, and which of them are warnings."""
    found: list[tuple[int, bool]] = []
    at = line.find("NCCL ")
    while at >= 0 and len(found) < _MOST_OF_LINE:
        if line.startswith(_SAID, at):
            found.append((at, line.startswith(_SAID[1], at)))
        at = line.find("NCCL ", at + 1)
    return found


class _Writers:
    """Who wrote what stands behind a text, and how much of the text says so."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Writer, int]] = {}
        self._hosts: dict[tuple[str, str], str] = {}

    def of(self, head: str) -> tuple[Writer, int]:
        found = self._known.get(head)
        if found is None:
            found = self._known[head] = self._read(head)
        return found

    def _read(self, head: str) -> tuple[Writer, int]:
        match = _WRITER.search(head)
        if match is None:
            device = _DEVICE.search(head)
            if device is None:
                return NOBODY, 0
            return Writer(device=int(device[1])), len(device[0])
        before = head[: match.start()]
        host = before[len(before.rstrip(_OF_HOSTS)) :]
        # Where a message broke into another, its end stands before the name.
        known = self._hosts.setdefault((match[1], match[2]), host)
        if known and host.endswith(known):
            host = known
        writer = Writer(host, int(match[1]), int(match[2]), int(match[3]))
        return writer, len(match[0]) + len(host)
