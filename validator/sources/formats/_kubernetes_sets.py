"""Jobs of Kubernetes itself, sets of them, and the trainer that is built on them.

Sources: Kubernetes batch/v1; kubernetes-sigs/jobset v1alpha2; kubernetes-sigs/lws v1;
kubeflow/trainer v1alpha1.
"""

from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._kubernetes import (
    Group,
    Job,
    count_at,
    product,
    weakened,
)
from speccheck.validator.sources.formats._kubernetes_pods import (
    Container,
    Count,
    Pod,
    fields_at,
    pod_at,
)
from speccheck.validator.sources.mapping import integer, items, section
from speccheck.validator.sources.reader import Reading

_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_JOB_BACKOFF = 6  # batch/v1 JobSpec.backoffLimit


def read_job(document: Document) -> Reading:
    spec = section(document.data, "spec")
    pod = pod_at(document, ("spec", "template", "spec"))
    job = Job(document, [Group(pod, _pods_at_once(spec, ("spec",)))])
    job.state_deadline(spec, ("spec",))
    backoff = count_at(spec, "backoffLimit", ("spec",), _JOB_BACKOFF)
    _state_job_restarts(job, pod, [("Job", backoff)])
    return job.reading("k8s-job")


def read_job_set(document: Document) -> Reading:
    job = Job(document, _not_ended_before_others(document, ("spec",)))
    _state_job_set(job, ("spec",))
    _state_placement(job)
    return job.reading("k8s-jobset")


def read_runtime(format_id: str, document: Document) -> Reading:
    """A template that TrainJobs name: all that it says they may replace."""
    at: KeyPath = ("spec", "template", "spec")
    policy = section(document.data, "spec", "mlPolicy")
    nodes = count_at(policy, "numNodes", ("spec", "mlPolicy"))
    steps = [
        group._replace(replicas=nodes, trains=True)
        for group in _replicated_jobs(document, at)
        if _is_trainer(document, group)
    ]
    job = Job(document, steps)
    if "torch" in policy:
        job.sheet.default("run.uses_torch", value=True, note="mlPolicy.torch")
    for kind in ("torch", "mpi"):
        _state_policy_of_runtime(job, kind, section(policy, kind))
    _state_job_set(job, at)
    weakened(job.sheet, "of the runtime, which a TrainJob may replace")
    return job.reading(format_id)


def read_train_job(document: Document) -> Reading:
    trainer = section(document.data, "spec", "trainer")
    at: KeyPath = ("spec", "trainer")
    container = Container(at, trainer, "resourcesPerNode")
    count = count_at(trainer, "numNodes", at, None)
    groups = [Group(Pod(at, {}, (container,)), count, trains=True)] if trainer else []
    job = Job(document, groups)
    if trainer.get("numNodes") is None:
        job.sheet.facts[:] = [
            fact for fact in job.sheet.facts if fact.name != "cluster.nodes"
        ]
    key = "numProcPerNode"
    job.state_processes(trainer, key, at)
    job.state_deadline(section(document.data, "spec"), ("spec",))
    name = section(document.data, "spec", "runtimeRef").get("name")
    # The runtimes that come with the Kubeflow Trainer are named for what they start.
    if isinstance(name, str) and name.startswith(("torch", "deepspeed")):
        note = f"the runtime {name[:60]}"
        job.sheet.default("run.uses_torch", value=True, note=note)
    return job.reading("k8s-trainjob")


def read_leader_worker_set(document: Document) -> Reading:
    spec = section(document.data, "spec")
    at: KeyPath = ("spec", "leaderWorkerTemplate")
    fields = section(spec, "leaderWorkerTemplate")
    size = count_at(fields, "size", at)
    worker = pod_at(document, (*at, "workerTemplate", "spec"))
    leader = pod_at(document, (*at, "leaderTemplate", "spec"))
    if leader.containers and leader.accelerators is None and size.value:
        size = size._replace(value=size.value - 1, note="without the leader")
    count = product(size, count_at(spec, "replicas", ("spec",)))
    return Job(document, [Group(worker, count)]).reading("k8s-leaderworkerset")


def _pods_at_once(spec: Mapping[str, object], at: KeyPath) -> Count:
    """The pods of a Job that run together: no more than are to be completed."""
    pods = count_at(spec, "parallelism", at)
    wanted = count_at(spec, "completions", at)
    if not wanted.paths or pods.value is None or wanted.value is None:
        return pods
    return min(pods, wanted, key=lambda count: count.value or 0)


def _state_job_restarts(job: Job, pod: Pod, parts: list[tuple[str, Count]]) -> None:
    """What the controllers of a Job start again; where no pod trains, nothing."""
    if not job.groups:
        return
    job.state_restarts(parts)
    # With no retry left the Job fails before the container is started again.
    if any(count.value for _, count in parts):
        at = (*pod.path, "restartPolicy")
        job.state_restart_policy(at, pod.spec.get("restartPolicy"), "")


def _replicated_jobs(document: Document, at: KeyPath) -> Iterator[Group]:
    jobs = items(fields_at(document, at).get("replicatedJobs"))
    for index, item in enumerate(jobs):
        path = (*at, "replicatedJobs", index)
        spec = section(item, "template", "spec")
        pods = _pods_at_once(spec, (*path, "template", "spec"))
        count = product(pods, count_at(section(item), "replicas", path))
        pod = pod_at(document, (*path, "template", "spec", "template", "spec"))
        yield Group(pod, count)


def _not_ended_before_others(document: Document, at: KeyPath) -> Iterator[Group]:
    """The jobs of a set but those whose end another waits for: theirs are free nodes.

    A pre-flight of all nodes, or a download, before the job that trains.
    """
    jobs = [
        section(one) for one in items(fields_at(document, at).get("replicatedJobs"))
    ]
    awaited = [
        one.get("name")
        for job in jobs
        for one in map(section, items(job.get("dependsOn")))
        if one.get("status") == "Complete"
    ]
    for job, group in zip(jobs, _replicated_jobs(document, at), strict=True):
        if job.get("name") is None or job["name"] not in awaited:
            yield group


def _state_job_set(job: Job, at: KeyPath) -> None:
    """Restarts of the whole set, and of the pods of the job that trains."""
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


def _state_placement(job: Job) -> None:
    """The annotation that gives each of its jobs a part of the network alone."""
    at: KeyPath = ("metadata", "annotations", _EXCLUSIVE)
    for path in (at, ("spec", "replicatedJobs", 0, "template", *at)):
        if isinstance(fields_at(job.document, path[:-1]).get(_EXCLUSIVE), str):
            leaf = "cluster.placement_requested"
            job.sheet.derive(leaf, True, _EXCLUSIVE, path)  # noqa: FBT003
            return


def _is_trainer(document: Document, group: Group) -> bool:
    """The job whose label says that it trains; others prepare model and data."""
    template = group.pod.path[:-3]
    labels = fields_at(document, (*template, "metadata", "labels"))
    return labels.get("trainer.kubeflow.org/trainjob-ancestor-step") == "trainer"


def _state_policy_of_runtime(job: Job, kind: str, policy: Mapping[str, object]) -> None:
    at: KeyPath = ("spec", "mlPolicy", kind)
    job.state_processes(policy, "numProcPerNode", at)
    elastic = section(policy, "elasticPolicy")
    bounds = (
        ("minNodes", "recovery.minimum_nodes"),
        ("maxNodes", "recovery.maximum_nodes"),
    )
    for key, leaf in bounds:
        job.put(leaf, integer, (*at, "elasticPolicy", key), elastic.get(key))
