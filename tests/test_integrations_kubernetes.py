"""The manifests of `integrations/kubernetes` hold, as far as no cluster is asked."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import manifests
from corpus import corpus_folder
from manifests import COMPONENTS, FILES, KUBERNETES, Tree, Workload, workloads
from speccheck.validator.cli.main import main

GOLDEN = Path(__file__).with_name("data") / "kubernetes_facts.yaml"
WORK = workloads(*FILES)
OURS = {
    (work.name, container["name"]): (work, container)
    for work in WORK.values()
    for container in work.containers
    if container["image"] == "speccheck"
}
# The oldest release that takes all of them, and newer ones.
RELEASES = ("1.31", "1.34", "1.37")
JOB_SET = KUBERNETES / "jobset.yaml"
TRAINING = [KUBERNETES / f"{name}.yaml" for name in ("preflight-job", "training-job")]


def test_what_the_manifests_do_is_what_was_agreed() -> None:
    found = {name: manifests.facts(work) for name, work in sorted(WORK.items())}
    golden = yaml.safe_load(GOLDEN.read_text("utf-8"))
    assert found == golden, (
        "the manifests changed: if that is meant, python tests/manifests.py writes "
        "tests/data/kubernetes_facts.yaml anew, to be read before it is committed"
    )


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("path", FILES, ids=lambda item: item.name)
def test_objects_of_kubernetes_hold_to_its_schemas(path: Path, release: str) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for tree in manifests.objects(path):
        if tree["kind"] not in {"JobSet", "Kustomization"}:
            kubernetes_validate.validate(tree, release, strict=True)


def test_the_schemas_of_kubernetes_see_what_is_wrong() -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    (tree,) = manifests.objects(KUBERNETES / "preflight-job.yaml")
    tree["spec"]["backoffLimitPerIndx"] = tree["spec"].pop("backoffLimitPerIndex")
    with pytest.raises(kubernetes_validate.ValidationError, match="backoffLimitPerInd"):
        kubernetes_validate.validate(tree, RELEASES[0], strict=True)


def _schema_of_job_sets() -> Tree:
    """Return what JobSet's definition says of v1alpha2, and nothing more."""
    path = corpus_folder("schemas") / "jobset-crd.yaml"
    (version,) = yaml.safe_load(path.read_text("utf-8"))["spec"]["versions"]
    assert version["name"] == "v1alpha2"
    schema: Tree = version["schema"]["openAPIV3Schema"]
    _close(schema)
    return schema


def _close(schema: Any) -> None:  # noqa: ANN401 - a tree of JSON
    """Close a schema: a key that it does not name is an error here."""
    if isinstance(schema, list):
        for item in schema:
            _close(item)
    if not isinstance(schema, dict):
        return
    inner = schema.get("properties")
    if isinstance(inner, dict) and not schema.get(
        "x-kubernetes-preserve-unknown-fields"
    ):
        schema.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        schema.pop("type", None)  # a number or a text: anyOf says so
    for item in schema.values():
        _close(item)


def test_job_sets_hold_to_their_definition() -> None:
    (tree,) = manifests.objects(JOB_SET)
    jsonschema.validate(tree, _schema_of_job_sets())


def test_the_definition_of_job_sets_sees_what_is_wrong() -> None:
    (tree,) = manifests.objects(JOB_SET)
    tree["spec"]["failurePolicy"]["rules"][0]["action"] = "Fail"
    with pytest.raises(jsonschema.ValidationError, match="'Fail' is not one of"):
        jsonschema.validate(tree, _schema_of_job_sets())
    (tree,) = manifests.objects(JOB_SET)
    tree["spec"]["replicatedJobs"][0]["dependOn"] = []
    with pytest.raises(jsonschema.ValidationError, match="'dependOn' was unexpected"):
        jsonschema.validate(tree, _schema_of_job_sets())


@pytest.mark.parametrize("path", [*TRAINING, JOB_SET], ids=lambda item: item.name)
def test_speccheck_finds_no_fault_with_them(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (str(path), "--isolated", "--fail-on", "warning", "--output", "concise")
    assert main([*words]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("key", OURS, ids="/".join)
def test_a_container_of_ours_may_do_no_more_than_it_must(key: tuple[str, str]) -> None:
    work, container = OURS[key]
    may = container["securityContext"]
    assert may["allowPrivilegeEscalation"] is False
    assert may["capabilities"]["drop"] == ["ALL"]
    assert "privileged" not in may
    for name in ("hostNetwork", "hostIPC", "hostPID"):
        assert name not in work.pod
    assert work.pod["automountServiceAccountToken"] is False
    assert work.pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not [item for item in work.pod["volumes"] if "hostPath" in item]
    if work.name == "Job/train":
        # As the worker, whose limits and permissions it looks at.
        worker = work.container("worker")
        assert may == worker["securityContext"]
        return
    assert work.pod["securityContext"]["runAsNonRoot"] is True
    assert may["readOnlyRootFilesystem"] is True
    assert may["capabilities"] == {"drop": ["ALL"]}
    assert "memory" in container["resources"]["requests"]
    assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("work", WORK.values(), ids=lambda item: item.name)
def test_shared_memory_fits_what_the_container_may_take(work: Workload) -> None:
    sizes = [
        item["emptyDir"]["sizeLimit"]
        for item in work.pod.get("volumes", ())
        if item.get("emptyDir", {}).get("medium") == "Memory"
    ]
    for container in work.containers:
        mounts = {item["mountPath"] for item in container.get("volumeMounts", ())}
        wants_gpus = "nvidia.com/gpu" in container["resources"]["limits"]
        assert wants_gpus == ("/dev/shm" in mounts)  # noqa: S108
        if wants_gpus:
            (size,) = sizes
            assert _gibibytes(size) < _gibibytes(container["resources"]["limits"])


def _gibibytes(value: str | Tree) -> int:
    text = value if isinstance(value, str) else value["memory"]
    return int(text.removesuffix("Gi"))


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        # One that was judged again would land on another node and hide the verdict.
        (
            "Job/speccheck-preflight",
            {
                0: "Complete",
                1: "FailIndex",
                2: "FailIndex",
                3: "Count",
                4: "FailIndex",
                124: "Count",
                137: "Count",
            },
        ),
        # Through adapter.sh, which ends with 0 or 1 alone.
        ("Job/train", {0: "Complete", 1: "FailJob"}),
        # The container ends with 0, and the judgement of all decides.
        ("JobSet/checked/preflight", {0: "Complete", 137: "Count"}),
        ("Job/speccheck-collect", {0: "Complete", 1: "Count", 3: "Count"}),
        ("JobSet/checked/collect", {0: "Complete", 1: "Count", 3: "Count"}),
    ],
)
def test_each_exit_code_does_what_the_page_says(
    name: str, ends: dict[int, str]
) -> None:
    work = WORK[name]
    container = work.container("preflight") if "pre" in name else work.containers[-1]
    if name == "Job/train":
        container = work.container("preflight")
    found = {
        code: manifests.outcome(work.spec, container["name"], code) for code in ends
    }
    assert found == ends
    assert work.pod["restartPolicy"] == "Never"  # else it is no pod failure policy


def test_the_worker_s_own_failures_are_retried() -> None:
    assert manifests.outcome(WORK["Job/train"].spec, "worker", 1) == "Count"


def test_a_job_set_trains_only_after_a_judgement_of_all_nodes() -> None:
    (tree,) = manifests.objects(JOB_SET)
    jobs = {item["name"]: item for item in tree["spec"]["replicatedJobs"]}
    assert list(jobs) == ["preflight", "collect", "train"]
    waits = {name: item.get("dependsOn") for name, item in jobs.items()}
    assert waits == {
        "preflight": None,
        "collect": [{"name": "preflight", "status": "Complete"}],
        "train": [{"name": "collect", "status": "Complete"}],
    }
    rules = tree["spec"]["failurePolicy"]["rules"]
    assert [(rule["action"], rule["targetReplicatedJobs"]) for rule in rules] == [
        ("FailJobSet", ["preflight", "collect"]),
        ("RestartJobSet", ["train"]),
    ]


def _kustomized(folder: Path) -> dict[str, Workload]:
    """Return what kubectl makes of a kustomization; it asks no cluster for that."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed: nothing was kustomized")
    found = subprocess.run(
        [kubectl, "kustomize", folder],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert found.returncode == 0, found.stderr
    out = folder / "made.yaml"
    out.write_text(found.stdout, encoding="utf-8")
    return workloads(out)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a copy of the folder, to make a cluster's own kustomization beside it."""
    shutil.copytree(KUBERNETES, tmp_path / "kubernetes")
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


def _site(folder: Path, *components: str, nodes: int = 64) -> dict[str, Workload]:
    text = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["nodes"],
        "components": [
            f"../kubernetes/components/{component}" for component in components
        ],
        "images": [{"name": "registry.example/speccheck", "newName": "ours/image"}],
    }
    settings = manifests.objects(folder.parent / "kubernetes" / "settings.yaml")
    settings[0]["data"]["nodes"] = str(nodes)
    (folder.parent / "kubernetes" / "settings.yaml").write_text(
        yaml.safe_dump(settings[0]), encoding="utf-8"
    )
    text["resources"] = ["../kubernetes"]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(text), encoding="utf-8")
    return _kustomized(folder)


def test_one_number_of_nodes_reaches_all(site: Path) -> None:
    found = _site(site)
    job = found["Job/speccheck-preflight"]
    assert (job.spec["completions"], job.spec["parallelism"]) == (64, 64)
    assert {
        container["image"] for work in found.values() for container in work.containers
    } == {"ours/image:latest"}


def test_components_change_what_they_say(site: Path) -> None:
    names = [path.parent.name for path in COMPONENTS]
    assert names == ["host-network", "many-nodes", "rdma"]
    plain = _site(site)["Job/speccheck-preflight"]
    found = _site(site, *names)["Job/speccheck-preflight"]
    container = found.container("preflight")
    assert container["resources"]["limits"]["rdma/hca_shared_devices_a"] == 1
    assert container["securityContext"]["capabilities"] == {
        "drop": ["ALL"],
        "add": ["IPC_LOCK"],
    }
    assert found.pod["hostNetwork"] is True
    assert found.pod["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert "affinity" in plain.pod
    assert "affinity" not in found.pod
    (spread,) = found.pod["topologySpreadConstraints"]
    assert (spread["maxSkew"], spread["minDomains"]) == (1, 64)
    assert spread["topologyKey"] == "kubernetes.io/hostname"
    selected = spread["labelSelector"]["matchLabels"]
    assert selected.items() <= found.spec["template"]["metadata"]["labels"].items()


def test_what_kustomize_makes_holds_to_the_schemas(site: Path) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    _site(site, *(path.parent.name for path in COMPONENTS))
    for tree in manifests.objects(site / "made.yaml"):
        kubernetes_validate.validate(tree, RELEASES[0], strict=True)


@pytest.mark.parametrize(
    "name", ["Job/speccheck-preflight", "JobSet/checked/preflight"]
)
def test_no_node_gets_two_pods(name: str) -> None:
    work = WORK[name]
    (term,) = work.pod["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    labels = work.spec["template"]["metadata"]["labels"]
    assert term["labelSelector"]["matchLabels"].items() <= labels.items()
    assert work.spec["completions"] == work.spec["parallelism"]


def test_plain_files_agree_on_the_number_of_nodes() -> None:
    (settings,) = manifests.objects(KUBERNETES / "settings.yaml")
    counts = {
        work.spec["completions"]
        for work in WORK.values()
        if work.spec.get("completions", 1) > 1
    }
    assert counts == {int(settings["data"]["nodes"])}
