"""What was measured, as a snapshot holds it: `collective_runs`, with its conditions."""

import json
import time
from collections.abc import Sequence
from typing import Any

from speccheck.probes.collectives.measure import TimedSize
from speccheck.probes.collectives.meeting import Member
from speccheck.probes.collectives.operations import bus_factor, placement
from speccheck.probes.collectives.settings import Settings
from speccheck.validator import VERSION
from speccheck.validator.evidence.record import Record

SCHEMA = "speccheck-snapshot/1"
_SOURCE = "torch.distributed"
_KIND = "collective_runs"
RUNNING = "still running when this was written"


class SetRun(Record):
    """One set of ranks that measured together; round: of a plan, None without one."""

    ranks: tuple[int, ...]
    round: int | None
    function: str
    points: tuple[TimedSize, ...] = ()
    is_complete: bool = False


class Results:
    """What rank 0 knows, set by set, while it goes on."""

    def __init__(self, settings: Settings, members: Sequence[Member]) -> None:
        """Start with nothing."""
        self.settings = settings
        self.members = tuple(members)
        self.runs: dict[tuple[int, int], SetRun] = {}
        self.ended_by = RUNNING
        self._taken = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._began = time.monotonic()

    @property
    def has_points(self) -> bool:
        """Whether any size was measured."""
        return any(run.points for run in self.runs.values())

    def hosts(self, ranks: Sequence[int]) -> list[str]:
        """Return the hosts by name, each once, in the order of their ranks."""
        return list(dict.fromkeys(self.members[rank].host for rank in ranks))

    def content(self) -> list[dict[str, Any]]:
        """Return the leaves of each run, by round and set."""
        return [self._run(run) for _, run in sorted(self.runs.items())]

    def text(self) -> str:
        """Return the snapshot, as JSON."""
        runs = self.content()
        result: dict[str, Any] = {
            "schema": SCHEMA,
            "tool": {"name": "speccheck", "version": VERSION},
            "taken": self._taken,
            "seconds": round(time.monotonic() - self._began, 3),
            "cut_short": {_KIND: self.ended_by} if self.ended_by else {},
            _KIND: runs,
            "sources": {
                f"{_KIND}.{leaf}": _SOURCE
                for leaf in dict.fromkeys(leaf for run in runs for leaf in run)
            },
        }
        return json.dumps(result, indent=1) + "\n"

    def _run(self, run: SetRun) -> dict[str, Any]:
        settings, ranks = self.settings, run.ranks
        hosts = self.hosts(ranks)
        leaves: dict[str, Any] = {
            "tool": "speccheck",
            "tool_version": VERSION,
            "collective": settings.collective,
            "placement": placement(settings.collective),
            "backend": settings.backend,
            "function": run.function,
            "torch_version": self.members[0].torch,
            "data_type": settings.data_type,
            "gpu": self._gpu(ranks),
            "ranks": len(ranks),
            "nodes": len(hosts),
            "hosts": hosts,
            "warmup_iterations": settings.warmup_iterations,
            "iterations": settings.iterations,
            "is_complete": run.is_complete,
            "is_compared": settings.compares,
        }
        if run.round is not None:
            leaves["round"] = run.round
        if not run.is_complete:
            leaves["ended_by"] = self.ended_by or RUNNING
        if settings.compares and run.points:
            wrong = {
                run.ranks[wrong_rank]
                for point in run.points
                for wrong_rank in point.wrong_ranks
            }
            leaves["wrong_hosts"] = self.hosts(sorted(wrong))
        if run.points:
            leaves.update(_lists(run, settings.collective))
        return leaves

    def _gpu(self, ranks: Sequence[int]) -> str | dict[str, str]:
        if self.settings.backend != "nccl":
            message = f"{self.settings.backend} measures memory of the host"
            return {"status": "absent", "source": _SOURCE, "message": message}
        names = {self.members[rank].gpu for rank in ranks}
        if len(names) == 1:
            return names.pop()
        message = f"they differ: {', '.join(sorted(names))}"
        return {"status": "absent", "source": _SOURCE, "message": message}


def _lists(run: SetRun, collective: str) -> dict[str, list[Any]]:
    factor = bus_factor(collective, len(run.ranks))
    # A clock that saw no time pass says nothing of the rate.
    rates = [
        point.size_bytes / point.seconds if point.seconds > 0 else None
        for point in run.points
    ]
    return {
        "size_bytes": [point.size_bytes for point in run.points],
        "seconds": [point.seconds for point in run.points],
        "algorithm_bytes_per_second": rates,
        "bus_bytes_per_second": [rate and rate * factor for rate in rates],
        "wrong_values": [point.wrong_values for point in run.points],
        "spread": [round(point.spread, 4) for point in run.points],
        "p99_seconds": [point.p99_seconds for point in run.points],
        "repeats": [point.repeats for point in run.points],
    }
