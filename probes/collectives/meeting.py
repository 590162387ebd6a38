"""Where ranks find each other: the store that rank 0 serves, with deadlines.

Every rank says that it is there. Rank 0 waits for all of them and tells them what is
measured, or that nothing is. Later, when something fails, rank 0 calls and whoever does
not answer is named.
"""

import json
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from speccheck.probes.collectives.settings import Settings, settings_of
from speccheck.probes.collectives.world import World
from speccheck.validator.evidence.record import Record

_PATIENCE_SECONDS = 5.0  # of others, beyond the deadline of rank 0
_TROUBLE, _WORLD, _OVER = "trouble", "world", "over"
STOP, COUNT = "stop", "count"  # what rank 0 calls
_HEARING_SECONDS = 3.0  # for those that are there to take in what rank 0 says
_MOST_NAMED = 16
_LOOK_SECONDS = 0.2


class NoWorld(Exception):  # noqa: N818 - it ends the measurement with its own message
    """The world did not form; the message says who is missing."""


class Refused(Exception):  # noqa: N818 - a usage error with its own message
    """What was asked for cannot be measured by these ranks."""


class Member(Record):
    """What a rank says of itself when it comes.

    gpus: that it sees; gpu: the name of its own. free_bytes: for its buffers.
    """

    host: str
    local_rank: int
    gpus: int
    gpu: str
    torch: str
    free_bytes: int


class Meeting:
    """One rank's way to all others."""

    def __init__(self, torch: Any, world: World, deadline_seconds: float) -> None:  # noqa: ANN401
        """Come to the meeting place; raises NoWorld when nobody is there."""
        self._torch = torch
        self._world = world
        self._until = time.monotonic() + deadline_seconds
        self._deadline_seconds = deadline_seconds
        self._calls = 0
        # Each thread needs a connection of its own: a call that waits keeps it busy.
        serves = world.rank == 0 and not world.has_agent_store
        self.store = self._connected(serves=serves, seconds=deadline_seconds)

    def another(self, seconds: float) -> Any:  # noqa: ANN401
        """Return another connection; raises NoWorld."""
        return self._connected(serves=False, seconds=seconds)

    def _connected(self, *, serves: bool, seconds: float) -> Any:  # noqa: ANN401
        world, distributed = self._world, self._torch.distributed
        try:
            store = distributed.TCPStore(
                world.address,
                world.port,
                None,
                serves,
                timedelta(seconds=max(1.0, seconds)),
                wait_for_workers=False,
                **(
                    {"master_listen_fd": world.socket}
                    if serves and world.socket
                    else {}
                ),
            )
        except (RuntimeError, ValueError) as error:
            raise NoWorld(self._unreachable(str(error), serves=serves)) from error
        # torchrun's agent keeps its store over restarts, and for others too.
        return distributed.PrefixStore(f"speccheck/{world.attempt}", store)

    def _unreachable(self, reason: str, *, serves: bool) -> str:
        world = self._world
        first = reason.splitlines()[0] if reason else ""
        if serves:
            return (
                f"rank 0 cannot listen on port {world.port} ({first}): set MASTER_PORT "
                "to a free one, on all ranks"
            )
        return unreachable(world, self._deadline_seconds)

    def announce(self, member: Member) -> None:
        """Say that this rank is there; raises NoWorld when it is there already."""
        mine = json.dumps([*member, time.time_ns()])
        held = self.store.compare_set(f"here/{self._world.rank}", "", mine)
        if held.decode() != mine:
            message = (
                f"rank {self._world.rank} is there twice: another measurement meets at "
                f"{self._world.meeting_place}; set MASTER_PORT to another port"
            )
            raise NoWorld(message)

    def assembled(self) -> list[Member]:
        """Return all members, by rank, for rank 0 to see; raises NoWorld."""
        size = self._world.size
        for rank in range(size):
            left = self._until - time.monotonic()
            if left <= 0 or not self._comes(self.store, f"here/{rank}", left):
                raise NoWorld(self._missing())
        result = (json.loads(self.store.get(f"here/{rank}")) for rank in range(size))
        return [Member(*words[:-1]) for words in result]

    def _missing(self) -> str:
        size = self._world.size
        keys = {rank: f"here/{rank}" for rank in range(size)}
        missing = [rank for rank in keys if not self.store.check([keys[rank]])]
        return (
            f"{size - len(missing)} of {size} ranks came within "
            f"{self._deadline_seconds:g} s; missing: {shown_ranks(missing)}: are they "
            f"started, and can they reach {self._world.meeting_place}?"
        )

    def agree(self, settings: Settings, members: list[Member]) -> None:
        """Tell all ranks what is measured, and among whom."""
        text = json.dumps([settings.text(), [list(member) for member in members]])
        self.store.set(_WORLD, text)

    def refuse(self, reason: str) -> None:
        """Tell all ranks that nothing is measured, and wait until they know."""
        self.store.set(_WORLD, json.dumps([reason]))
        until = time.monotonic() + _HEARING_SECONDS
        for rank in range(1, self._world.size):
            if self.store.check([f"here/{rank}"]):
                left = until - time.monotonic()
                self._comes(self.store, f"heard/{rank}", left)

    def announced(self) -> tuple[Settings, list[Member]]:
        """Return the settings that rank 0 sent; raises NoWorld."""
        left = self._until - time.monotonic() + _PATIENCE_SECONDS
        if not self._comes(self.store, _WORLD, max(1.0, left)):
            message = f"rank 0 at {self._world.meeting_place} was met and says nothing"
            raise NoWorld(message)
        words = json.loads(self.store.get(_WORLD))
        if len(words) == 1:
            self.store.set(f"heard/{self._world.rank}", "1")
            raise Refused(words[0])
        return settings_of(words[0]), [Member(*item) for item in words[1]]

    def _comes(self, store: Any, key: str, seconds: float) -> bool:  # noqa: ANN401
        """Wait for a key; False when it does not come, or the store is gone."""
        try:
            store.wait([key], timedelta(seconds=max(0.01, seconds)))
        except RuntimeError:
            return False
        return True

    def pass_gate(self, name: str, seconds: float, *, is_last: bool) -> bool:
        """Wait until all ranks are here; False when some do not come.

        Behind the last gate there is nothing: only rank 0, which serves the store,
        waits there.
        """
        if self.store.add(f"gate/{name}", 1) == self._world.size:
            self.store.set(f"open/{name}", "1")
        if is_last and self._world.rank != 0:
            return True
        return self._comes(self.store, f"open/{name}", seconds)

    def report(self, store: Any, reason: str, *, is_interrupt: bool = False) -> None:  # noqa: ANN401
        """Tell rank 0 that this rank failed, or is to end."""
        rank = self._world.rank
        store.set(f"failed/{rank}", json.dumps([reason, is_interrupt]))
        store.set(_TROUBLE, str(rank))

    def trouble(self, store: Any, seconds: float) -> bool:  # noqa: ANN401
        """Wait until any rank reports."""
        return self._comes(store, _TROUBLE, seconds)

    def call(
        self,
        store: Any,  # noqa: ANN401
        word: str,
        deadline: Callable[[], float],
    ) -> dict[int, str]:
        """Call all ranks, to end or to be counted; what each says that answers.

        Args:
            store: a connection of the thread that calls.
            word: what they are called for.
            deadline: until when they are waited for, as far as is known by now.

        """
        number, self._calls = self._calls, self._calls + 1
        store.set(f"call/{number}", word)
        others = range(1, self._world.size)
        for rank in others:
            while (left := deadline() - time.monotonic()) > 0:
                if self._comes(
                    store, f"answer/{number}/{rank}", min(left, _LOOK_SECONDS)
                ):
                    break
        keys = {rank: f"answer/{number}/{rank}" for rank in others}
        return {
            rank: store.get(key).decode()
            for rank, key in keys.items()
            if store.check([key])
        }

    def called(self, store: Any, number: int, seconds: float) -> str:  # noqa: ANN401
        """Wait for a call of rank 0; empty when none comes, or rank 0 is gone."""
        if not self._comes(store, f"call/{number}", seconds):
            return ""
        word: str = store.get(f"call/{number}").decode()
        return word

    def answer(self, store: Any, number: int, text: str) -> None:  # noqa: ANN401
        """Show that this rank is alive, and say what it does."""
        store.set(f"answer/{number}/{self._world.rank}", text)

    def reports(self, store: Any) -> Mapping[int, tuple[str, bool]]:  # noqa: ANN401
        """Return by rank what was reported: the reason, and whether it interrupts."""
        result: dict[int, tuple[str, bool]] = {}
        for rank in range(1, self._world.size):
            if store.check([f"failed/{rank}"]):
                reason, is_interrupt = json.loads(store.get(f"failed/{rank}"))
                result[rank] = reason, is_interrupt
        return result

    def close(self, store: Any) -> None:  # noqa: ANN401
        """Note that rank 0 has said all: nobody need wait for it."""
        store.set(_OVER, "1")

    def closed(self, store: Any, seconds: float) -> bool:  # noqa: ANN401
        """Wait until rank 0 has said all, or is gone."""
        return self._comes(store, _OVER, seconds)


def unreachable(world: World, seconds: float) -> str:
    """Return what to say when rank 0 is not met."""
    return (
        f"rank 0 at {world.meeting_place} does not answer within {seconds:g} s: is it "
        "started, is MASTER_ADDR its host, is the port open?"
    )


def shown_ranks(ranks: list[int], hosts: Mapping[int, str] | None = None) -> str:
    """Return the ranks by number and host, the first of them."""
    names = [
        f"{rank} ({hosts[rank]})" if hosts and rank in hosts else str(rank)
        for rank in ranks[:_MOST_NAMED]
    ]
    more = f" and {len(ranks) - _MOST_NAMED} more" if len(ranks) > _MOST_NAMED else ""
    word = "rank" if len(ranks) == 1 else "ranks"
    return f"{word} {', '.join(names)}{more}"
