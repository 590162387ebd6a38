"""Reads the log of the kernel: which events that matter it holds, and how often.

The kernel's own buffer is read first, without waiting for more; where it is closed to
this user, the files that the log service writes. Only what was logged since this start
counts: files hold earlier starts too, and a file that does not tell where one begins
is no evidence.
"""

import errno
import os
import re
from collections.abc import Iterable, Iterator

from speccheck.probes.raw_value import Absence, Sheet
from speccheck.probes.root import Root, absence_of
from speccheck.validator.evidence.node.kernel_lines import (
    KernelLine,
    events_of,
    line_of_buffer,
)

KINDS = ("kernel_log", "kernel_events")
_BUFFER = "/dev/kmsg"
_FILES = ("/var/log/kern.log", "/var/log/messages", "/var/log/syslog", "/var/log/dmesg")
_RECORD_BYTES = 8192  # a record of the buffer is never longer: kernel/printk
_MOST_RECORDS = 500_000
_MOST_EVENTS = 500
_STAMP = re.compile(r"(?:^|\bkernel: )(?:<\d+>)?\[\s*(\d{1,9}\.\d{6})\] (.*)")
_START = "Linux version "
_NO_START = "does not tell this start of the kernel from earlier ones"


def probe(root: Root, sheet: Sheet) -> None:
    """Put down how far the log reaches, and its events."""
    lines, source = _log(root)
    if isinstance(lines, Absence):
        for leaf in ("lines", "first_seconds", "last_seconds"):
            sheet.put("kernel_log", leaf, lines, source)
        sheet.listed("kernel_events", lines)
        return
    sheet.put("kernel_log", "lines", len(lines), source)
    absent = Absence("absent", source, "the log is empty")
    first, last = (lines[0], lines[-1]) if lines else (None, None)
    sheet.put("kernel_log", "first_seconds", first.seconds if first else absent, source)
    sheet.put("kernel_log", "last_seconds", last.seconds if last else absent, source)
    events = events_of(lines)
    if len(events) > _MOST_EVENTS:
        message = f"{len(events)} different events; a log of a healthy kernel has few"
        sheet.listed("kernel_events", Absence("failed", source, message))
        return
    for leaves in events:
        number = sheet.add("kernel_events")
        for leaf, value in leaves.items():
            absent = Absence("absent", source, "the line does not say")
            result = absent if value is None else value
            sheet.put_at("kernel_events", number, leaf, result, source)
    sheet.listed("kernel_events")


def _log(root: Root) -> tuple[list[KernelLine] | Absence, str]:
    """Return the lines since this start, and where they were read."""
    lines = _buffer(root)
    if not isinstance(lines, Absence):
        return lines, _BUFFER
    why, source = lines, _BUFFER
    for path in _FILES:
        text = root.tail(path)
        if isinstance(text, Absence):
            # What is refused is worth more to the user than what is not there.
            if why.status == "absent":
                why, source = text, path
            continue
        lines = lines_of_file(text, path)
        if not isinstance(lines, Absence):
            return lines, path
        why, source = lines, path
    return why, source


def _buffer(root: Root) -> list[KernelLine] | Absence:
    """Return the records `priority,number,microseconds,flags;text`.

    A copy has a file.
    """
    if not root.is_live:
        text = root.tail(_BUFFER)
        if isinstance(text, Absence):
            return text
        return lines_of_buffer(text.splitlines())
    try:
        number = os.open(_BUFFER, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return absence_of(_BUFFER, error)
    try:
        return lines_of_buffer(_records(number))
    except OSError as error:
        return absence_of(_BUFFER, error)
    finally:
        os.close(number)


def _records(number: int) -> Iterator[str]:
    for _ in range(_MOST_RECORDS):
        try:
            data = os.read(number, _RECORD_BYTES)
        except BlockingIOError:
            return  # all that there is has been read
        except OSError as error:
            if error.errno == errno.EPIPE:
                continue  # a record was overwritten meanwhile; the next one follows
            raise
        if not data:
            return
        yield data.decode("utf-8", errors="replace").partition("\n")[0]


def lines_of_buffer(records: Iterable[str]) -> list[KernelLine]:
    """Return the kernel's own lines; root may write others into its buffer."""
    lines = (line_of_buffer(record) for record in records)
    return [line for line in lines if line is not None]


def lines_of_file(text: str, path: str) -> list[KernelLine] | Absence:
    """Return the lines of the kernel after its last start in a file."""
    lines: list[KernelLine] = []
    knows_start = False
    for item in text.splitlines():
        matched = _STAMP.search(item)
        if matched is None:
            continue
        line = KernelLine(float(matched.group(1)), matched.group(2))
        if line.text.startswith(_START):
            lines, knows_start = [], True
        lines.append(line)
    return lines if knows_start else Absence("failed", path, _NO_START)
