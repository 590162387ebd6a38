"""What manifests of Kubernetes start, started pod by pod and judged together."""

import json
import subprocess
from pathlib import Path

import pytest

import manifests
from launched import REMAP, SETTINGS, Site
from manifests import FILES, INTEGRATIONS, Cluster, workloads

pytestmark = pytest.mark.slow
WORK = workloads(*FILES)
PREFLIGHT = WORK["Job/speccheck-preflight"]
COLLECT = WORK["Job/speccheck-collect"]
UID = "6f0a-1"
JOB_SET = {
    "metadata.labels['jobset.sigs.k8s.io/jobset-uid']": "77aa",
    "metadata.labels['jobset.sigs.k8s.io/restart-attempt']": "1",
}


@pytest.fixture
def site(tmp_path: Path, management_library: Path) -> Site:
    return Site(tmp_path, management_library)


@pytest.fixture
def cluster(site: Site) -> Cluster:
    """Return the pods of this machine, with the files of the example and one rule."""
    found = Cluster(site.folder / "volumes", site.environ)
    found.settings["speccheck-job"]["speccheck.toml"] = SETTINGS
    found.write_files_of_job()
    return found


def _look(
    cluster: Cluster, node: int, uid: str = UID, **more: str
) -> subprocess.CompletedProcess[str]:
    """Return the pod of one index, on a node of that number."""
    result = {
        "spec.nodeName": f"node-{node}",
        "metadata.labels['batch.kubernetes.io/controller-uid']": uid,
    }
    container = PREFLIGHT.container("preflight")
    return cluster.run(container, result, JOB_COMPLETION_INDEX=str(node), **more)


def _collect(cluster: Cluster) -> subprocess.CompletedProcess[str]:
    return cluster.run(COLLECT.container("fleet"), {})


def _wait(cluster: Cluster) -> subprocess.CompletedProcess[str]:
    cluster.settings["speccheck-settings"]["patience"] = "0"
    return cluster.run(COLLECT.container("wait"), {})


def test_four_fit_nodes_are_a_go(cluster: Cluster) -> None:
    for node in range(4):
        ended = _look(cluster, node)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    results = cluster.folder / "results" / "first" / UID
    assert sorted(item.name for item in results.iterdir()) == [
        f"node-{node}.{kind}" for node in range(4) for kind in ("json", "result.json")
    ]
    line = json.loads((results / "node-3.result.json").read_text("utf-8"))
    result = {key: line[key] for key in ("engine", "node", "job", "rank", "ranks")}
    assert result == {
        "engine": "kubernetes",
        "node": "node-3",
        "job": UID,
        "rank": 3,
        "ranks": 4,
    }
    waited = _wait(cluster)
    assert (waited.returncode, waited.stdout) == (0, "4 of 4 nodes have told\n")
    judged = _collect(cluster)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert "4 fit" in judged.stdout


def test_a_node_with_a_fault_is_no_go_and_listed(site: Site, cluster: Cluster) -> None:
    faulty = str(site.gpus("faulty", REMAP))
    codes = [
        _look(cluster, node, **({"NVML_LIBRARY_FILE": faulty} if node == 2 else {}))
        for node in range(4)
    ]
    ends = [
        manifests.outcome(PREFLIGHT.spec, "preflight", item.returncode)
        for item in codes
    ]
    assert ends == ["Complete", "Complete", "FailIndex", "Complete"]
    judged = _collect(cluster)
    assert judged.returncode == 1
    listed = [line for line in judged.stdout.splitlines() if "kubectl" in line]
    assert len(listed) == 1
    assert listed[0].startswith("kubectl cordon node-2  # speccheck: memory_fault")


def test_a_node_that_never_told_is_missing(cluster: Cluster) -> None:
    for node in (0, 1, 3):
        assert _look(cluster, node).returncode == 0
    waited = _wait(cluster)
    assert (waited.returncode, waited.stderr) == (
        0,
        "3 of 4 nodes have told after 0 s\n",
    )
    judged = _collect(cluster)
    assert judged.returncode == 3
    assert "3 of 4 nodes reported" in judged.stdout


def test_a_run_of_two_jobs_is_refused(cluster: Cluster) -> None:
    for node, uid in ((0, UID), (1, "older")):
        assert _look(cluster, node, uid).returncode == 0
    waited = _wait(cluster)
    assert waited.returncode == 2
    assert "holds the results of 2 jobs" in waited.stderr


def test_a_run_that_is_not_there_yet_is_waited_for(cluster: Cluster) -> None:
    waited = _wait(cluster)
    assert waited.returncode == 0
    assert waited.stderr == "0 of 4 nodes have told after 0 s\n"


@pytest.mark.parametrize(
    ("settings", "gpus", "code", "says"),
    [
        ({}, "healthy", 0, ""),
        ({}, "faulty", 1, "no-go: HW-002 memory_fault_pending GPU 2"),
        ({}, "gone", 0, "allowed, as SPECCHECK_ON_INCONCLUSIVE=allow says"),
        ({"on_inconclusive": "block"}, "gone", 1, "blocks, as SPECCHECK_ON_INC"),
        ({"on_usage": "block"}, "no file", 1, "blocks, as SPECCHECK_ON_USAGE=block"),
    ],
)
def test_an_init_container_blocks_for_a_verdict_and_by_policy(
    site: Site,
    cluster: Cluster,
    settings: dict[str, str],
    gpus: str,
    code: int,
    says: str,
) -> None:
    site.gpus("faulty", REMAP)
    cluster.settings["speccheck-settings"] |= settings
    library = {} if gpus != "gone" else {"LD_LIBRARY_PATH": ""}
    if gpus == "no file":
        (cluster.folder / "job" / "train.sh").unlink()
        (cluster.folder / "job" / "train.json").write_text("{")
    answers = site.folder / f"{gpus}.gpus"
    work = WORK["Job/train"]
    ended = cluster.run(
        work.container("preflight"),
        {"spec.nodeName": "node-7"},
        NVML_LIBRARY_FILE=str(answers if answers.exists() else site.gpus("healthy")),
        **library,
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert says in ended.stderr
    follows = manifests.outcome(work.spec, "preflight", code)
    assert follows == {0: "Complete", 1: "FailJob"}[code]


def test_a_job_set_looks_judges_and_only_then_trains(
    site: Site, cluster: Cluster
) -> None:
    faulty = str(site.gpus("faulty", REMAP))
    container = WORK["JobSet/checked/preflight"].container("preflight")
    judge = WORK["JobSet/checked/collect"].container("fleet")
    said = []
    for node in range(4):
        result = {**JOB_SET, "spec.nodeName": f"node-{node}"}
        gpus = {"NVML_LIBRARY_FILE": faulty} if node == 1 else {}
        ended = cluster.run(container, result, JOB_COMPLETION_INDEX=str(node), **gpus)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        said.append(ended.stdout.splitlines()[-1])
    assert said == [f"speccheck ended with {int(node == 1)}" for node in range(4)]
    assert (cluster.folder / "results" / "77aa-1" / "node-1.json").exists()
    judged = cluster.run(judge, JOB_SET)
    assert judged.returncode == 1
    assert "kubectl cordon node-1" in judged.stdout
    again = {
        **JOB_SET,
        "metadata.labels['jobset.sigs.k8s.io/restart-attempt']": "2",
    }
    (cluster.folder / "results" / "77aa-2").mkdir()
    assert cluster.run(judge, again).returncode == 3  # nothing of the first counts


def test_each_round_of_the_daemon_set_is_judged_alone(
    site: Site, cluster: Cluster
) -> None:
    """Rounds of a second for looking; of three years, so that one is the last."""
    work = WORK["DaemonSet/speccheck-periodic"].container("periodic")
    faulty = str(site.gpus("faulty", REMAP))
    short = {**work, "args": ["1" if item == "3600" else item for item in work["args"]]}
    short["args"] += ["--select", "memory_fault_pending"]
    for node in range(2):
        ended = cluster.run(
            short,
            {"spec.nodeName": f"node-{node}"},
            SPECCHECK_ROUNDS="1",
            NVML_LIBRARY_FILE=faulty if node else site.environ["NVML_LIBRARY_FILE"],
        )
        assert ended.returncode == 0, ended.stderr
        assert f"speccheck ended with {node}\n" in ended.stdout
    periodic = cluster.folder / "results" / "periodic"
    long = 10**8
    now = int(subprocess.check_output(["/bin/date", "+%s"], text=True))
    last = periodic / f"round-{now // long - 1}"
    last.mkdir()
    for folder in sorted(periodic.iterdir()):
        for item in folder.iterdir():
            item.rename(last / item.name)
    (periodic / "round-1").mkdir()
    cluster.settings["speccheck-settings"]["nodes"] = "2"
    judge = WORK["CronJob/speccheck-periodic"].container("fleet")
    judge = {
        **judge,
        "args": [str(long) if item == "3600" else item for item in judge["args"]],
    }
    judge["args"] += ["--select", "memory_fault_pending"]
    judged = cluster.run(judge, {}, SPECCHECK_KEEP_ROUNDS="5")
    assert judged.returncode == 1, judged.stdout + judged.stderr
    assert "kubectl cordon node-1" in judged.stdout
    assert not (periodic / "round-1").exists()
    last.rename(periodic / "round-x")
    nobody = cluster.run(judge, {})
    assert nobody.returncode == 3
    assert "no node looked in that round" in nobody.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("wait", ("only",)),
        ("wait", ("folder", "four", "5")),
        ("periodic", ("folder", "60")),
        ("periodic", ("folder", "0", "preflight")),
        ("last-round", ("folder",)),
        ("last-round", ("folder", "an hour")),
    ],
)
def test_scripts_refuse_what_they_do_not_understand(
    site: Site, name: str, words: tuple[str, ...]
) -> None:
    ended = site.run(INTEGRATIONS / "kubernetes" / f"{name}.sh", *words)
    assert ended.returncode == 2
    assert name in ended.stderr
    assert ended.stdout == ""
