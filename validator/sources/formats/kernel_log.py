"""Logs of the kernel as people paste them: dmesg, journalctl, syslog, pstore, kmsg.

    [   12.345678] NVRM: Xid (PCI:0000:1b:00): 79, ...          dmesg
    [Tue Mar  4 10:24:12 2025] NVRM: ...                        dmesg -T
    kern  :warn  : 2025-03-04T10:24:12,283302+00:00 NVRM: ...   dmesg -x, iso
    Mar  4 10:24:12 node7 kernel: [   12.345678] NVRM: ...      syslog, journalctl
    2025-03-04T10:24:12.283302+00:00 node7 kernel: NVRM: ...    journalctl -o short-iso
    6,3973,227996636,-;NVRM: ...                                /dev/kmsg
    [Mar 04 2025 10:24:12] [ERROR] [tid 18] detected ...        fabricmanager.log

Only a log that shows the start of the kernel tells how far back it reaches: an excerpt
can fail, and is unknown where it shows nothing.
"""

import datetime as dt
from collections.abc import Iterator

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.node.kernel_lines import (
    KernelLine,
    event_of,
    events_of,
    line_of_buffer,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import Capture, line_span
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_SINCE_START = lazy_pattern(
    r"(?:<\d+>)?\[\s*(\d{1,9}\.\d{6})\](?:\[[ CT]\s*\d+\])? ?(.*)"
)
_LEVEL = lazy_pattern(r"\w+\s*:\w+\s*: ")  # facility and level, of dmesg -x
_DATED = lazy_pattern(
    r"\[?((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s+\w{3}\s+\d+ [\d:]{8} \d{4})\]? +(.*)"
)
_ISO = lazy_pattern(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)? (.*)"
)
_MONTHLY = lazy_pattern(r"([A-Z][a-z]{2})\s+(\d{1,2}) (\d\d:\d\d:\d\d)(?:\.\d+)? (.*)")
_TALOS = lazy_pattern(
    r"(\S+): kern: \w+: \[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z?\]: (.*)"
)
_ISO_FORM = "%Y-%m-%d %H:%M:%S"
_FABRIC = lazy_pattern(r"\[(\w{3} \d\d \d{4} [\d:]{8})\] (\[\w+\] \[tid \d+\] .*)")
# host and program, as the log service writes them before the text
_SERVICE = lazy_pattern(r"(\S+) (kernel:|[A-Za-z0-9_.\-/()@]+\[\d+\]:) ?(.*)")
_OF_KERNEL = "kernel:"
_OWN = ("NVRM: ", "SXid (", "nvidia-nvswitch", "nvidia-peermem ")
_START = "Linux version "
_KIND = "kernel_events"
_MOST_EVENTS = 500
_LOOKED_AT = 200  # lines by which a text is known
_LEAST_SHARE = 0.5
_SURE, _BARE = 0.9, 0.7
_NO_YEAR = "2000"  # of stamps without one: only differences count


class _Line(Record):
    """A line in any of the forms: its text, its host, and what tells its time."""

    number: int
    text: str
    host: str = ""
    seconds: float | None = None
    moment: float | None = None


def _parsed(number: int, line: str) -> _Line | None:
    """Return a line of a log; None for one in none of its forms."""
    buffered = line_of_buffer(line)
    if buffered is not None:
        return _Line(number, buffered.text, seconds=buffered.seconds)
    level = _LEVEL.match(line)
    line = line[level.end() :] if level else line
    if match := _SINCE_START.match(line):
        return _Line(number, match[2], seconds=float(match[1]))
    return _dated(number, line)


def _dated(number: int, line: str) -> _Line | None:
    """Return a line with a date before it."""
    if match := _TALOS.match(line):
        stamp = match[2].replace("T", " ")
        return _Line(number, match[3], match[1], None, _moment(stamp, _ISO_FORM))
    if match := _FABRIC.match(line):
        return _Line(number, match[2], moment=_moment(match[1], "%b %d %Y %H:%M:%S"))
    if match := _DATED.match(line):
        words = " ".join(match[1].split()[1:])
        return _Line(number, match[2], moment=_moment(words, "%b %d %H:%M:%S %Y"))
    if match := _ISO.match(line):
        stamp = match[1].replace("T", " ")
        return _serviced(number, match[2], _moment(stamp, _ISO_FORM))
    if match := _MONTHLY.match(line):
        stamp = f"{match[1]} {match[2]} {_NO_YEAR} {match[3]}"
        return _serviced(number, match[4], _moment(stamp, "%b %d %Y %H:%M:%S"))
    return None


def _moment(text: str, form: str) -> float | None:
    try:
        moment = dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    return moment.timestamp()


def _serviced(number: int, text: str, moment: float | None) -> _Line | None:
    """Return a line without what the log service puts before it."""
    if moment is None:
        return None
    match = _SERVICE.match(text)
    if match is None or text.startswith(_OWN):
        return _Line(number, text, moment=moment)
    host, program, rest = match.groups()
    if program != _OF_KERNEL:
        return _Line(number, f"{program} {rest}", host, moment=moment)
    inner = _SINCE_START.match(rest)
    if inner:
        return _Line(number, inner[2], host, float(inner[1]), moment)
    return _Line(number, rest, host, moment=moment)


def _is_own(line: str) -> bool:
    """Return whether a line without a stamp is the driver's: pasted without it."""
    return line.lstrip().startswith(_OWN) and event_of(line) is not None


def _detect(source: Source) -> float:
    stamped, own, seen = 0, 0, 0
    for line in source.text.splitlines():
        if not line.strip():
            continue
        seen += 1
        if _parsed(1, line) is not None:
            stamped += 1
        elif _is_own(line):
            own += 1
        if seen >= _LOOKED_AT:
            break
    if stamped and stamped >= _LEAST_SHARE * seen:
        return _SURE
    return _BARE if own and own + stamped >= _LEAST_SHARE * seen else 0.0


def _lines(source: Source) -> Iterator[_Line]:
    for number, line in enumerate(source.text.splitlines(), 1):
        parsed = _parsed(number, line)
        if parsed is not None:
            yield parsed
        elif line.strip():
            yield _Line(number, line.strip())


def _read(source: Source) -> Reading:
    """Return the events since the last start of the kernel that the log shows.

    Raises ReadError for the lines of two hosts in one text.
    """
    lines: list[_Line] = []
    knows_start = False
    for line in _lines(source):
        if line.text.startswith(_START):
            lines, knows_start = [], True
        lines.append(line)
    _demand_one_host(source, lines)
    capture = Capture(source.name, "the kernel log")
    head = line_span(1, source.line(1)) if source.text.strip() else Span(1, 1, 1)
    capture.put("kernel_log", "lines", len(lines), head)
    seconds = [line.seconds for line in lines if line.seconds is not None]
    for leaf, at in (("first_seconds", 0), ("last_seconds", -1)):
        absent = {"status": "absent", "message": "an excerpt: it shows no start"}
        capture.put(
            "kernel_log", leaf, seconds[at] if knows_start and seconds else absent, head
        )
    capture.listed(_KIND, head)
    _put_events(capture, source, lines)
    _put_driver(capture, source, lines)
    return node_reading(capture.node(), FactSheet(source.name))


def _demand_one_host(source: Source, lines: list[_Line]) -> None:
    first: _Line | None = None
    for line in lines:
        if not line.host:
            continue
        first = first or line
        if line.host != first.host:
            problem = (
                f"a log of two hosts: {first.host} on line {first.number}, "
                f"{line.host} on line {line.number}"
            )
            raise ReadError(
                source.name, "syntax", problem, "give a file a host", (line.number, 1)
            )


def _put_events(capture: Capture, source: Source, lines: list[_Line]) -> None:
    by_text: dict[str, int] = {}
    for line in lines:
        by_text[line.text.strip()[:_KEPT]] = line.number
    begun = next((line.moment for line in lines if line.moment is not None), 0.0)
    kept = [
        KernelLine(
            line.seconds
            if line.seconds is not None
            else (line.moment or begun) - begun,
            line.text,
        )
        for line in lines
    ]
    events = events_of(kept)
    for leaves in events[:_MOST_EVENTS]:
        text = str(leaves["text"])
        number = by_text.get(text[:_KEPT], 1)
        span = line_span(number, source.line(number))
        part = _KIND, capture.add(_KIND, span)
        for leaf, value in leaves.items():
            if value is not None:
                capture.put_at(part, leaf, value, span)
    if len(events) > _MOST_EVENTS:
        capture.partial(
            _KIND, f"{len(events)} different events; {_MOST_EVENTS} are kept"
        )


_KEPT = 120  # characters by which the line of an event is found again
_DRIVER = lazy_pattern(r"NVRM: loading NVIDIA UNIX .*?(\d{3}\.\d+(?:\.\d+)?)\s")


def _put_driver(capture: Capture, source: Source, lines: list[_Line]) -> None:
    for line in lines:
        match = _DRIVER.match(line.text)
        if match:
            span = line_span(line.number, source.line(line.number))
            capture.put("driver", "version", match[1], span)


READER = CaptureReader(
    "kernel-log",
    (
        "NVRM",
        "SXid",
        "NVSwitch",
        " kernel:",
        ",-;",
        "nvidia",
        "mlx5_core",
        _START,
        "systemd",
        "segfault",
        "] usb ",
    ),
    _detect,
    _read,
)
