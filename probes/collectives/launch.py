"""Starts the ranks of one machine, where no launcher did, and leaves none behind."""

import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from speccheck.probes.collectives.world import LISTENING
from speccheck.probes.parent import PARENT

TELLING = "SPECCHECK_TELLING"  # the pipe to which rank 0 tells its results
_ADDRESS = "127.0.0.1"
_LOOK_SECONDS = 0.1
_CHUNK_BYTES = 65_536
# For the others when rank 0 has ended, and for rank 0 when they have or when it was
# told to end.
_PARTING_SECONDS = 1.0
_PATIENCE_SECONDS = 5.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def launch(
    words: Sequence[str], ranks: int, hear: Callable[[bytes], None]
) -> dict[int, int]:
    """Run speccheck with these words as so many ranks, and return when all have ended.

    Args:
        words: the command line.
        ranks: how many.
        hear: takes each line that rank 0 tells.

    Returns:
        Of the ranks that a signal killed, its number.

    """
    started: list[subprocess.Popen[bytes]] = []
    ours, theirs = os.pipe()
    try:
        with (
            _passed_on(started) as interrupted,
            socket.create_server((_ADDRESS, 0), backlog=ranks) as listening,
        ):
            # One by one: whatever stops us, those that run are known.
            started.extend(
                _start(words, rank, ranks, listening, theirs) for rank in range(ranks)
            )
            listening.close()
            os.close(theirs)
            theirs = -1
            _listen(started, interrupted, ours, hear)
        killed = {
            rank: -process.returncode
            for rank, process in enumerate(started)
            if process.returncode is not None and process.returncode < 0
        }
    finally:
        for process in started:
            process.kill()
            process.wait()
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)
    return killed


def _start(
    words: Sequence[str],
    rank: int,
    ranks: int,
    listening: socket.socket,
    telling: int,
) -> "subprocess.Popen[bytes]":
    passed = (listening.fileno(), telling) if rank == 0 else ()
    environ = {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_RANK": str(rank),
        "MASTER_ADDR": _ADDRESS,
        "MASTER_PORT": str(listening.getsockname()[1]),
        PARENT: str(os.getpid()),
    }
    # As torchrun does: threads of as many ranks as there are would get in the way.
    environ.setdefault("OMP_NUM_THREADS", "1")
    environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
    if passed:
        environ[LISTENING], environ[TELLING] = map(str, passed)
    return subprocess.Popen(  # noqa: S603 - our own program
        (sys.executable, "-P", "-m", "speccheck", *words),
        env=environ,
        stdin=subprocess.DEVNULL,
        pass_fds=passed,
        # An interrupt at the terminal reaches us alone, and we pass it on to rank 0.
        start_new_session=True,
    )


def _listen(
    started: "Sequence[subprocess.Popen[bytes]]",
    interrupted: list[int],
    pipe: int,
    hear: Callable[[bytes], None],
) -> None:
    """Hear rank 0 until all have ended, or are not waited for any longer."""
    pending, deadline = b"", math.inf
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            # A pipe that is closed is ready at once: then only the ends are waited for.
            if selector.get_map() and selector.select(_LOOK_SECONDS):
                chunk = os.read(pipe, _CHUNK_BYTES)
                *whole, pending = (pending + chunk).split(b"\n")
                for line in whole:
                    hear(line)
                if not chunk:
                    selector.unregister(pipe)
                continue
            if not selector.get_map():
                time.sleep(_LOOK_SECONDS)
            ended = [process.poll() is not None for process in started]
            now = time.monotonic()
            if all(ended) or len(interrupted) > 1 or now > deadline:
                return
            if ended[0]:
                deadline = min(deadline, now + _PARTING_SECONDS)
            elif interrupted or all(ended[1:]):
                deadline = min(deadline, now + _PATIENCE_SECONDS)


@contextmanager
def _passed_on(
    started: "Sequence[subprocess.Popen[bytes]]",
) -> Generator[list[int], None, None]:
    """Pass signals on to rank 0; the second one ends all."""
    seen: list[int] = []

    def pass_on(number: int, _: object) -> None:
        seen.append(number)
        if started:
            started[0].send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in _SIGNALS}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
