"""`integrations/torchrun/preflight.sh`: no training on a node that is not fit."""

import json
import sys
from pathlib import Path

import pytest

from bench_ranks import needs_torch
from launched import INTEGRATIONS, REMAP, Site

PREFLIGHT = INTEGRATIONS / "torchrun" / "preflight.sh"
TRAINING = ("/bin/sh", "-c", 'echo "trains: $*"', "name", "with two", "words")
TRAINED = "trains: with two words\n"


@pytest.fixture
def site(tmp_path: Path, management_library: Path) -> Site:
    found = Site(tmp_path, management_library)
    found.program("torchrun", f'exec "{sys.executable}" -m torch.distributed.run "$@"')
    found.environ |= {"SPECCHECK_RESULTS": str(tmp_path / "results")}
    return found


def _result(site: Site, node: str = "n1") -> dict[str, object]:
    path = site.folder / "results" / f"{node}.result.json"
    found: dict[str, object] = json.loads(path.read_text("utf-8"))
    return found


def test_a_fit_node_trains(site: Site) -> None:
    ended = site.run(PREFLIGHT, "train.sh", "--", *TRAINING, SPECCHECK_HOST="n1")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith(TRAINED)
    assert _result(site)["verdict"] == "go"


@pytest.mark.slow
def test_what_the_training_ends_with_is_what_the_node_ends_with(site: Site) -> None:
    ended = site.run(PREFLIGHT, "train.sh", "--", "/bin/sh", "-c", "exit 17")
    assert ended.returncode == 17


def test_a_node_that_is_not_fit_does_not_train(site: Site) -> None:
    faulty = str(site.gpus("faulty", REMAP))
    ended = site.run(
        *(PREFLIGHT, "train.sh", "--", *TRAINING),
        NVML_LIBRARY_FILE=faulty,
        SPECCHECK_HOST="n1",
    )
    assert ended.returncode == 1
    assert "trains" not in ended.stdout
    assert "no-go: HW-002 memory_fault_pending GPU 2" in ended.stderr
    assert _result(site)["verdict"] == "no-go"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "code"),
    [({}, 0), ({"SPECCHECK_ON_INCONCLUSIVE": "block"}, 1)],
)
def test_where_nothing_is_known_the_site_decides(
    site: Site, settings: dict[str, str], code: int
) -> None:
    ended = site.run(
        *(PREFLIGHT, "train.sh", "--", *TRAINING), LD_LIBRARY_PATH="", **settings
    )
    assert ended.returncode == code, ended.stderr
    assert ended.stdout.endswith(TRAINED) == (code == 0)
    assert "inconclusive" in ended.stderr


def test_only_the_first_process_of_a_node_looks(site: Site) -> None:
    ended = site.run(PREFLIGHT, "train.sh", "--", *TRAINING, LOCAL_RANK="3")
    assert (ended.returncode, ended.stdout) == (0, TRAINED)
    assert not (site.folder / "results").exists()


@pytest.mark.parametrize("words", [(), ("--",), ("train.sh",), ("train.sh", "--")])
def test_without_a_training_there_is_nothing_to_start(
    site: Site, words: tuple[str, ...]
) -> None:
    ended = site.run(PREFLIGHT, *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("usage: preflight.sh")


@pytest.mark.slow
def test_only_the_first_marker_ends_the_files(site: Site) -> None:
    ended = site.run(PREFLIGHT, "train.sh", "--", "/bin/echo", "--", "train.sh")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("-- train.sh\n")


_STANDALONE = ("torchrun", "--standalone", "--nproc-per-node")


@needs_torch
@pytest.mark.slow
def test_torchrun_starts_one_look_a_node_by_itself(site: Site) -> None:
    """The one-liner of the page: torchrun starts speccheck, which knows its rank."""
    command = (*_STANDALONE, "1", "--no-python", "speccheck", "preflight", "train.sh")
    results = f"{site.folder}/results/"
    ended = site.run(*command, f"--result={results}", SPECCHECK_HOST="n1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    result = _result(site)
    assert (result["engine"], result["rank"], result["ranks"]) == ("torchrun", 0, 1)
    faulty = str(site.gpus("faulty", REMAP))
    ended = site.run(*command, f"--result={results}", NVML_LIBRARY_FILE=faulty)
    assert ended.returncode == 1
    assert "exitcode  : 1" in ended.stderr


@needs_torch
@pytest.mark.slow
def test_a_look_stands_in_front_of_each_node_s_workers(site: Site) -> None:
    (site.job / "train.py").write_text(
        "import os\n"
        "line = 'rank {RANK} of {WORLD_SIZE}\\n'.format_map(os.environ)\n"
        "os.write(1, line.encode())\n",  # at once: the other rank writes, too
        encoding="utf-8",
    )
    command = (PREFLIGHT, "train.sh", "--", *_STANDALONE, "2", "train.py")
    ended = site.run(*command)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert {"rank 0 of 2", "rank 1 of 2"} <= {*ended.stdout.splitlines()}
    faulty = str(site.gpus("faulty", REMAP))
    ended = site.run(*command, NVML_LIBRARY_FILE=faulty)
    assert ended.returncode == 1
    assert "rank 0" not in ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("--output=concise",), ("--output=json",), ("--output=sarif",), ("--result=-",)],
)
def test_the_adapter_finds_the_verdict_in_other_forms(
    site: Site, words: tuple[str, ...]
) -> None:
    """A no-go that the adapter took for a broken start would be allowed."""
    faulty = str(site.gpus("faulty", REMAP))
    adapter = INTEGRATIONS / "adapter.sh"
    ended = site.run(adapter, "preflight", "train.sh", *words, NVML_LIBRARY_FILE=faulty)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "no-go: " in ended.stderr
    assert "without a verdict" not in ended.stderr
