"""Kubernetes objects that train, by their kind.

Objects of other kinds (Service, ConfigMap, ...) may stand in the same file.
"""

from collections.abc import Callable
from functools import partial

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._kubernetes_kubeflow import (
    read_hyperpod_job,
    read_mpi_job,
    read_pytorch_job,
)
from speccheck.validator.sources.formats._kubernetes_pods import LAUNCHERS, pod_at
from speccheck.validator.sources.formats._kubernetes_ray import (
    read_ray_cluster,
    read_ray_job,
)
from speccheck.validator.sources.formats._kubernetes_sets import (
    read_job,
    read_job_set,
    read_leader_worker_set,
    read_runtime,
    read_train_job,
)
from speccheck.validator.sources.mapping import section
from speccheck.validator.sources.reader import Reader, Reading, Role

_SURE = 0.95
_LIKELY = 0.6
_SERVERS = (
    "llama-server",
    "sglang.launch_server",
    "text-generation-launcher",
    "tritonserver",
    "trtllm-serve",
    "vllm serve",
    "vllm.entrypoints",
)


def _is_kind(kind: str, group: str, document: Document) -> float:
    data = section(document.data)
    version = data.get("apiVersion")
    if data.get("kind") != kind or not isinstance(version, str):
        return 0.0
    return _SURE if version.startswith(f"{group}/") else 0.0


def _is_training_job(kind: str, group: str, document: Document) -> float:
    """A kind that runs anything: by accelerators or a launcher, and no server."""
    if not _is_kind(kind, group, document):
        return 0.0
    path: KeyPath = ("spec", "template", "spec")
    if kind == "LeaderWorkerSet":
        path = ("spec", "leaderWorkerTemplate", "workerTemplate", "spec")
    pod = pod_at(document, path)
    if any(container.runs(_SERVERS) for container in pod.containers):
        return 0.0
    launched = any(container.runs(LAUNCHERS) for container in pod.containers)
    return _LIKELY if launched or pod.accelerators else 0.0


def _reader(
    kind: str,
    group: str,
    read: Callable[[Document], Reading],
    detect: Callable[[str, str, Document], float] = _is_kind,
    role: Role = "launcher",
) -> Reader:
    name = f"k8s-{kind.lower()}"
    return Reader(name, role, partial(detect, kind, group), read, keys=("apiVersion",))


_TRAINER = "trainer.kubeflow.org"
READERS = (
    _reader("PyTorchJob", "kubeflow.org", read_pytorch_job),
    _reader("MPIJob", "kubeflow.org", read_mpi_job),
    _reader("TrainJob", _TRAINER, read_train_job),
    # A file of its own, whose values a job takes over where it states none.
    _reader(
        "TrainingRuntime",
        _TRAINER,
        partial(read_runtime, "k8s-trainingruntime"),
        role="config",
    ),
    _reader(
        "ClusterTrainingRuntime",
        _TRAINER,
        partial(read_runtime, "k8s-clustertrainingruntime"),
        role="config",
    ),
    _reader("JobSet", "jobset.x-k8s.io", read_job_set),
    _reader("RayJob", "ray.io", read_ray_job),
    _reader("RayCluster", "ray.io", read_ray_cluster),
    _reader("HyperPodPyTorchJob", "sagemaker.amazonaws.com", read_hyperpod_job),
    _reader("Job", "batch", read_job, _is_training_job),
    _reader(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io",
        read_leader_worker_set,
        _is_training_job,
    ),
)
