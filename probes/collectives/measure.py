"""Measures one collective among the ranks of the default group, size by size.

An iteration begins when all ranks are ready, and takes as long as the slowest of them.
A size whose iterations differ too much is measured again, and the steadiest attempt
counts, never the fastest.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

from speccheck.probes.collectives.operations import Exchange, elements_of, offered
from speccheck.probes.collectives.settings import DATA_TYPES, Settings
from speccheck.probes.collectives.timing import Timing, slowest_rank, timing
from speccheck.probes.collectives.watch import Watch
from speccheck.validator.evidence.record import Record

STEADY_SPREAD = 0.10
_MOST_REPEATS = 2
_MEGABYTE = 2**20


class TimedSize(Record):
    """One size, as all ranks measured it together.

    wrong_values: None where results were not compared. wrong_ranks: those of the set
        that received them.
    repeats: how often it was measured again because it was unsteady.
    """

    size_bytes: int
    seconds: float
    spread: float
    p99_seconds: float
    wrong_values: int | None
    repeats: int
    wrong_ranks: tuple[int, ...] = ()


class Bench:
    """The ranks that measure together, and the device of this one."""

    def __init__(
        self,
        torch: Any,  # noqa: ANN401
        settings: Settings,
        device: str,
        watch: Watch,
    ) -> None:
        """Take the default group, which has been formed."""
        self._torch = torch
        self._settings = settings
        self._device = device
        self._watch = watch
        self._ready = torch.zeros(1, device=device)
        self._clock = _EventClock(torch) if device != "cpu" else _WallClock()
        self.function = ""

    def connect(self) -> None:
        """Let the backend connect its ranks, and see what it offers."""
        self._watch.begin("connecting the ranks", self._settings.deadline_seconds)
        self._torch.distributed.all_reduce(self._ready)
        self._finish()
        settings = self._settings
        self.function = offered(
            self._torch,
            settings.collective,
            settings.data_type,
            self._device,
            self._finish,
        )
        self._watch.end()

    def points(self, has_time: Callable[[float], bool]) -> Iterator[TimedSize]:
        """Measure one size after the other.

        Args:
            has_time: whether something may begin that takes about so many seconds; the
                first rank decides for all.

        """
        seconds = 0.0
        for size in self._settings.sizes:
            if not self._agreed(goes_on=has_time(seconds)):
                return
            began = time.monotonic()
            yield self._point(size)
            seconds = time.monotonic() - began

    def _agreed(self, *, goes_on: bool) -> bool:
        """Return what the first rank says."""
        self._watch.begin("agreeing on the next size", self._settings.timeout_seconds)
        word = self._torch.tensor([float(goes_on)], device=self._device)
        self._torch.distributed.broadcast(word, 0)
        agreed = bool(word.item())
        self._watch.end()
        return agreed

    def _point(self, size_bytes: int) -> TimedSize:
        settings = self._settings
        width = DATA_TYPES[settings.data_type]
        ranks = self._torch.distributed.get_world_size()
        elements = elements_of(settings.collective, size_bytes, ranks, width)
        name = f"{settings.collective} of {shown_bytes(size_bytes)}"
        exchange = Exchange(
            self._torch,
            settings.collective,
            settings.data_type,
            self._device,
            self.function,
            elements,
        )
        wrong = self._verified(exchange, name)
        for _ in range(settings.warmup_iterations):
            self._timed(exchange, name)
        best, repeats = self._attempts(exchange, name)
        wrong += self._verified(exchange, name)
        by_rank = [int(row[0]) for row in self._gathered([float(wrong)])]
        return TimedSize(
            elements * width,
            best.seconds,
            best.spread,
            best.p99_seconds,
            sum(by_rank) if settings.compares else None,
            repeats,
            tuple(rank for rank, count in enumerate(by_rank) if count),
        )

    def _attempts(self, exchange: Exchange, name: str) -> tuple[Timing, int]:
        """Return the steadiest attempt, and how many there were after the first."""
        best: Timing | None = None
        repeats = -1
        while best is None or (best.spread > STEADY_SPREAD and repeats < _MOST_REPEATS):
            iterations = range(self._settings.iterations)
            times = [self._timed(exchange, name) for _ in iterations]
            result = timing(slowest_rank(self._gathered(times)))
            if best is None or result.spread < best.spread:
                best = result
            repeats += 1
        return best, repeats

    def _timed(self, exchange: Exchange, name: str) -> float:
        self._watch.begin(name, self._settings.timeout_seconds)
        self._torch.distributed.all_reduce(self._ready)
        seconds = self._clock.seconds(exchange.run)
        self._watch.end()
        return seconds

    def _verified(self, exchange: Exchange, name: str) -> int:
        """Do it once with known data; how many values came out wrong here."""
        if not self._settings.compares:
            return 0
        exchange.fill()
        self._watch.begin(name, self._settings.timeout_seconds)
        exchange.run()
        self._finish()
        self._watch.end()
        return exchange.wrong_values()

    def _gathered(self, row: list[float]) -> list[list[float]]:
        """Return the rows of all ranks."""
        torch = self._torch
        self._watch.begin("gathering times", self._settings.timeout_seconds)
        own = torch.tensor(row, dtype=torch.float64, device=self._device)
        rows = [
            torch.empty_like(own) for _ in range(torch.distributed.get_world_size())
        ]
        torch.distributed.all_gather(rows, own)
        number_lists: list[list[float]] = [row.tolist() for row in rows]
        self._watch.end()
        return number_lists

    def _finish(self) -> None:
        """Wait until the device has done all its work."""
        if self._device != "cpu":
            self._torch.cuda.synchronize()


class _WallClock:
    """Of collectives that return when they are done."""

    def seconds(self, run: Callable[[], None]) -> float:
        """Return how long it takes."""
        began = time.perf_counter()
        run()
        return time.perf_counter() - began


class _EventClock:
    """Of collectives that a GPU does in its own time."""

    def __init__(self, torch: Any) -> None:  # noqa: ANN401
        """Make the events once."""
        self._began = torch.cuda.Event(enable_timing=True)
        self._ended = torch.cuda.Event(enable_timing=True)

    def seconds(self, run: Callable[[], None]) -> float:
        """Return how long it takes, from when the ranks are ready on their devices."""
        self._began.record()
        run()
        self._ended.record()
        self._ended.synchronize()
        milliseconds: float = self._began.elapsed_time(self._ended)
        return milliseconds / 1e3


def shown_bytes(size: int) -> str:
    """Return a size as people say it: 4 MiB."""
    for unit, number in (("GiB", 2**30), ("MiB", _MEGABYTE), ("KiB", 2**10)):
        if size >= number:
            return f"{size / number:g} {unit}"
    return f"{size} B"
