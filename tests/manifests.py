"""Manifests of `integrations/kubernetes`: read, told in short, run without a cluster.

A pod is played by processes of this machine: its variables, command and arguments are
those that the manifest gives it, with the paths of its volumes led into a folder.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
INTEGRATIONS = ROOT / "integrations"
KUBERNETES = INTEGRATIONS / "kubernetes"
COMPONENTS = sorted(KUBERNETES.glob("components/*/kustomization.yaml"))
FILES = sorted(KUBERNETES.glob("*.yaml"))
_IN_IMAGE = "/usr/local/lib/speccheck"
_REFERENCE = re.compile(r"\$\((\w+)\)")
_PATIENCE_SECONDS = 120
_OF_PODS = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}  # the kubelet tells it each pod

Tree = dict[str, Any]


class Workload(NamedTuple):
    """An object that makes pods, or a part of one, and the pods that it makes."""

    name: str
    kind: str
    spec: Tree  # of the Job, DaemonSet or CronJob
    pod: Tree

    @property
    def containers(self) -> list[Tree]:
        """All containers, those that run first coming first."""
        return [*self.pod.get("initContainers", ()), *self.pod["containers"]]

    def container(self, name: str) -> Tree:
        """Return the container of that name."""
        (found,) = (item for item in self.containers if item["name"] == name)
        return found


def objects(path: Path) -> list[Tree]:
    """Return the objects of a file."""
    text = path.read_text("utf-8")
    return [tree for tree in yaml.load_all(text, yaml.CSafeLoader) if tree]


def workloads(*files: Path) -> dict[str, Workload]:
    """Return what makes pods, by kind and name."""
    found = [item for path in files for tree in objects(path) for item in _made(tree)]
    assert len({finding.name for finding in found}) == len(found)
    return {finding.name: finding for finding in found}


def _made(tree: Tree) -> Iterator[Workload]:
    kind, name, spec = tree["kind"], tree.get("metadata", {}).get("name"), tree
    if kind == "JobSet":
        for item in tree["spec"]["replicatedJobs"]:
            job = item["template"]["spec"]
            full = f"JobSet/{name}/{item['name']}"
            yield Workload(full, "Job", job, job["template"]["spec"])
    elif kind == "CronJob":
        spec = tree["spec"]["jobTemplate"]["spec"]
        yield Workload(f"CronJob/{name}", "Job", spec, spec["template"]["spec"])
    elif kind in {"Job", "DaemonSet"}:
        spec = tree["spec"]
        yield Workload(f"{kind}/{name}", kind, spec, spec["template"]["spec"])


def facts(work: Workload) -> Tree:
    """Return what somebody who runs it has to know: the golden test holds it."""
    return {
        "runs": _without_empty(
            {
                "completions": work.spec.get("completions"),
                "seconds": work.spec.get("activeDeadlineSeconds"),
                "retries": _retries(work.spec),
                "on": _rules(work.spec),
                "restart": work.pod.get("restartPolicy"),
                "grace": work.pod["terminationGracePeriodSeconds"],
            }
        ),
        "volumes": {
            item["name"]: next(
                f"{kind}: {_short(source)}"
                for kind, source in item.items()
                if kind != "name"
            )
            for item in work.pod.get("volumes", ())
        },
        "containers": {item["name"]: _of_container(item) for item in work.containers},
    }


def _of_container(entry: Tree) -> Tree:
    may = entry["securityContext"]
    return _without_empty(
        {
            "image": entry["image"],
            "command": " ".join((*entry["command"], *entry["args"])),
            "env": {
                item["name"]: item.get("value") or _short(item["valueFrom"])
                for item in entry.get("env", ())
            },
            "envFrom": [_short(item) for item in entry.get("envFrom", ())],
            "requests": _short(entry["resources"].get("requests", {})),
            "limits": _short(entry["resources"].get("limits", {})),
            "may": _short(may),
            "mounts": " ".join(
                item["mountPath"] + (" (ro)" if item.get("readOnly") else "")
                for item in entry.get("volumeMounts", ())
            ),
        }
    )


def _retries(spec: Tree) -> str:
    for key in ("backoffLimitPerIndex", "backoffLimit"):
        if key in spec:
            return f"{key} {spec[key]}"
    return ""


def _rules(spec: Tree) -> list[str]:
    rules = spec.get("podFailurePolicy", {}).get("rules", ())
    return [
        f"{rule['action']}: "
        f"{_short(rule.get('onExitCodes') or rule['onPodConditions'])}"
        for rule in rules
    ]


def _short(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000).strip()
    text = text.removesuffix("\n...")
    return text[1:-1] if isinstance(value, dict) else text


def _without_empty(tree: Tree) -> Tree:
    return {name: value for name, value in tree.items() if value not in (None, "", [])}


def outcome(spec: Tree, container: str, code: int) -> str:
    """Return what the pod failure policy says of a container that ended with that code.

    The first rule that fits counts; where none does, the failure is counted
    (kubernetes.io, Jobs, Pod failure policy). 0 is no failure, no rule speaks of it.
    """
    if code == 0:
        return "Complete"
    for rule in spec.get("podFailurePolicy", {}).get("rules", ()):
        on = rule.get("onExitCodes")
        if on is None or on.get("containerName", container) != container:
            continue
        if (code in on["values"]) == (on["operator"] == "In"):
            action: str = rule["action"]
            return action
    return "Count"


class Cluster:
    """Where pods are played: volumes, settings, and what the pods are told."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self.environ = dict(environ)
        self.settings = {
            item["metadata"]["name"]: dict(item["data"])
            for path in FILES
            for item in objects(path)
            if item["kind"] == "ConfigMap"
        }

    def volume(self, mount: str) -> Path:
        """Return the folder behind a mount."""
        path = self.folder / mount.strip("/")
        path.mkdir(parents=True, exist_ok=True)
        return path

    def write_files_of_job(self) -> None:
        """Write the job's files as the kubelet does: links to a folder of a day."""
        job = self.volume("/job")
        day = job / "..2026_01_31_00_00_00.1"
        day.mkdir()
        (job / "..data").symlink_to(day.name)
        for name, text in self.settings["speccheck-job"].items():
            (day / name).write_text(text, encoding="utf-8")
            (job / name).symlink_to(f"..data/{name}")

    def run(
        self,
        container: Tree,
        result: Mapping[str, str],
        **more: str,
    ) -> subprocess.CompletedProcess[str]:
        """Return one container, from its start to its end.

        Args:
            container: of the manifest.
            result: what the downward API gives, by its field path.
            more: variables that the kubelet or the test sets.

        """
        own = self._variables(container, result) | more
        words = [*container["command"], *container.get("args", ())]
        mounts = [item["mountPath"] for item in container.get("volumeMounts", ())]
        return subprocess.run(
            [self._led(_expanded(word, own), mounts) for word in words],
            env=self.environ | _OF_PODS | own,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE_SECONDS,
        )

    def _variables(self, container: Tree, result: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for item in container.get("env", ()):
            source = item.get("valueFrom", {})
            if "fieldRef" in source:
                found[item["name"]] = result[source["fieldRef"]["fieldPath"]]
            elif "configMapKeyRef" in source:
                at = source["configMapKeyRef"]
                found[item["name"]] = self.settings[at["name"]][at["key"]]
            elif "value" in item:
                found[item["name"]] = item["value"]
            else:
                assert source["secretKeyRef"]["optional"] is True
        return found

    def _led(self, word: str, mounts: list[str]) -> str:
        """Return a word with the paths of the pod led to where they are here."""
        for place in mounts:
            if place not in {"/tmp", "/dev/shm"}:  # noqa: S108 - the names of mounts
                path = re.escape(place)
                here = str(self.volume(place))
                word = re.sub(rf"(?<![\w./-]){path}(?=/|\s|\"|$)", here, word)
        return word.replace(_IN_IMAGE, str(INTEGRATIONS))


def _expanded(word: str, variables: Mapping[str, str]) -> str:
    """Return a text expanded as by the kubelet: names that nobody set stay."""
    return _REFERENCE.sub(lambda item: variables.get(item[1], item[0]), word)


if __name__ == "__main__":
    _found = {item.name: facts(item) for item in workloads(*FILES).values()}
    (Path(__file__).with_name("data") / "kubernetes_facts.yaml").write_text(
        "# Written by tests/manifests.py; read it before you commit it.\n"
        + yaml.safe_dump(_found, width=88),
        encoding="utf-8",
    )
