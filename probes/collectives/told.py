"""How rank 0 tells whoever started it what it has measured: line by line."""

import json
import os
from collections.abc import Callable

from speccheck.probes.collectives.launch import TELLING, launch
from speccheck.probes.collectives.rank import RankEnding
from speccheck.probes.collectives.results import RUNNING
from speccheck.validator.evidence.record import Record


class MeasuredCollective(Record):
    """The snapshot as text, empty where nothing was measured, and how it ended."""

    text: str
    ending: RankEnding


UNDER_WAY = RankEnding("fault", RUNNING)


def teller() -> Callable[[MeasuredCollective], None] | None:
    """Return what reports to the starter of this rank.

    None under another's launcher.
    """
    number = os.environ.get(TELLING, "")
    if not number.isdecimal():
        return None
    pipe = int(number)

    def tell(measured: MeasuredCollective) -> None:
        line = json.dumps(measured).encode() + b"\n"
        while line:
            line = line[os.write(pipe, line) :]

    return tell


def measured_here(
    words: list[str], ranks: int, keep: Callable[[str], None]
) -> MeasuredCollective:
    """Measure among ranks of this machine that are started for it; keep: as it goes."""
    latest = MeasuredCollective("", UNDER_WAY)

    def hear(line: bytes) -> None:
        nonlocal latest
        text, ending = json.loads(line)
        latest = MeasuredCollective(text, RankEnding(*ending))
        keep(text)

    killed = launch(words, ranks, hear)
    text, ending = latest
    signals = ", ".join(
        f"rank {rank} was ended by signal {number}" for rank, number in killed.items()
    )
    if ending == UNDER_WAY:
        message = signals or "rank 0 ended and told nothing"
        return MeasuredCollective(
            text.replace(RUNNING, message), RankEnding("fault", message)
        )
    if ending.kind == "fault" and signals:
        ending = ending._replace(message=f"{ending.message} ({signals})")
    return MeasuredCollective(text, ending)
