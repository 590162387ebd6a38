"""Clusters and jobs of KubeRay.

Source: the ray.io/v1 API of ray-project/kuberay.
"""

from collections.abc import Iterator

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._kubernetes import (
    Group,
    Job,
    count_at,
    product,
)
from speccheck.validator.sources.formats._kubernetes_pods import (
    Count,
    fields_at,
    pod_at,
)
from speccheck.validator.sources.mapping import items, section
from speccheck.validator.sources.reader import Reading


def read_ray_cluster(document: Document) -> Reading:
    job = Job(document, _ray_groups(document, ("spec",)))
    _state_shared_memory(job)
    return job.reading("k8s-raycluster")


def read_ray_job(document: Document) -> Reading:
    spec = section(document.data, "spec")
    job = Job(document, _ray_groups(document, ("spec", "rayClusterSpec")))
    _state_shared_memory(job)
    job.entrypoint(("spec", "entrypoint"))
    backoff = count_at(spec, "backoffLimit", ("spec",), 0)
    if job.groups:
        job.state_restarts([("RayJob", backoff)])
    job.state_deadline(spec, ("spec",))
    return job.reading("k8s-rayjob")


def _ray_groups(document: Document, at: KeyPath) -> Iterator[Group]:
    """The head, where it has accelerators of its own, and the groups of workers."""
    spec = fields_at(document, at)
    head = pod_at(document, (*at, "headGroupSpec", "template", "spec"))
    if head.accelerators:
        yield Group(head, Count(1))
    for index, item in enumerate(items(spec.get("workerGroupSpecs"))):
        path = (*at, "workerGroupSpecs", index)
        fields = section(item)
        hosts = count_at(fields, "numOfHosts", path)
        count = product(count_at(fields, "replicas", path, None), hosts)
        yield Group(pod_at(document, (*path, "template", "spec")), count)


def _state_shared_memory(job: Job) -> None:
    """KubeRay mounts memory at /dev/shm where the pod mounts nothing there."""
    leaf = "cluster.shared_memory_volume"
    facts = job.sheet.facts
    if any(fact.name == leaf and fact.value == "none" for fact in facts):
        own = {leaf, "cluster.shared_memory_bytes"}
        facts[:] = [fact for fact in facts if fact.name not in own]
        job.sheet.default(leaf, "memory", "KubeRay mounts memory at /dev/shm")
