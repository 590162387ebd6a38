"""`integrations/mpi/preflight.sh` under a real mpirun, with hosts that are this one.

Open MPI starts a daemon for each host of the list by the program that it is told to use
for ssh; that of the tests starts it here, as that host. Each has temporary files of its
own: daemons that share them do not always start.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from launched import INTEGRATIONS, REMAP, Site

PREFLIGHT = INTEGRATIONS / "mpi" / "preflight.sh"
HOSTS = 4
_SSH = """\
host=$1; shift
while [ "${host#-}" != "$host" ]; do host=$1; shift; done
export SPECCHECK_HOST="$host" TMPDIR="$SITE/tmp-$host"
mkdir -p "$TMPDIR"
[ ! -e "$SITE/$host.gpus" ] || export NVML_LIBRARY_FILE="$SITE/$host.gpus"
exec sh -c "$*"
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("mpirun") is None,
        reason="mpirun is not installed: no rank was started",
    ),
]


@pytest.fixture
def site(tmp_path: Path, management_library: Path) -> Site:
    found = Site(tmp_path, management_library)
    ssh = found.program("ssh-of-the-test", _SSH)
    found.environ |= {
        "SITE": str(tmp_path),
        "OMPI_MCA_plm_rsh_agent": str(ssh),
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "SPECCHECK_SECONDS": "30",
    }
    hosts = "".join(f"n{number} slots=1\n" for number in range(1, HOSTS + 1))
    (tmp_path / "hosts").write_text(hosts, encoding="utf-8")
    return found


class Ended:
    """How a run ended, and the results that its nodes left."""

    def __init__(
        self, run: subprocess.CompletedProcess[str], nodes: dict[str, dict[str, object]]
    ) -> None:
        self.code = run.returncode
        self.out = run.stdout
        self.told = run.stderr
        self.nodes = nodes


def _preflight(site: Site, **settings: str) -> Ended:
    results = site.folder / "results"
    words = (results, str(HOSTS), "train.sh", "--", "--hostfile", site.folder / "hosts")
    found = site.run(PREFLIGHT, *words, **settings)
    lines = sorted((results / "nodes").glob("*.result.json"))
    result = [json.loads(line.read_text("utf-8")) for line in lines]
    return Ended(found, {item["node"]: item for item in result})


def test_every_host_looks_once_and_all_are_judged_together(site: Site) -> None:
    ended = _preflight(site)
    assert ended.code == 0, ended.out + ended.told
    assert list(ended.nodes) == ["n1", "n2", "n3", "n4"]
    assert {node["engine"] for node in ended.nodes.values()} == {"mpi"}
    ranks = sorted((node["rank"], node["ranks"]) for node in ended.nodes.values())
    assert ranks == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert "4 fit" in ended.out


def test_a_host_that_is_not_fit_stops_no_other_from_telling(site: Site) -> None:
    site.gpus("n2", REMAP)
    ended = _preflight(site)
    assert ended.code == 1, ended.out + ended.told
    verdicts = {name: item["verdict"] for name, item in ended.nodes.items()}
    assert verdicts == {"n1": "go", "n2": "no-go", "n3": "go", "n4": "go"}
    assert "rank.sh: speccheck ended with 1 on" in ended.told
    assert ended.out.splitlines()[-1] == "n2"  # the list of nodes to drain


def _on(site: Site, host: str, program: str, does: str) -> None:
    """Let a program do something else on one host."""
    own = site.programs / program
    real = f'exec "{own}-itself" "$@"'
    if own.exists():
        own.rename(f"{own}-itself")
    else:
        real = f'exec "{shutil.which(program)}" "$@"'
    site.program(program, f'if [ "$SPECCHECK_HOST" = {host} ]; then {does}; fi\n{real}')


def test_a_rank_that_is_killed_is_a_missing_host(site: Site) -> None:
    # Its parent is `timeout`, whose parent is rank.sh, which mpirun started.
    rank = "$(cut -d ' ' -f 4 /proc/$PPID/stat)"
    _on(site, "n3", "speccheck", f"kill -9 {rank} $PPID $$")
    ended = _preflight(site, SPECCHECK_EXPECT="n[1-4]")
    assert list(ended.nodes) == ["n1", "n2", "n4"]
    assert ended.code == 3, ended.out + ended.told
    result = ended.out.partition("expected_node_missing")[2].split()
    assert "n3" in result[: result.index("fix")]


def test_a_host_that_hangs_is_ended_and_missing(site: Site) -> None:
    _on(site, "n3", "speccheck", "exec sleep 600")
    # Only this one has a second: the others may be slow today.
    _on(site, "n3", "timeout", 'shift 3; set -- -k 5 1 "$@"')
    ended = _preflight(site)
    assert list(ended.nodes) == ["n1", "n2", "n4"]
    assert ended.code == 3, ended.out + ended.told
    assert "rank.sh: speccheck ended with 124 on" in ended.told


def test_results_of_an_earlier_run_are_refused(site: Site) -> None:
    assert _preflight(site).code == 0
    again = _preflight(site)
    assert again.code == 2
    assert "is not empty: results of an earlier run" in again.told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "usage: preflight.sh FOLDER NODES"),
        (("results", "all"), "NODES must be a whole number: all"),
        (("results", "0"), "NODES must be a whole number: 0"),
    ],
)
def test_what_is_not_understood_is_refused(
    site: Site, words: tuple[str, ...], says: str
) -> None:
    ended = site.run(PREFLIGHT, *words)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert not (site.job / "results").exists()


def test_a_launcher_that_is_not_there_is_said(site: Site) -> None:
    ended = site.run(PREFLIGHT, "results", "4", SPECCHECK_MPIRUN="mpirun-of-nobody")
    assert ended.returncode == 2
    assert "mpirun-of-nobody is not there" in ended.stderr


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("mpirun (Open MPI) 4.1.4", "--map-by ppr:1:node --enable-recovery"),
        (
            "mpirun (Open MPI) 5.0.8",
            "--map-by ppr:1:node --runtime-options recoverable",
        ),
        ("HYDRA build details:", "-ppn 1"),
    ],
)
def test_launchers_are_told_in_their_own_words(
    site: Site, version: str, words: str
) -> None:
    result = site.folder / "told"
    says = f'[ "$1" != --version ] || {{ echo "{version}"; exit 0; }}'
    site.program("mpirun", f'{says}\necho "$*" >"{result}"')
    ended = site.run(PREFLIGHT, "results", "2", "train.sh", "--", "-x", "A")
    assert ended.returncode == 3  # nobody told
    results = site.job / "results"
    script = PREFLIGHT.with_name("rank.sh")
    assert result.read_text("utf-8") == (
        f"-np 2 {words} -x A {script} {results}/nodes 30 0 {results}/files\n"
    )
    assert (results / "files").read_text("utf-8") == f"{site.job}/train.sh\n"


def test_the_one_liner_of_the_page(site: Site) -> None:
    """Results of all ranks as lines of mpirun's output, without a folder for all."""
    command = (
        "mpirun -np 4 --hostfile ../hosts --map-by ppr:1:node --enable-recovery "
        "speccheck preflight train.sh --result - --exit-zero > lines.jsonl; "
        "speccheck fleet lines.jsonl --expect 4"
    )
    ended = site.run("/bin/sh", "-c", command)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = (site.job / "lines.jsonl").read_text("utf-8").splitlines()
    assert sorted(json.loads(line)["node"] for line in lines) == [
        "n1",
        "n2",
        "n3",
        "n4",
    ]


def test_what_mpirun_itself_ends_with_is_no_verdict(site: Site) -> None:
    """Why the verdict is that of the fleet: Open MPI 4 hides what ranks end with."""
    version = site.run("mpirun", "--version").stdout
    if "(Open MPI) 4." not in version:
        pytest.skip(f"this is of Open MPI 4: {version.splitlines()[0]}")
    command = (
        "mpirun -np 4 --hostfile ../hosts --map-by ppr:1:node "
        "--mca orte_abort_on_non_zero_status 0 sh -c 'exit 1'"
    )
    ended = site.run("/bin/sh", "-c", command)
    assert ended.returncode == 0
