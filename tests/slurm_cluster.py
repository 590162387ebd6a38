"""A real Slurm on this machine: one controller, many nodes, gone afterwards.

munged with a key and a socket of its own, slurmctld, and one slurmd for each node, all
below one temporary folder: nothing of the machine's own configuration is read or
written. All commands are bounded: srun waits for ever where a node never comes.
"""

import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

import pytest

_PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol", "sinfo")
# Debian puts the daemons where only root's search path leads.
_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 60.0
_ENDING_SECONDS = 10.0
_SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
_NOTHING: Mapping[str, str] = MappingProxyType({})


def _program(name: str) -> str:
    return shutil.which(name, path=_PATH) or name


def skip_without_slurm() -> None:
    """Skip a test where no cluster can be started."""
    absent = [name for name in _PROGRAMS if not shutil.which(name, path=_PATH)]
    if absent:
        pytest.skip(f"needs slurm-wlm and munge: no {', '.join(absent)}")
    if os.geteuid() != 0:
        pytest.skip("needs root: slurmd starts jobs of others")


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on and no outgoing connection takes."""
    least, most = 12_000, 32_000
    with suppress(OSError):
        result = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("utf-8")
        most = max(int(result.split()[0]), least + 10 * count)
    found: list[int] = []
    for port in random.sample(range(least, most), k=most - least):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(port)
        if len(found) == count:
            return found
    pytest.fail(f"no {count} free ports below {most}")


def until(
    holds: Callable[[], bool],
    what: str,
    seconds: float = _PATIENCE_SECONDS,
    result: Callable[[], str] = str,
) -> float:
    """Ask until it holds; returns how long that took. Fails the test after a while.

    result: what to say of it then.
    """
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:
            pytest.fail(f"not within {seconds:g} s: {what} {result()}")
        time.sleep(_POLL_SECONDS)
    return time.monotonic() - began


def processes_of(folder: Path) -> list[int]:
    """Return the processes that were started with a configuration below the folder."""
    mark = f"SLURM_CONF={folder}/".encode()
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with suppress(OSError):
                if mark in Path("/proc", entry, "environ").read_bytes():
                    found.append(int(entry))
    return found


def children() -> set[int]:
    """Return the processes whose parent is this one, dead ones as well."""
    result = Path("/proc/self/task", str(os.getpid()), "children")
    return {int(word) for word in result.read_text("utf-8").split()}


@contextmanager
def _adopting() -> Generator[None, None, None]:
    """Adopt the orphans of the cluster as children of this process.

    The first process of a container often does not.
    """
    system = ctypes.CDLL(None)
    before = children()
    system.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        for child in children() - before:
            with suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)
        system.prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


class Cluster:
    """The controller and its nodes, as administrators and users ask them."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder = folder
        self.nodes = [f"n{number}" for number in range(1, nodes + 1)]
        self.ready_seconds = 0.0
        self._configuration = folder / "slurm.conf"
        self._daemons: list[subprocess.Popen[bytes]] = []

    @property
    def environ(self) -> dict[str, str]:
        """What every program of this cluster is started with."""
        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SLURM", "SPECCHECK_", "SBATCH_"))
        }
        return {**own, "PATH": _PATH, "SLURM_CONF": str(self._configuration)}

    def run(
        self,
        *words: str,
        seconds: float = _PATIENCE_SECONDS,
        environ: Mapping[str, str] = _NOTHING,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of Slurm, or a script that calls them, to its end."""
        return subprocess.run(
            [_program(words[0]), *words[1:]],
            env={**self.environ, **environ},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
        )

    def ask(self, *words: str) -> str:
        """Return what a command prints; it must not fail."""
        ended = self.run(*words)
        assert ended.returncode == 0, f"{words}: {ended.stderr}"
        return ended.stdout.strip()

    def state(self, node: str) -> tuple[str, str]:
        """State and reason of a node, as sinfo tells them."""
        result = self.ask("sinfo", "-h", "-n", node, "-o", "%T|%E").splitlines()[0]
        state, _, reason = result.partition("|")
        return state, reason

    def drained(self) -> dict[str, str]:
        """Return the reason of each node that is or becomes drained."""
        result = self.ask("sinfo", "-h", "-N", "-o", "%N|%T|%E").splitlines()
        rows = [line.split("|", 2) for line in result]
        return {node: why for node, state, why in rows if state.startswith("drain")}

    def job(self, number: str) -> dict[str, str]:
        """Return what the controller knows of a job."""
        result = self.ask("scontrol", "-o", "show", "job", number)
        words = (word.partition("=") for word in result.split() if "=" in word)
        return {name: value for name, _, value in words}

    def job_state(self, number: str) -> str:
        """Return such as PENDING, RUNNING, COMPLETED."""
        return self.job(number).get("JobState", "")

    def submit(self, *words: str, environ: Mapping[str, str] = _NOTHING) -> str:
        """Submit a batch job; returns its number."""
        ended = self.run("sbatch", "--parsable", *words, environ=environ)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def start(self, settings: str) -> None:
        """Start everything and wait until every node is idle."""
        folder, count = self.folder, len(self.nodes)
        for name in ("state", "spool", "log", "munge"):
            (folder / name).mkdir()
        controller, *ports = free_ports(count + 1)
        key = folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        host = socket.gethostname()
        rows = (
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2"
            for node, port in zip(self.nodes, ports, strict=True)
        )
        self._configuration.write_text(
            _SETTINGS.format(folder=folder, host=host, port=controller)
            + "\n".join(rows)
            + f"\nPartitionName=all Nodes=n[1-{count}] Default=YES MaxTime=60\n"
            + settings,
            encoding="utf-8",
        )
        self._start_munge(key)
        self._daemon("slurmctld", "-D")
        until(self._answers, "slurmctld answers")
        began = time.monotonic()
        for node in self.nodes:
            self._daemon("slurmd", "-D", "-N", node, log=f"slurmd.{node}")
        idle = f"{count} nodes are idle"
        until(lambda: self._idle() == count, idle, result=self._troubles)
        self.ready_seconds = time.monotonic() - began

    def _start_munge(self, key: Path) -> None:
        munge = key.parent
        # A folder that others may search, or the client side refuses the socket.
        munge.chmod(0o755)
        places = {
            "socket": munge / "socket",
            "pid-file": munge / "pid",
            "seed-file": munge / "seed",
            "key-file": key,
            "log-file": munge / "log",
        }
        words = [f"--{name}={place}" for name, place in places.items()]
        self._daemon("munged", "--foreground", "--force", *words)
        until(places["socket"].exists, "munged listens")

    def _answers(self) -> bool:
        return self.run("scontrol", "ping").returncode == 0

    def _troubles(self) -> str:
        """Return which nodes are not idle, and the daemons that have ended."""
        nodes = self.run("sinfo", "-h", "-N", "-o", "%N %T %E").stdout
        ended = [str(item.args) for item in self._daemons if item.poll() is not None]
        rows = [row for row in nodes.splitlines() if " idle none" not in row]
        return "\n".join([*rows, *ended])

    def _idle(self) -> int:
        result = self.run("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.split()
        return sum(int(word) for word in result)

    def _daemon(self, name: str, *words: str, log: str = "") -> None:
        # Whatever becomes of the test: a daemon ends with the process that started it.
        bound = [shutil.which("setpriv") or "setpriv", "--pdeathsig", "KILL", "--"]
        with open(self.folder / f"{log or name}.out", "wb") as out:
            self._daemons.append(
                subprocess.Popen(
                    [*bound, _program(name), *words],
                    env=self.environ,
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def end(self) -> None:
        """End every process of the cluster, those of its jobs as well.

        At once: nothing that they would still write is read by anybody.
        """
        began = time.monotonic()
        while left := processes_of(self.folder):
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            for daemon in self._daemons:
                daemon.poll()
            if time.monotonic() - began > _ENDING_SECONDS:
                pytest.fail(f"processes that cannot be killed: {left}")
            time.sleep(_POLL_SECONDS)
        for daemon in self._daemons:
            daemon.wait(_ENDING_SECONDS)


_SETTINGS = """\
ClusterName=speccheck
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SwitchType=switch/none
ReturnToService=2
SlurmdTimeout=300
MinJobAge=300
KillWait=1
"""


@contextmanager
def cluster(
    folder: Path, nodes: int, settings: str = ""
) -> Generator[Cluster, None, None]:
    """Yield the nodes that wait for jobs; skips the test where there is no Slurm."""
    skip_without_slurm()
    found = Cluster(folder, nodes)
    with _adopting():
        try:
            found.start(settings)
            yield found
        finally:
            found.end()
