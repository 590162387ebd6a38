"""A job that judges its nodes before its real step, and the list of nodes to drain."""

from collections.abc import Generator
from pathlib import Path

import pytest

from slurm_cluster import Cluster, cluster
from slurm_site import SCRIPTS

pytestmark = pytest.mark.slow
DRAIN = str(SCRIPTS / "drain.sh")
LIST = """\
# written by speccheck fleet
scontrol update NodeName=n2 State=DRAIN Reason='speccheck: row_to_remap: GPU 5'

scontrol update 'NodeName=n[3-4]' State=DRAIN Reason='it'"'"'s "hot"; $(id)'
"""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Generator[Cluster, None, None]:
    """Eight nodes without hooks."""
    with cluster(tmp_path_factory.mktemp("cluster"), 8) as found:
        yield found


@pytest.fixture
def eight(nodes: Cluster) -> Generator[Cluster, None, None]:
    """The nodes, all in service before and after a test."""
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
