"""Kubernetes objects that train, by their kind.

Jobs of Kubernetes itself and sets of them, of the Kubeflow training operator, of
HyperPod and of KubeRay. Objects of other kinds (Service, ConfigMap, ...) may stand in
the same file. Sources: Kubernetes batch/v1; kubernetes-sigs/jobset v1alpha2;
kubernetes-sigs/lws v1; kubeflow/trainer v1alpha1; kubeflow.org/v1 with the defaults of
kubeflow/training-operator (pkg/apis/kubeflow.org/v1); kubeflow/mpi-operator;
sagemaker.amazonaws.com/v1; ray.io/v1 of ray-project/kuberay.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._kubernetes import (
    LAUNCHERS,
    KubernetesJob,
    Pod,
    PodContainer,
    ReplicaCount,
    ReplicaGroup,
    count_at,
    fields_at,
    pod_at,
    product,
    weakened,
)
from speccheck.validator.sources.mapping import integer, items, lower_text, section
from speccheck.validator.sources.reader import Reader, Reading, Role

_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_JOB_BACKOFF = 6  # batch/v1 JobSpec.backoffLimit
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
    """Return whether a kind trains: by accelerators or a launcher, and no server."""
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
    name: str = "",
) -> Reader:
    name = name or f"k8s-{kind.lower()}"
    return Reader(name, role, partial(detect, kind, group), read, keys=("apiVersion",))


_TRAINER = "trainer.kubeflow.org"


def _read_pytorch_job(document: Document) -> Reading:
    spec = section(document.data, "spec")
    at: KeyPath = ("spec", "pytorchReplicaSpecs")
    job = KubernetesJob(
        document, _replicas(document, at, {"Master": True, "Worker": True})
    )
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


def _read_mpi_job(document: Document) -> Reading:
    spec = section(document.data, "spec")
    at: KeyPath = ("spec", "mpiReplicaSpecs")
    counts = spec.get("runLauncherAsWorker") is True
    job = KubernetesJob(
        document, _replicas(document, at, {"Worker": True, "Launcher": counts})
    )
    job.state_deadline(section(spec, "runPolicy"), ("spec", "runPolicy"))
    _state_policy(job, at, "Never")  # MPIJobDefaultRestartPolicy
    return job.reading("k8s-mpijob")


def _read_hyperpod_job(document: Document) -> Reading:
    spec = section(document.data, "spec")
    groups: list[ReplicaGroup] = []
    for index, item in enumerate(items(spec.get("replicaSpecs"))):
        at = ("spec", "replicaSpecs", index)
        pod = pod_at(document, (*at, "template", "spec"))
        groups.append(
            ReplicaGroup(pod, count_at(section(item), "replicas", at), trains=True)
        )
    job = KubernetesJob(document, groups)
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
) -> Iterator[ReplicaGroup]:
    """Yield the replica specs of Kubeflow.

    Those that hold no ranks start the others.
    """
    for kind, fields in fields_at(document, at).items():
        if kind in kinds and isinstance(fields, dict):
            path = (*at, kind)
            pod = pod_at(document, (*path, "template", "spec"))
            trains = kinds[kind]
            yield ReplicaGroup(
                pod, count_at(fields, "replicas", path), trains, not trains
            )


def _state_policy(job: KubernetesJob, at: KeyPath, default: str) -> str:
    """Return the restart policy of the replicas; nothing where they differ."""
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


def _state_elastic(
    job: KubernetesJob, elastic: Mapping[str, object], at: KeyPath
) -> None:
    """State the range of pods and the meeting point of an elastic PyTorchJob."""
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


def _state_resumption(job: KubernetesJob) -> None:
    """State that HyperPod starts a job again whose annotation asks for it."""
    at = ("metadata", "annotations", "sagemaker.amazonaws.com/enable-job-auto-resume")
    if section(job.document.data, *at[:-1]).get(at[-1]) == "true":
        job.sheet.state("recovery.requeue", value=True, at=at)


def _read_ray_cluster(document: Document) -> Reading:
    job = KubernetesJob(document, _ray_groups(document, ("spec",)))
    _state_shared_memory(job)
    return job.reading("k8s-raycluster")


def _read_ray_job(
    document: Document, format_id: str = "k8s-rayjob", at: KeyPath = ("spec",)
) -> Reading:
    spec = fields_at(document, at)
    job = KubernetesJob(document, _ray_groups(document, (*at, "rayClusterSpec")))
    _state_shared_memory(job)
    job.entrypoint((*at, "entrypoint"))
    backoff = count_at(spec, "backoffLimit", at, 0)
    if job.groups:
        job.state_restarts([("RayJob", backoff)])
    job.state_deadline(spec, at)
    return job.reading(format_id)


def _read_ray_cron_job(document: Document) -> Reading:
    """Return the job that is started again and again, by the keys of a RayJob."""
    at: KeyPath = ("spec", "jobTemplate")
    reading = _read_ray_job(document, "k8s-raycronjob", at)
    if reading.keyed is None:
        return reading
    keys = tuple(
        key._replace(path=("spec", *key.path[len(at) :]), at=key.place)
        for key in reading.keyed.keys
        if key.path[: len(at)] == at and key.path != at
    )
    return reading._replace(keyed=reading.keyed._replace(keys=keys))


def _ray_groups(document: Document, at: KeyPath) -> Iterator[ReplicaGroup]:
    """Yield the head, if it has accelerators of its own, and the groups of workers."""
    spec = fields_at(document, at)
    head = pod_at(document, (*at, "headGroupSpec", "template", "spec"))
    if head.accelerators:
        yield ReplicaGroup(head, ReplicaCount(1))
    for index, item in enumerate(items(spec.get("workerGroupSpecs"))):
        path = (*at, "workerGroupSpecs", index)
        fields = section(item)
        hosts = count_at(fields, "numOfHosts", path)
        count = product(count_at(fields, "replicas", path, None), hosts)
        yield ReplicaGroup(pod_at(document, (*path, "template", "spec")), count)


def _state_shared_memory(job: KubernetesJob) -> None:
    """State that KubeRay mounts memory at /dev/shm if the pod mounts nothing."""
    leaf = "container.shared_memory_volume"
    facts = job.sheet.facts
    if any(fact.name == leaf and fact.value == "none" for fact in facts):
        own = {leaf, "container.shared_memory_bytes"}
        facts[:] = [fact for fact in facts if fact.name not in own]
        job.sheet.default(leaf, "memory", "KubeRay mounts memory at /dev/shm")


def _read_job(document: Document) -> Reading:
    spec = section(document.data, "spec")
    pod = pod_at(document, ("spec", "template", "spec"))
    job = KubernetesJob(document, [ReplicaGroup(pod, _pods_at_once(spec, ("spec",)))])
    job.state_deadline(spec, ("spec",))
    backoff = count_at(spec, "backoffLimit", ("spec",), _JOB_BACKOFF)
    _state_job_restarts(job, pod, [("Job", backoff)])
    return job.reading("k8s-job")


def _read_job_set(document: Document) -> Reading:
    job = KubernetesJob(document, _not_ended_before_others(document, ("spec",)))
    _state_job_set(job, ("spec",))
    _state_placement(job)
    return job.reading("k8s-jobset")


def _read_runtime(format_id: str, document: Document) -> Reading:
    """Return a template that TrainJobs name: all that it says they may replace."""
    at: KeyPath = ("spec", "template", "spec")
    policy = section(document.data, "spec", "mlPolicy")
    nodes = count_at(policy, "numNodes", ("spec", "mlPolicy"))
    steps = [
        group._replace(replicas=nodes, trains=True)
        for group in _replicated_jobs(document, at)
        if _is_trainer(document, group)
    ]
    job = KubernetesJob(document, steps)
    if "torch" in policy:
        job.sheet.default("run.uses_torch", value=True, note="mlPolicy.torch")
    for kind in ("torch", "mpi"):
        _state_policy_of_runtime(job, kind, section(policy, kind))
    _state_job_set(job, at)
    weakened(job.sheet, "of the runtime, which a TrainJob may replace")
    return job.reading(format_id)


def _read_train_job(document: Document) -> Reading:
    trainer = section(document.data, "spec", "trainer")
    at: KeyPath = ("spec", "trainer")
    container = PodContainer(at, trainer, "resourcesPerNode")
    count = count_at(trainer, "numNodes", at, None)
    groups = (
        [ReplicaGroup(Pod(at, {}, (container,)), count, trains=True)] if trainer else []
    )
    job = KubernetesJob(document, groups)
    if trainer.get("numNodes") is None:
        job.sheet.facts[:] = [
            fact for fact in job.sheet.facts if fact.name != "cluster.nodes"
        ]
    job.state_processes(trainer, "numProcPerNode", at)
    job.state_deadline(section(document.data, "spec"), ("spec",))
    name = section(document.data, "spec", "runtimeRef").get("name")
    # The runtimes that come with the Kubeflow Trainer are named for what they start.
    if isinstance(name, str) and name.startswith(("torch", "deepspeed")):
        job.sheet.default("run.uses_torch", value=True, note=f"the runtime {name[:60]}")
    return job.reading("k8s-trainjob")


def _read_leader_worker_set(document: Document) -> Reading:
    spec = section(document.data, "spec")
    at: KeyPath = ("spec", "leaderWorkerTemplate")
    fields = section(spec, "leaderWorkerTemplate")
    size = count_at(fields, "size", at)
    worker = pod_at(document, (*at, "workerTemplate", "spec"))
    leader = pod_at(document, (*at, "leaderTemplate", "spec"))
    if leader.containers and leader.accelerators is None and size.value:
        size = size._replace(value=size.value - 1, note="without the leader")
    count = product(size, count_at(spec, "replicas", ("spec",)))
    return KubernetesJob(document, [ReplicaGroup(worker, count)]).reading(
        "k8s-leaderworkerset"
    )


def _read_volcano_job(document: Document) -> Reading:
    """Return a Job of Volcano: tasks of equal pods, all of which run together."""
    groups: list[ReplicaGroup] = []
    tasks = items(section(document.data, "spec").get("tasks"))
    for index, task in enumerate(tasks):
        path: KeyPath = ("spec", "tasks", index)
        pod = pod_at(document, (*path, "template", "spec"))
        fields = task if isinstance(task, dict) else {}
        groups.append(ReplicaGroup(pod, count_at(fields, "replicas", path)))
    return KubernetesJob(document, groups).reading("k8s-volcanojob")


def _is_volcano_job(kind: str, group: str, document: Document) -> float:
    """Return whether a Job of Volcano trains: a pod of it launches or has GPUs."""
    if not _is_kind(kind, group, document):
        return 0.0
    tasks = items(section(document.data, "spec").get("tasks"))
    pods = [
        pod_at(document, ("spec", "tasks", index, "template", "spec"))
        for index in range(len(tasks))
    ]
    containers = [container for pod in pods for container in pod.containers]
    if any(container.runs(_SERVERS) for container in containers):
        return 0.0
    launched = any(container.runs(LAUNCHERS) for container in containers)
    return _LIKELY if launched or any(pod.accelerators for pod in pods) else 0.0


def _pods_at_once(spec: Mapping[str, object], at: KeyPath) -> ReplicaCount:
    """Return the pods of a Job that run together: no more than are to be completed."""
    pods = count_at(spec, "parallelism", at)
    wanted = count_at(spec, "completions", at)
    if not wanted.paths or pods.value is None or wanted.value is None:
        return pods
    return min(pods, wanted, key=lambda count: count.value or 0)


def _state_job_restarts(
    job: KubernetesJob, pod: Pod, parts: list[tuple[str, ReplicaCount]]
) -> None:
    """State what a Job's controllers start again; where no pod trains, nothing."""
    if not job.groups:
        return
    job.state_restarts(parts)
    # With no retry left the Job fails before the container is started again.
    if any(count.value for _, count in parts):
        at = (*pod.path, "restartPolicy")
        job.state_restart_policy(at, pod.spec.get("restartPolicy"), "")


def _replicated_jobs(document: Document, at: KeyPath) -> Iterator[ReplicaGroup]:
    jobs = items(fields_at(document, at).get("replicatedJobs"))
    for index, item in enumerate(jobs):
        path = (*at, "replicatedJobs", index)
        spec = section(item, "template", "spec")
        pods = _pods_at_once(spec, (*path, "template", "spec"))
        count = product(pods, count_at(section(item), "replicas", path))
        pod = pod_at(document, (*path, "template", "spec", "template", "spec"))
        yield ReplicaGroup(pod, count)


def _not_ended_before_others(document: Document, at: KeyPath) -> Iterator[ReplicaGroup]:
    """Yield the jobs of a set but those that must end before another begins.

    A pre-flight of all nodes, or a download, before the job that trains.
    """
    jobs = [
        section(item) for item in items(fields_at(document, at).get("replicatedJobs"))
    ]
    awaited = [
        item.get("name")
        for job in jobs
        for item in map(section, items(job.get("dependsOn")))
        if item.get("status") == "Complete"
    ]
    for job, group in zip(jobs, _replicated_jobs(document, at), strict=True):
        if job.get("name") is None or job["name"] not in awaited:
            yield group


def _state_job_set(job: KubernetesJob, at: KeyPath) -> None:
    """State the restarts of the whole set, and of the pods of the job that trains."""
    if not job.groups:
        return
    pod = job.groups[0].pod
    of_job = pod.path[:-2]
    policy = fields_at(job.document, (*at, "failurePolicy"))
    restarts = count_at(policy, "maxRestarts", (*at, "failurePolicy"), 0)
    fields = fields_at(job.document, of_job)
    backoff = count_at(fields, "backoffLimit", of_job, _JOB_BACKOFF)
    _state_job_restarts(job, pod, [("JobSet", restarts), ("Job", backoff)])
    job.state_deadline(fields, of_job)


def _state_placement(job: KubernetesJob) -> None:
    """State the annotation that gives each of its jobs a part of the network alone."""
    at: KeyPath = ("metadata", "annotations", _EXCLUSIVE)
    for path in (at, ("spec", "replicatedJobs", 0, "template", *at)):
        if isinstance(fields_at(job.document, path[:-1]).get(_EXCLUSIVE), str):
            leaf = "cluster.placement_requested"
            job.sheet.derive(leaf, True, _EXCLUSIVE, path)  # noqa: FBT003
            return


def _is_trainer(document: Document, group: ReplicaGroup) -> bool:
    """Return the job whose label says that it trains; others prepare model and data."""
    template = group.pod.path[:-3]
    labels = fields_at(document, (*template, "metadata", "labels"))
    return labels.get("trainer.kubeflow.org/trainjob-ancestor-step") == "trainer"


def _state_policy_of_runtime(
    job: KubernetesJob, kind: str, policy: Mapping[str, object]
) -> None:
    at: KeyPath = ("spec", "mlPolicy", kind)
    job.state_processes(policy, "numProcPerNode", at)
    elastic = section(policy, "elasticPolicy")
    bounds = (
        ("minNodes", "recovery.minimum_nodes"),
        ("maxNodes", "recovery.maximum_nodes"),
    )
    for key, leaf in bounds:
        job.put(leaf, integer, (*at, "elasticPolicy", key), elastic.get(key))


READERS = (
    _reader("PyTorchJob", "kubeflow.org", _read_pytorch_job),
    _reader("MPIJob", "kubeflow.org", _read_mpi_job),
    _reader("TrainJob", _TRAINER, _read_train_job),
    # A file of its own, whose values a job takes over where it states none.
    _reader(
        "TrainingRuntime",
        _TRAINER,
        partial(_read_runtime, "k8s-trainingruntime"),
        role="config",
    ),
    _reader(
        "ClusterTrainingRuntime",
        _TRAINER,
        partial(_read_runtime, "k8s-clustertrainingruntime"),
        role="config",
    ),
    _reader("JobSet", "jobset.x-k8s.io", _read_job_set),
    _reader("RayJob", "ray.io", _read_ray_job),
    _reader("RayCronJob", "ray.io", _read_ray_cron_job),
    _reader("RayCluster", "ray.io", _read_ray_cluster),
    _reader("HyperPodPyTorchJob", "sagemaker.amazonaws.com", _read_hyperpod_job),
    _reader("Job", "batch", _read_job, _is_training_job),
    _reader(
        "Job",
        "batch.volcano.sh",
        _read_volcano_job,
        _is_volcano_job,
        name="k8s-volcanojob",
    ),
    _reader(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io",
        _read_leader_worker_set,
        _is_training_job,
    ),
)
