"""Jobs of the Kubeflow training operator and of HyperPod: replicas by name.

Sources: the kubeflow.org/v1 API with the defaults of kubeflow/training-operator
(pkg/apis/kubeflow.org/v1), kubeflow/mpi-operator, and sagemaker.amazonaws.com/v1.
"""

from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._kubernetes import Group, Job, count_at
from speccheck.validator.sources.formats._kubernetes_pods import fields_at, pod_at
from speccheck.validator.sources.mapping import integer, items, lower_text, section
from speccheck.validator.sources.reader import Reading


def read_pytorch_job(document: Document) -> Reading:
    spec = section(document.data, "spec")
    at: KeyPath = ("spec", "pytorchReplicaSpecs")
    job = Job(document, _replicas(document, at, {"Master": True, "Worker": True}))
    job.sheet.default("run.uses_torch", value=True, note="a PyTorchJob")
    job.state_processes(spec, "nprocPerNode", ("spec",))
    run, elastic = section(spec, "runPolicy"), section(spec, "elasticPolicy")
    job.state_deadline(run, ("spec", "runPolicy"))
    _state_elastic(job, elastic, ("spec", "elasticPolicy"))
    # PytorchJobDefaultRestartPolicy of the training operator.
    policy = _state_policy(job, at, "OnFailure")
    if elastic.get("maxRestarts") is not None:
        restarts = count_at(elastic, "maxRestarts", ("spec", "elasticPolicy"))
        job.state_restarts([("operator", restarts)])
    elif run.get("backoffLimit") is not None and policy != "Never":
        restarts = count_at(run, "backoffLimit", ("spec", "runPolicy"))
        job.state_restarts([("operator", restarts)])
    _state_resumption(job)
    return job.reading("k8s-pytorchjob")


def read_mpi_job(document: Document) -> Reading:
    spec = section(document.data, "spec")
    at: KeyPath = ("spec", "mpiReplicaSpecs")
    counts = spec.get("runLauncherAsWorker") is True
    job = Job(document, _replicas(document, at, {"Worker": True, "Launcher": counts}))
    job.state_deadline(section(spec, "runPolicy"), ("spec", "runPolicy"))
    _state_policy(job, at, "Never")  # MPIJobDefaultRestartPolicy
    return job.reading("k8s-mpijob")


def read_hyperpod_job(document: Document) -> Reading:
    spec = section(document.data, "spec")
    groups: list[Group] = []
    for index, item in enumerate(items(spec.get("replicaSpecs"))):
        at = ("spec", "replicaSpecs", index)
        pod = pod_at(document, (*at, "template", "spec"))
        groups.append(Group(pod, count_at(section(item), "replicas", at), trains=True))
    job = Job(document, groups)
    job.sheet.default("run.uses_torch", value=True, note="a HyperPodPyTorchJob")
    job.state_processes(spec, "nprocPerNode", ("spec",))
    run = section(spec, "runPolicy")
    if run.get("jobMaxRetryCount") is not None:
        restarts = count_at(run, "jobMaxRetryCount", ("spec", "runPolicy"))
        job.state_restarts([("operator", restarts)])
    if len(groups) == 1:
        at = ("spec", "replicaSpecs", 0)
        spares = section(items(spec.get("replicaSpecs"))[0]).get("spares")
        job.put("cluster.spare_nodes", integer, (*at, "spares"), spares)
    return job.reading("k8s-hyperpodpytorchjob")


def _replicas(
    document: Document, at: KeyPath, kinds: Mapping[str, bool]
) -> Iterator[Group]:
    """The replica specs of Kubeflow; those that hold no ranks start the others."""
    for kind, fields in fields_at(document, at).items():
        if kind in kinds and isinstance(fields, dict):
            path = (*at, kind)
            pod = pod_at(document, (*path, "template", "spec"))
            trains = kinds[kind]
            yield Group(pod, count_at(fields, "replicas", path), trains, not trains)


def _state_policy(job: Job, at: KeyPath, default: str) -> str:
    """The restart policy of the replicas; nothing where they differ."""
    specs = fields_at(job.document, at)
    policies = {
        kind: section(specs, kind).get("restartPolicy") or default for kind in specs
    }
    if len(set(map(str, policies.values()))) != 1:
        return ""
    kind = next(iter(policies))
    value = section(specs, kind).get("restartPolicy")
    job.state_restart_policy((*at, kind, "restartPolicy"), value, default)
    return str(policies[kind])


def _state_elastic(job: Job, elastic: Mapping[str, object], at: KeyPath) -> None:
    """The range of pods and the meeting point of an elastic PyTorchJob."""
    bounds = (
        ("minReplicas", "recovery.minimum_nodes"),
        ("maxReplicas", "recovery.maximum_nodes"),
    )
    for key, leaf in bounds:
        job.put_unless("--nnodes", leaf, integer, (*at, key), elastic.get(key))
    job.state_processes(elastic, "nProcPerNode", at)
    backend = "recovery.rendezvous_backend"
    key = "rdzvBackend"
    flag = "--rdzv-backend"
    job.put_unless(flag, backend, lower_text, (*at, key), elastic.get(key))
    host, port = elastic.get("rdzvHost"), elastic.get("rdzvPort")
    if isinstance(host, str) and host:
        endpoint = host if port is None else f"{host}:{port}"
        leaf, flag = "recovery.rendezvous_endpoint", "--rdzv-endpoint"
        job.put_unless(flag, leaf, lower_text, (*at, "rdzvHost"), endpoint)


def _state_resumption(job: Job) -> None:
    """HyperPod starts a job again whose annotation asks for it."""
    at = ("metadata", "annotations", "sagemaker.amazonaws.com/enable-job-auto-resume")
    if section(job.document.data, *at[:-1]).get(at[-1]) == "true":
        job.sheet.state("recovery.requeue", value=True, at=at)
