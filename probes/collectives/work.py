"""What one rank does: meet, then measure with its set of ranks, round by round.

It runs in a thread of its own, because what it calls may hang: another one watches it.
"""

import json
import os
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from speccheck.probes.collectives.agreeing import room_bytes, sets_of, settled
from speccheck.probes.collectives.interfaces import lead_to
from speccheck.probes.collectives.measure import Bench, TimedSize
from speccheck.probes.collectives.meeting import Meeting, Member, NoWorld, Refused
from speccheck.probes.collectives.operations import NotOffered
from speccheck.probes.collectives.results import SetRun
from speccheck.probes.collectives.settings import Settings
from speccheck.probes.collectives.watch import Watch
from speccheck.probes.collectives.world import World, host_name
from speccheck.probes.torch_library import NoTorch, load

Tell = Callable[[str, Any], None]
AT_A_GATE = "waiting for the other sets"
MEETING = "meeting rank 0"
_CONNECT_SECONDS = 10.0
_TRACEBACK_VARIABLE = "SPECCHECK_TRACEBACK"
_FOREVER = 1e9
# gloo ends by itself what takes too long; whoever watches need not be faster.
_GLOO_SECONDS = 1.0
_NCCL_SECONDS = 600.0


class RankWork:
    """One rank's part."""

    def __init__(
        self,
        world: World,
        wanted: Settings,
        until: float | None,
        watch: Watch,
        tell: Tell,
    ) -> None:
        """Take what is wanted, which is rank 0's to say; until: when time is up."""
        self._world = world
        self._wanted = wanted
        self._until = until
        self._watch = watch
        self._tell = tell

    def run(self) -> None:
        """Do it, and tell how it ended."""
        try:
            self._measure()
        except (Refused, NotOffered, NoTorch) as error:
            self._tell("refused", str(error))
        except NoWorld as error:
            self._tell("no world", str(error))
        except Exception as error:  # noqa: BLE001 - whatever a library raises
            self._tell("failed", _shown(error))
        else:
            self._tell("done", None)

    def _measure(self) -> None:
        if not os.environ.get(_TRACEBACK_VARIABLE):
            # What fails is told; where in the library, is for those who ask.
            os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
        lead_to(self._world.address)
        torch = load()
        load("torch.distributed")
        world = self._world
        seconds = self._wanted.deadline_seconds
        if self._until is not None:
            seconds = min(seconds, self._until - time.monotonic())
        # Torch tries longer than it is told to.
        self._watch.begin(MEETING, seconds)
        meeting = Meeting(torch, world, seconds)
        self._watch.end()
        self._tell("met", meeting)
        meeting.announce(_member(torch, world))
        if world.rank == 0:
            self._settle(meeting)
        settings, members = meeting.announced()
        self._tell("formed", (settings, members))
        if settings.backend == "nccl":
            torch.cuda.set_device(_device(world.local_rank, members[world.rank].gpus))
        groups = meeting.another(_CONNECT_SECONDS)
        rounds = sets_of(settings, members)
        for number, sets in enumerate(rounds):
            self._pass_gate(meeting, settings, number, is_last=False)
            for index, ranks in enumerate(sets):
                if world.rank in ranks:
                    place = (number, index)
                    store = torch.distributed.PrefixStore(f"{number}/{index}", groups)
                    self._measure_set(torch, meeting, settings, store, place, ranks)
        self._pass_gate(meeting, settings, len(rounds), is_last=True)

    def _settle(self, meeting: Meeting) -> None:
        try:
            members = meeting.assembled()
            meeting.agree(settled(self._wanted, members), members)
        except (NoWorld, Refused) as error:
            meeting.refuse(str(error))
            raise

    def _pass_gate(
        self, meeting: Meeting, settings: Settings, number: int, *, is_last: bool
    ) -> None:
        """Let all sets of a round begin at the same time."""
        if not settings.rounds:
            return
        leads = self._world.rank == 0  # and looks after the others while it waits
        limit = settings.timeout_seconds if leads else _FOREVER
        self._watch.begin(AT_A_GATE, limit)
        if not meeting.pass_gate(str(number), _FOREVER, is_last=is_last):
            message = "rank 0 is gone"
            raise ConnectionError(message)
        self._watch.end()
        if leads:
            self._tell("round", number)

    def _measure_set(
        self,
        torch: Any,  # noqa: ANN401
        meeting: Meeting,
        settings: Settings,
        store: Any,  # noqa: ANN401
        place: tuple[int, int],
        ranks: tuple[int, ...],
    ) -> None:
        """Measure among these ranks; the first of them keeps what comes of it."""
        own = ranks.index(self._world.rank)
        is_gloo = settings.backend == "gloo"
        seconds = settings.timeout_seconds + (0 if is_gloo else _NCCL_SECONDS)
        self._watch.begin("forming the group", settings.deadline_seconds)
        torch.distributed.init_process_group(
            settings.backend,
            store=store,
            rank=own,
            world_size=len(ranks),
            timeout=timedelta(seconds=seconds),
        )
        patient = settings._replace(
            timeout_seconds=settings.timeout_seconds + _GLOO_SECONDS * is_gloo
        )
        device = "cpu" if is_gloo else "cuda"
        bench = Bench(torch, patient, device, self._watch)
        bench.connect()
        number = place[0] if settings.rounds else None
        run = SetRun(ranks, number, bench.function)
        for point in bench.points(self._has_time):
            run = run._replace(points=(*run.points, point))
            self._keep(meeting, place, run, own)
        whole = len(run.points) == len(settings.sizes)
        self._keep(meeting, place, run._replace(is_complete=whole), own)
        self._watch.begin("leaving the group", settings.timeout_seconds)
        torch.distributed.destroy_process_group()
        self._watch.end()

    def _keep(
        self, meeting: Meeting, place: tuple[int, int], run: SetRun, own: int
    ) -> None:
        if own != 0:
            return
        if self._world.rank == 0:
            self._tell("run", (place, run))
        else:
            key = f"result/{place[0]}/{place[1]}"
            meeting.store.set(key, json.dumps(run))

    def _has_time(self, seconds: float) -> bool:
        return self._until is None or time.monotonic() + seconds < self._until


def run_of(text: str | bytes) -> SetRun:
    """Return what the first rank of a set kept."""
    ranks, number, function, points, whole = json.loads(text)
    result = tuple(
        TimedSize(*point)._replace(wrong_ranks=tuple(point[-1])) for point in points
    )
    return SetRun(tuple(ranks), number, function, result, whole)


def _member(torch: Any, world: World) -> Member:  # noqa: ANN401
    gpus: int = torch.cuda.device_count()
    device = _device(world.local_rank, gpus)
    has_own = device < gpus
    return Member(
        host_name(os.environ),
        world.local_rank,
        gpus,
        torch.cuda.get_device_name(device) if has_own else "",
        str(torch.__version__),
        torch.cuda.mem_get_info(device)[0] if has_own else room_bytes(),
    )


def _device(local_rank: int, gpus: int) -> int:
    """Return GPU of a rank: its own number, or the only GPU its launcher shows it."""
    return 0 if gpus == 1 else local_rank


def _shown(error: Exception) -> str:
    """Return a library error's first sentence, without its place in the source."""
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else type(error).__name__
    if text.startswith("["):
        text = text.partition("] ")[2] or text
    return text.partition(". ")[0]
