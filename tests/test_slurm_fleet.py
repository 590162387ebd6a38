"""A job that judges its nodes before its real step, and the list of nodes to drain."""

import json
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from slurm_cluster import Cluster, cluster, until
from slurm_site import ONE_RULE, RULE, SCRIPTS, Site

pytestmark = pytest.mark.slow
JOB = str(SCRIPTS / "preflight.sbatch")
FAULT = "gpu.5.remap_pending=1"
DRAIN = str(SCRIPTS / "drain.sh")
LIST = """\
# written by speccheck fleet
scontrol update NodeName=n2 State=DRAIN Reason='speccheck: row_to_remap: GPU 5'

scontrol update 'NodeName=n[3-4]' State=DRAIN Reason='it'"'"'s "hot"; $(id)'
"""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Generator[Cluster, None, None]:
    """Yield eight nodes without hooks."""
    with cluster(tmp_path_factory.mktemp("cluster"), 8) as found:
        yield found


@pytest.fixture
def eight(nodes: Cluster) -> Generator[Cluster, None, None]:
    """Yield the nodes, all in service before and after a test."""
    yield nodes
    drained = ",".join(nodes.drained())
    if drained:
        words = (f"NodeName={drained}", "State=RESUME")
        nodes.ask("scontrol", "update", *words)
    assert nodes.drained() == {}


def written(found: Cluster, text: str) -> str:
    path = found.folder / "list"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_nodes_of_a_list_are_drained_once(eight: Cluster) -> None:
    path = written(eight, LIST)
    first = eight.run(DRAIN, path)
    assert (first.returncode, first.stderr) == (0, "")
    reasons = {
        "n2": "speccheck fleet: row_to_remap: GPU 5",
        "n3": "speccheck fleet: it's 'hot'; (id)",
        "n4": "speccheck fleet: it's 'hot'; (id)",
    }
    assert eight.drained() == reasons
    assert first.stdout.splitlines() == [
        f"{node}: drained: {reason}" for node, reason in reasons.items()
    ]
    again = eight.run(DRAIN, path)
    assert again.returncode == 0
    assert again.stdout.splitlines() == [
        f"{node}: left as it is: drained, {reason}" for node, reason in reasons.items()
    ]
    assert eight.drained() == reasons


def test_a_dry_run_drains_nobody(eight: Cluster) -> None:
    ended = eight.run("sh", "-c", f"cat '{written(eight, LIST)}' | {DRAIN} --dry-run -")
    assert ended.returncode == 0
    assert ended.stdout.splitlines()[0] == (
        "scontrol update NodeName=n2 State=DRAIN "
        'Reason="speccheck fleet: row_to_remap: GPU 5"'
    )
    assert len(ended.stdout.splitlines()) == 3
    assert eight.drained() == {}


def test_the_reason_of_somebody_else_stays(eight: Cluster) -> None:
    theirs = "ticket 4711"
    words = ("NodeName=n3", "State=DRAIN", f"Reason={theirs}")
    eight.ask("scontrol", "update", *words)
    ended = eight.run(DRAIN, written(eight, LIST))
    assert ended.returncode == 0
    assert f"n3: left as it is: drained, {theirs}" in ended.stdout.splitlines()
    assert eight.drained()["n3"] == theirs
    assert sorted(eight.drained()) == ["n2", "n3", "n4"]


REFUSED = {
    "too many": ("n[1-5] all of a sudden", "5 of 8 nodes are to be drained, at most 4"),
    "unknown": ("n2 a\nm1 b\nn99 c", "Slurm knows no node m1 n99"),
    "resume": (
        "scontrol update NodeName=n2 State=RESUME Reason='State=DRAIN'",
        "line 1 drains nothing",
    ),
    "no node": ("scontrol update JobId=3 State=DRAIN", "line 1 drains nothing"),
    "a command": ("n2 a\nn3;reboot b", "no list of nodes: n3;reboot"),
    "all": ("ALL everything", "Slurm knows no node ALL"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_list_that_is_not_right_drains_nobody(eight: Cluster, kind: str) -> None:
    text, said = REFUSED[kind]
    ended = eight.run(DRAIN, written(eight, text))
    assert ended.returncode == 2
    assert said in ended.stderr
    assert eight.drained() == {}


def test_a_person_may_drain_more(eight: Cluster) -> None:
    path = written(eight, REFUSED["too many"][0])
    assert eight.run(DRAIN, "--most", "5", path).returncode == 0
    assert len(eight.drained()) == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--most", "many", "x"], "--most needs a number"),
        (["--most"], "--most needs a number"),
        (["--drain"], "no option --drain"),
        (["/nowhere"], "cannot read /nowhere"),
    ],
)
def test_a_wrong_command_line_drains_nobody(
    eight: Cluster, words: list[str], said: str
) -> None:
    ended = eight.run(DRAIN, *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr


def test_an_empty_list_is_no_fault(eight: Cluster) -> None:
    ended = eight.run(DRAIN, written(eight, "# nobody\n"))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_without_a_controller_nothing_is_done(eight: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    text = (eight.folder / "slurm.conf").read_text("utf-8")
    path.write_text(text.replace("SlurmctldPort=", "SlurmctldPort=1 #"), "utf-8")
    environ = {"SLURM_CONF": str(path), "SPECCHECK_SLURM_SECONDS": "1"}
    ended = eight.run(DRAIN, written(eight, LIST), environ=environ)
    assert ended.returncode == 2
    assert "sinfo told of no node: is the controller there?" in ended.stderr


class Job:
    """Jobs of preflight.sbatch on the nodes of a site."""

    def __init__(self, found: Cluster, site: Site, folder: Path) -> None:
        self.cluster = found
        self.site = site
        self.folder = folder

    def run(self, nodes: int, *words: str, **settings: str) -> tuple[str, str]:
        """Exit code and signal of the job, as Slurm keeps them, and what it printed."""
        found, options = self.cluster, " ".join(ONE_RULE)
        environ = {
            "SPECCHECK": str(self.site.program),
            "SPECCHECK_OPTIONS": options,
            "SPECCHECK_FLEET_OPTIONS": options,
            "SPECCHECK_RESULTS": str(self.folder),
            "SPECCHECK_TIER": "0",
        }
        printed = self.folder.with_suffix(".txt")
        command = (f"--nodes={nodes}", f"--output={printed}", JOB, *words)
        number = found.submit(*command, environ=environ | settings)
        until(lambda: found.job_state(number) in _ENDS, "the job has ended")
        return found.job(number)["ExitCode"], printed.read_text("utf-8")


_ENDS = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")


@pytest.fixture
def job(management_library: Path, tmp_path: Path) -> Generator[Job, None, None]:
    """Yield a job whose nodes are all healthy, until the test says otherwise."""
    site = Site(tmp_path, management_library)
    site.every_node(site.real())
    with cluster(tmp_path, 3) as found:
        yield Job(found, site, tmp_path / "results")


def test_the_real_step_runs_after_a_go(job: Job) -> None:
    step = ("srun", "sh", "-c", "echo trains on $SLURMD_NODENAME")
    code, printed = job.run(3, *step)
    assert code == "0:0"
    assert sorted(printed.splitlines()[-3:]) == [f"trains on n{i}" for i in (1, 2, 3)]
    kept = job.folder / "attempt-0"
    names = sorted(str(path.relative_to(kept)) for path in kept.rglob("*.*"))
    assert names == [
        "drain.txt",
        *(f"results/n{node}.result.json" for node in (1, 2, 3)),
        *(f"snapshots/n{node}.json" for node in (1, 2, 3)),
    ]
    result = json.loads((kept / "results" / "n2.result.json").read_text("utf-8"))
    answer = [
        result[name] for name in ("engine", "node", "ranks", "nodes", "node_list")
    ]
    assert answer == ["slurm", "n2", 3, 3, "n[1-3]"]


def test_a_faulty_node_stops_the_job_and_stands_on_the_list(job: Job) -> None:
    job.site.node("n2", job.site.real(FAULT))
    code, printed = job.run(3, "srun", "echo", "trains", SPECCHECK_NO_GO_EXIT="65")
    assert code == "65:0"
    assert "trains" not in printed
    path = str(job.folder / "attempt-0" / "drain.txt")
    assert job.cluster.run(DRAIN, path).returncode == 0
    (node, reason), *rest = job.cluster.drained().items()
    assert (node, rest) == ("n2", [])
    assert reason.startswith(f"speccheck fleet: {RULE}")


UNSEEN: dict[str, tuple[Callable[[Site], str], str]] = {
    "no library": (
        lambda site: site.real().replace(" LD_LIBRARY_PATH", " NONE"),
        "n2",
    ),
    "killed": (lambda _: "kill -KILL $$", "n2"),
    "not installed": (lambda _: "exec /nowhere/speccheck", "n2"),
}


@pytest.mark.parametrize("kind", UNSEEN)
def test_a_node_that_was_not_judged_is_no_go(job: Job, kind: str) -> None:
    plant, named = UNSEEN[kind]
    job.site.node("n2", plant(job.site))
    code, printed = job.run(3, "srun", "echo", "trains")
    assert code == "3:0"
    assert named in printed
    assert "trains" not in printed
    assert (job.folder / "attempt-0" / "drain.txt").read_text("utf-8") == ""
    code, printed = job.run(
        3, "srun", "echo", "trains", SPECCHECK_ON_INCONCLUSIVE="allow"
    )
    assert code == "0:0"
    assert "inconclusive, and allowed: not every node is judged" in printed
    assert printed.splitlines()[-3:] == ["trains"] * 3


def test_no_verdict_is_no_start(job: Job) -> None:
    code, printed = job.run(
        2, "srun", "echo", "trains", SPECCHECK_FLEET_OPTIONS="--no-such-option"
    )
    assert code == "2:0"
    assert "speccheck fleet ended with 2: no verdict, no start" in printed
    assert "trains" not in printed


def test_sixty_four_nodes(tmp_path: Path, management_library: Path) -> None:
    """The pre-flight of two faulty ones among them, and who is named."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    site = Site(folder, management_library)
    site.every_node(site.real())
    site.node("n7", site.real(FAULT))
    site.node("n33", site.real("gpu.2.remap_failed=1"))
    out = f"{folder}/out/"
    words = ("preflight", "--tier", "0", "--out", out, "--result", out)
    with cluster(folder, 64) as found:
        step = ("srun", "-N64", "--kill-on-bad-exit=0", "--output=/dev/null")
        ended = found.run(*step, str(site.program), *words, *ONE_RULE, seconds=300)
        assert ended.returncode == 1
        failed = sorted(line for line in ended.stderr.splitlines() if "Exited" in line)
        assert [line.split()[2] for line in failed] == ["n33:", "n7:"]
        environ = {"SLURMD_NODENAME": "n1"}
        fleet = (str(site.program), "fleet", out, "--expect", "n[1-64]", *ONE_RULE)
        drain = f"plain={folder}/drain"
        judged = found.run(*fleet, "--drain-list", drain, environ=environ)
        assert judged.returncode == 1, judged.stderr
    assert "2 of 64 nodes are not fit" in judged.stdout
    assert (folder / "drain").read_text("utf-8").split() == ["n7", "n33"]
