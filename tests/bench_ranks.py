"""Ranks of `speccheck bench` as processes, that no test leaves behind."""

import contextlib
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPECCHECK = (sys.executable, "-m", "speccheck")
# What a rank would take for its launcher's, and what would let it speak.
_OF_LAUNCHERS = ("OMPI_", "PMI", "SLURM", "SPECCHECK_", "TORCHELASTIC_", "GLOO_")
_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
_PATIENCE_SECONDS = 120
_NOTHING: Mapping[str, object] = MappingProxyType({})

needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="needs torch: pip install -e '.[bench]'"
)


def environment(more: Mapping[str, object]) -> dict[str, str]:
    """Return this environment without what a launcher set, and with more."""
    own = {
        name: value
        for name, value in os.environ.items()
        if name not in _NAMES and not name.startswith(_OF_LAUNCHERS)
    }
    own["OMP_NUM_THREADS"] = "1"
    own["PYTHONPATH"] = str(ROOT / ".imports")
    return {**own, **{name: str(value) for name, value in more.items()}}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as item:
        port: int = item.getsockname()[1]
        return port


class Started:
    """A process in a session of its own; its standard error can be a terminal."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        *,
        on_terminal: bool = False,
    ) -> None:
        self._screen = -1
        error: int = subprocess.PIPE
        if on_terminal:
            self._screen, error = pty.openpty()
        self.process = subprocess.Popen(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=error,
            text=True,
            start_new_session=True,
        )
        self._seen = ""
        if on_terminal:
            os.close(error)

    def wait_for(self, text: str) -> None:
        """Wait until the terminal shows a text."""
        while text not in self._seen:
            chunk = self._read()
            assert chunk, f"ended before {text!r}: {self._seen}"
            self._seen += chunk

    def _read(self) -> str:
        try:
            return os.read(self._screen, 65_536).decode()
        except OSError:  # as a terminal says that nobody is left to write to it
            return ""

    def ended(self) -> tuple[int, str, str]:
        """Exit code, standard output and standard error, once it has ended."""
        out, error = self.process.communicate(timeout=_PATIENCE_SECONDS)
        while self._screen >= 0 and (chunk := self._read()):
            self._seen += chunk
        return self.process.returncode, out, error or self._seen

    def close(self) -> None:
        for rank in ranks_below(self.process.pid).values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        if self._screen >= 0:
            os.close(self._screen)


@contextlib.contextmanager
def started(
    command: Sequence[str],
    environ: Mapping[str, object] = _NOTHING,
    *,
    on_terminal: bool = False,
) -> Generator[Started, None, None]:
    """Yield a process that is gone afterwards."""
    item = Started(command, environment(environ), on_terminal=on_terminal)
    try:
        yield item
    finally:
        item.close()


def run(
    command: Sequence[str], environ: Mapping[str, object] = _NOTHING
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a process."""
    with started(command, environ) as item:
        return item.ended()


def runs(path: Path) -> list[dict[str, Any]]:
    """Return the runs of a measurement that was kept."""
    found: list[dict[str, Any]] = json.loads(path.read_text())["collective_runs"]
    return found


def ranks_below(process: int) -> dict[int, int]:
    """Return by rank the number of each process that was started for it."""
    found: dict[int, int] = {}
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    children = [child for task in tasks for child in task.read_text().split()]
    for child in children:
        environ = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        for item in environ:
            name, _, value = item.partition(b"=")
            if name in {b"RANK", b"OMPI_COMM_WORLD_RANK"}:
                found[int(value)] = int(child)
    return found


def ends(process: int) -> bool:
    """Return whether a process ends, now or as soon as the system comes to it."""
    try:
        watched = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        # Readable once it has ended, whoever fetches its exit code.
        return bool(select.select([watched], [], [], _PATIENCE_SECONDS)[0])
    finally:
        os.close(watched)
