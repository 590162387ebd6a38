"""How much memory a process may lock, in a pod with IPC_LOCK and elsewhere."""

from pathlib import Path

import pytest

from machine_files import Files, build, healthy
from probed import content

LIMIT = 8 * 2**20
_LIMITS = f"Max locked memory  {LIMIT}  {LIMIT}  bytes\n"
_FIRST_NAMESPACE = "         0          0 4294967295\n"
_WITH = "Name:\tpython\nCapEff:\t0000000000004000\n"
_WITHOUT = "Name:\tpython\nCapEff:\t0000000000000000\n"
_POD = "HOME=/\0KUBERNETES_SERVICE_HOST=10.96.0.1\0"


def _locked(folder: Path, **files: str) -> object:
    files_of_pod: Files = {
        "/proc/self/limits": _LIMITS,
        "/proc/self/status": _WITH,
        "/proc/self/uid_map": _FIRST_NAMESPACE,
        "/proc/self/environ": _POD,
    }
    files_of_pod |= {f"/proc/self/{name}": text for name, text in files.items()}
    files_of_machine, links = healthy()
    root = build(folder, files_of_machine | files_of_pod, links)
    return content(root)["host"]["locked_memory_bytes"]


def test_a_pod_with_the_capability_locks_what_it_wants(tmp_path: Path) -> None:
    assert _locked(tmp_path) == -1


@pytest.mark.parametrize(
    "files",
    [
        {"status": _WITHOUT},
        {"status": "Name:\tpython\n"},
        # Root of a user namespace has it there, and drivers ask for the machine's.
        {"uid_map": "         0     100000      65536\n"},
        # On the host it is root's: the job of a user has the limit.
        {"environ": "HOME=/root\0"},
        {"environ": "HOME=/root\0", "mounts": "/dev/vda / ext4 rw 0 0\n"},
    ],
)
def test_elsewhere_the_limit_holds(tmp_path: Path, files: dict[str, str]) -> None:
    assert _locked(tmp_path, **files) == LIMIT
