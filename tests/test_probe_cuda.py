"""The probe of CUDA's start, on a small library of our own in the real process."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nvml_stand_in import ROOT
from speccheck.probes.collect import snapshot

NAME = "libcuda.so.1"
LEAF = "cuda_start_status"
SOURCE = f"cuInit of {NAME}"
THERE = "/dev/null"  # stands for the device node of unified memory


def build(folder: Path, source: Path) -> None:
    """Build the library in a folder; skips the test without gcc."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    options = ("-shared", "-fPIC", "-Wall", "-Wextra", "-Werror")
    command = [
        compiler,
        *options,
        f"-Wl,-soname,{NAME}",
        "-o",
        str(folder / NAME),
        str(source),
    ]
    subprocess.run(command, check=True)


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cuda")
    build(folder, ROOT / "tests" / "cuda_library" / "cuda.c")
    return folder


@pytest.fixture
def library(cuda: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(cuda))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / ".imports"))
    return monkeypatch


def taken(device: str = THERE, budget_seconds: float = 30.0) -> dict[str, Any]:
    return snapshot(
        probes=("cuda",),
        arguments={"cuda": (device,)},
        budget_seconds=budget_seconds,
    )


@pytest.mark.parametrize("code", [0, 100, 802, 999])
def test_the_code_is_that_of_the_library(
    library: pytest.MonkeyPatch, code: int
) -> None:
    library.setenv("CUDA_LIBRARY_ANSWER", str(code))
    found = taken()
    assert found["driver"] == {LEAF: code}
    assert found["sources"] == {f"driver.{LEAF}": SOURCE}
    assert found["cut_short"] == {}


def test_gpus_that_are_hidden_from_a_job_are_those_of_the_node(
    library: pytest.MonkeyPatch,
) -> None:
    library.setenv("CUDA_VISIBLE_DEVICES", "")
    assert taken()["driver"] == {LEAF: 0}


def test_a_crash_costs_this_leaf_alone(library: pytest.MonkeyPatch) -> None:
    library.setenv("CUDA_LIBRARY_ANSWER", "crash")
    reason = f"the cuda probe ended with signal 11 during {SOURCE}"
    found = taken()
    assert found["cut_short"] == {"driver": reason}
    assert "driver" not in found


def test_a_hang_costs_the_budget_and_this_leaf_alone(
    library: pytest.MonkeyPatch,
) -> None:
    library.setenv("CUDA_LIBRARY_ANSWER", "hang")
    found = snapshot(
        probes=("cuda", "driver"), arguments={"cuda": (THERE,)}, budget_seconds=2.0
    )
    reason = f"the cuda probe was stopped after 2 s during {SOURCE}"
    assert found["cut_short"] == {"driver": reason}
    assert LEAF not in found["driver"]
    assert "modules" in found["driver"]  # of another process
    assert found["seconds"] < 4


def test_nothing_is_asked_where_cuda_would_load_a_module(
    library: pytest.MonkeyPatch,
) -> None:
    library.setenv("CUDA_LIBRARY_ANSWER", "crash")
    found = taken("/dev/no-such-node")
    assert found["cut_short"] == {}
    assert found["driver"][LEAF]["status"] == "absent"


def test_a_copy_of_files_is_not_asked(
    library: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library.setenv("CUDA_LIBRARY_ANSWER", "crash")
    found = snapshot(root=str(tmp_path), probes=("cuda",))
    assert found["cut_short"] == {}
    assert found["driver"][LEAF]["status"] == "absent"


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("content", "status"),
    [(None, "absent"), (b"no library", "failed"), (b"", "failed")],
)
def test_no_library_that_loads(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
    status: str,
) -> None:
    if content is not None:
        (tmp_path / NAME).write_bytes(content)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    found = taken()
    assert found["cut_short"] == {}
    assert found["driver"][LEAF]["status"] == status


def test_a_library_without_the_call(
    library: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "other.c"
    source.write_text("int other;\n", encoding="utf-8")
    build(tmp_path, source)
    library.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert taken()["driver"][LEAF]["status"] == "failed"
