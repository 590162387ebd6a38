"""Hostfiles of mpirun and deepspeed: the machines of a job, and the ranks on each.

Sources: Open MPI docs/man-openmpi/man1/mpirun.1.rst (hostfile: `name slots=N
max_slots=M`), the Hydra launcher of MPICH (machinefile: `name:N`), deepspeed
launcher/runner.py (fetch_hostfile, which takes `name slots=N` alone).
"""

import re
from collections.abc import Iterator

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_HOST = r"(?=[A-Za-z0-9])[\w.-]{1,253}"
_LINE = lazy_pattern(
    rf"(?P<name>{_HOST})(?:(?P<of_hydra>:\d{{1,9}})|(?:[ \t]+\w+=\d{{1,9}})*)[ \t]*$"
)
_SLOTS = lazy_pattern(r"\bslots=(\d{1,9})\b")
_FEW = 8  # lines that show whether a text is a hostfile


class ListedHost(Record):
    """A machine of a hostfile; without a number, the ranks on it are not stated."""

    name: str
    slots: int | None
    span: Span


def hosts_of(text: str) -> tuple[ListedHost, ...]:
    """Return the machines of a hostfile, each once; empty for any other text."""
    hosts: dict[str, ListedHost] = {}
    for number, line, match in _lines(text):
        if match is None:
            return ()
        slots = _SLOTS.search(line)
        written = slots[1] if slots is not None else (match["of_hydra"] or "")[1:]
        host = ListedHost(
            match["name"],
            int(written) if written else None,
            Span(number, 1, max(1, len(line.rstrip()))),
        )
        before = hosts.get(host.name)
        if before is not None and before.slots is not None and host.slots is not None:
            host = before._replace(slots=before.slots + host.slots)
        hosts[host.name] = host
    return (*hosts.values(),)


def _lines(text: str) -> Iterator[tuple[int, str, re.Match[str] | None]]:
    """Yield the lines that say something, with what they hold of a machine."""
    for number, written in enumerate(text.splitlines(), 1):
        line = written.partition("#")[0].rstrip()
        if line.strip():
            yield number, line, _LINE.match(line.strip())


def host_places(file: str, hosts: tuple[ListedHost, ...]) -> tuple[Place, ...]:
    """Return where the machines stand: the last line, behind which none is left."""
    return tuple(Place(file, host.name, span=host.span) for host in hosts[-1:])


def _detect(source: Source) -> float:
    """Recognise it by a number of slots on each of its first lines."""
    first = [
        (line, match)
        for (_, line, match), _ in zip(_lines(source.text), range(_FEW), strict=False)
    ]
    if not first or not all(match is not None for _, match in first):
        return 0.0
    return 0.8 if all(_SLOTS.search(line) for line, _ in first) else 0.0


def _read(source: Source) -> Reading:
    """Return nodes and ranks a node, which a launcher takes unless it is given fewer.

    They hold as defaults: `--num_nodes` and `-np` choose some of the machines.
    """
    sheet = FactSheet(source.name)
    hosts = hosts_of(source.text)
    if hosts:
        note = f"{len(hosts)} hosts in {source.name.rpartition('/')[2]}"
        sheet.default("cluster.nodes", len(hosts), note)
        counts = {host.slots for host in hosts}
        each = counts.pop() if len(counts) == 1 else None
        if each:
            sheet.default("cluster.gpus_per_node", each, f"slots={each} on each host")
    return Reading(sheet)


READER = CaptureReader("hostfile", ("slots=",), _detect, _read, role="launcher")
