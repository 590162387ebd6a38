"""One rank from its start to its end, whatever ends it.

A thread measures, and may hang in a library; another answers rank 0's calls; the main
one here waits for what they tell, for signals and for the time to run out. So a rank
that hangs still ends, says so, and keeps what was measured.
"""

import contextlib
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from queue import Empty, SimpleQueue
from typing import Any, Literal

from speccheck.probes.collectives.faults import fault_message
from speccheck.probes.collectives.meeting import (
    COUNT,
    STOP,
    Meeting,
    Member,
    NoWorld,
    unreachable,
)
from speccheck.probes.collectives.results import Results, SetRun
from speccheck.probes.collectives.settings import Settings
from speccheck.probes.collectives.watch import Watch
from speccheck.probes.collectives.work import AT_A_GATE, MEETING, RankWork, run_of
from speccheck.probes.collectives.world import World
from speccheck.validator.evidence.record import Record

Kind = Literal["complete", "budget", "interrupt", "fault", "refused"]
TIME_BUDGET, INTERRUPT = "time budget", "interrupt"
_LOOK_SECONDS = 0.2
# How long rank 0 waits for answers: a rank that is alive answers in milliseconds, or
# has no processor for a moment. Launchers leave a second after the first signal.
_GRACE_SECONDS = {"fault": 2.5, "budget": 0.5, "interrupt": 0.5}
_CALL_SECONDS = 3.0
_PARTING_SECONDS = 8.0
_FOREVER = 1e8
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class RankEnding(Record):
    """How it ended; message: for people, empty where there is nothing to say."""

    kind: Kind
    message: str = ""


class Rank:
    """This process among the others; rank 0 keeps the results."""

    def __init__(
        self,
        world: World,
        wanted: Settings,
        until: float | None,
        keep: Callable[[Results], None],
    ) -> None:
        """Take what is wanted; until: when time is up; keep: takes what is new."""
        self.results: Results | None = None
        self._world = world
        # Rank 0 ends all; the others only where it does not.
        slack = 0.0 if world.rank == 0 else _PARTING_SECONDS
        self._until = until + slack if until is not None else None
        self._keep = keep
        self._hosts: list[str] = []
        self._settings = wanted
        self._is_called = False
        self._signal = 0
        self._signalled = 0.0  # when
        self._parent = os.getppid() if world.is_tended else 0
        self._messages: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._watch = Watch()
        self._meeting: Meeting | None = None
        self._store: Any = None
        self._work = RankWork(world, wanted, until, self._watch, self._tell)

    def _tell(self, word: str, result: Any) -> None:  # noqa: ANN401
        self._messages.put((word, result))

    def run(self) -> RankEnding:
        """Measure; returns when it is over, be it that threads still hang."""
        _raise_open_files()
        with self._signals():
            threading.Thread(target=self._work.run, daemon=True).start()
            ending: RankEnding | None = None
            while ending is None:
                ending = self._next()
            return ending

    def close(self) -> None:
        """Let the other ranks go: this one has said what there is to say."""
        if self._meeting is not None and self._store is not None:
            with contextlib.suppress(RuntimeError):
                self._meeting.close(self._store)

    @contextlib.contextmanager
    def _signals(self) -> Generator[None, None, None]:
        def tell(number: int, _: object) -> None:
            self._signalled = self._signalled or time.monotonic()
            self._messages.put(("signal", number))

        before = {number: signal.signal(number, tell) for number in _SIGNALS}
        try:
            yield
        finally:
            # Whoever ends us has been heard, and waits for what was measured.
            for number in before:
                signal.signal(number, signal.SIG_IGN)

    def _next(self) -> RankEnding | None:
        """Take in the next message, or what did not happen in time."""
        if self._until is not None and time.monotonic() >= self._until:
            return self._ended("budget", TIME_BUDGET)
        try:
            word, result = self._messages.get(timeout=_LOOK_SECONDS)
        except Empty:
            return self._look()
        if word in {"done", "refused", "no world"}:
            return self._over(word, result)
        if word == "signal":
            self._signal = result
            return self._ended("interrupt", INTERRUPT)
        if word == "failed":
            step = self._watch.step
            during = f"{step.name}: " if step else ""
            return self._ended("fault", f"{during}{result}")
        return self._take(word, result)

    def _over(self, word: str, text: str) -> RankEnding:
        """Return how the rank ended, after the other thread came to its own end."""
        if word == "done":
            return self._complete()
        if word == "refused":
            return RankEnding("refused", text if self._world.rank == 0 else "")
        return RankEnding("fault", text if self._world.rank == 0 else self._own(text))

    def _take(self, word: str, result: Any) -> RankEnding | None:  # noqa: ANN401
        """Go on with a message."""
        if word == "met":
            return self._met(result)
        if word == "formed":
            settings, members = result
            self._formed(settings, members)
        elif word == "run" and self.results is not None:
            place, run = result
            self._put(place, run)
        elif word == "round":
            self._collect()
        elif word == "trouble":
            return self._ended("fault", "")
        elif word == "stop":
            return RankEnding("fault")  # which rank 0 has told
        return None

    def _met(self, meeting: Meeting) -> RankEnding | None:
        self._meeting = meeting
        listen = self._listen_for_trouble if self._world.rank == 0 else self._answer
        try:
            if self._world.rank == 0:
                self._store = meeting.another(_CALL_SECONDS)
        except NoWorld as error:
            return RankEnding("fault", str(error))
        threading.Thread(target=listen, args=(meeting,), daemon=True).start()
        return None

    def _listen_for_trouble(self, meeting: Meeting) -> None:
        with contextlib.suppress(RuntimeError, NoWorld):
            if meeting.trouble(meeting.another(_CALL_SECONDS), _FOREVER):
                self._tell("trouble", None)

    def _answer(self, meeting: Meeting) -> None:
        """Answer rank 0's calls; the last of them ends this rank."""
        with contextlib.suppress(RuntimeError, NoWorld):
            store = meeting.another(_CALL_SECONDS)
            number = 0
            while word := meeting.called(store, number, _FOREVER):
                step = self._watch.step
                meeting.answer(store, number, step.name if step else "")
                number += 1
                if word == STOP:
                    self._is_called = True
                    meeting.closed(store, _PARTING_SECONDS)
                    self._tell("stop", None)
                    return

    def _formed(self, settings: Settings, members: list[Member]) -> None:
        self._hosts = [member.host for member in members]
        self._settings = settings
        if self._world.rank == 0:
            self.results = Results(settings, members)

    def _put(self, place: tuple[int, int], run: SetRun) -> None:
        if self.results is not None and run.points:
            self.results.runs[place] = run
            self._keep(self.results)

    def _collect(self) -> None:
        """Fetch what the sets of other ranks have measured so far."""
        if self._meeting is None or self.results is None:
            return
        with contextlib.suppress(RuntimeError):
            for number, sets in enumerate(self._settings.rounds):
                for index, _ in enumerate(sets):
                    place = number, index
                    run = self.results.runs.get(place)
                    key = f"result/{number}/{index}"
                    if (run is None or not run.is_complete) and self._store.check(
                        [key]
                    ):
                        self._put(place, run_of(self._store.get(key)))

    def _look(self) -> RankEnding | None:
        """See whether something takes too long, or our launcher was killed."""
        if self._parent and os.getppid() != self._parent:
            return self._ended("fault", "whatever launched this rank is gone")
        step = self._watch.overdue()
        if step is None:
            return None
        if step.name == AT_A_GATE and self._meeting is not None:
            answers = self._called(COUNT, _CALL_SECONDS)
            if len(answers) == self._world.size - 1:
                self._watch.begin(step.name, step.limit_seconds)
                return None
        seconds = step.limit_seconds
        if step.name == MEETING:
            return self._over("no world", unreachable(self._world, seconds))
        return self._ended("fault", f"{step.name} did not end within {seconds:g} s")

    def _complete(self) -> RankEnding:
        self._collect()
        if self.results is None:
            return RankEnding("complete")
        runs = self.results.runs.values()
        if runs and all(run.is_complete for run in runs):
            self.results.ended_by = ""
            self._keep(self.results)
            return RankEnding("complete")
        self.results.ended_by = TIME_BUDGET
        self._keep(self.results)
        return RankEnding("budget", TIME_BUDGET)

    def _ended(self, kind: Kind, reason: str) -> RankEnding | None:
        """End before all was measured."""
        if self._world.rank != 0:
            return self._reported(kind, reason)
        if self.results is not None:
            self.results.ended_by = reason or "fault"
            self._keep(self.results)  # at once: launchers have little patience
        if self._meeting is None or self._store is None or self.results is None:
            return RankEnding(kind, reason)
        try:
            answers = self._called(STOP, _GRACE_SECONDS[kind])
            reports = self._meeting.reports(self._store)
        except RuntimeError:
            answers, reports = {}, {}
        self._collect()
        kind, reason = self._blamed(kind, reason, answers, reports)
        self.results.ended_by = reason if kind != "fault" else f"fault: {reason}"
        self._keep(self.results)
        return RankEnding(kind, reason)

    def _called(self, word: str, seconds: float) -> dict[int, str]:
        """Return who answers; in less time when this rank is to end meanwhile."""
        began = time.monotonic()
        if self._meeting is None:
            return {}

        def deadline() -> float:
            hurried = self._signalled + _GRACE_SECONDS["interrupt"]
            return min(began + seconds, hurried) if self._signalled else began + seconds

        return self._meeting.call(self._store, word, deadline)

    def _blamed(
        self,
        kind: Kind,
        reason: str,
        answers: Mapping[int, str],
        reports: Mapping[int, tuple[str, bool]],
    ) -> tuple[Kind, str]:
        """Return what it was, now that it is known who still answers.

        A launcher ends all ranks when one of them dies: what is silent then is a fault.
        """
        silent = set(range(1, self._world.size)) - {*answers, *reports}
        is_interrupt = any(is_signal for _, is_signal in reports.values())
        if kind == "fault" and is_interrupt and not silent:
            return "interrupt", INTERRUPT
        if kind == "interrupt" and self._signal == signal.SIGTERM and silent:
            kind, reason = "fault", "ended by the launcher"
        if kind == "fault":
            why = {rank: text for rank, (text, _) in reports.items()}
            return kind, fault_message(reason, self._hosts, answers, why)
        return kind, reason

    def _reported(self, kind: Kind, reason: str) -> RankEnding | None:
        """Tell rank 0; only when it does not hear is this rank to tell people."""
        if self._is_called and kind != "interrupt":
            return None  # rank 0 knows, and ends this rank
        if kind == "budget" or self._meeting is None:
            return RankEnding(kind, "" if kind != "fault" else self._own(reason))
        try:
            store = self._meeting.another(_CALL_SECONDS)
            self._meeting.report(store, reason, is_interrupt=kind == "interrupt")
            self._meeting.closed(store, _PARTING_SECONDS)
        except (RuntimeError, NoWorld):
            pass  # then nobody calls either
        if self._is_called or kind == "interrupt":
            return RankEnding(kind)
        place = self._world.meeting_place
        message = f"{self._own(reason)}; rank 0 at {place} does not answer either"
        return RankEnding(kind, message)

    def _own(self, reason: str) -> str:
        return f"rank {self._world.rank}: {reason}"


def _raise_open_files() -> None:
    """Let rank 0 hold the connections of all ranks, as far as the system lets it."""
    with contextlib.suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
