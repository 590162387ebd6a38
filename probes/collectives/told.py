"""How rank 0 tells whoever started it what it has measured: line by line."""

import json
import os
from collections.abc import Callable

from speccheck.probes.collectives.launch import TELLING, launch
from speccheck.probes.collectives.rank import Ending
from speccheck.probes.collectives.results import RUNNING
from speccheck.validator.evidence.record import Record


class Measured(Record):
    """The snapshot as text, empty where nothing was measured, and how it ended."""

    text: str
    ending: Ending


UNDER_WAY = Ending("fault", RUNNING)


def teller() -> Callable[[Measured], None] | None:
    """What tells whoever started this rank; None where a launcher of others did."""
    number = os.environ.get(TELLING, "")
    if not number.isdecimal():
        return None
    pipe = int(number)

    def tell(measured: Measured) -> None:
        line = json.dumps(measured).encode() + b"\n"
        while line:
            line = line[os.write(pipe, line) :]

    return tell


def measured_here(
    words: list[str], ranks: int, keep: Callable[[str], None]
) -> Measured:
    """Measure among ranks of this machine that are started for it; keep: as it goes."""
    latest = Measured("", UNDER_WAY)

    def hear(line: bytes) -> None:
        nonlocal latest
        text, ending = json.loads(line)
        latest = Measured(text, Ending(*ending))
        keep(text)

    killed = launch(words, ranks, hear)
    text, ending = latest
    signals = ", ".join(
        f"rank {rank} was ended by signal {number}" for rank, number in killed.items()
    )
    if ending == UNDER_WAY:
        message = signals or "rank 0 ended and told nothing"
        return Measured(text.replace(RUNNING, message), Ending("fault", message))
    if ending.kind == "fault" and signals:
        ending = ending._replace(message=f"{ending.message} ({signals})")
    return Measured(text, ending)
