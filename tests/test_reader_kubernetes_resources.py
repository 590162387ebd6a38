"""What a pod gets besides GPUs: shared memory, processors, the right to lock memory."""

import pytest

from kubernetes_objects import read_object

VOLUME = "container.shared_memory_volume"
SIZE = "container.shared_memory_bytes"
PROCESSORS = "cluster.job_cpus_per_node"
DEVICE, LOCKING = "container.fabric_device", "container.may_lock_memory"
SPEC = """
    template:
      spec:
        {pod}
        containers:
          - resources: {{limits: {{nvidia.com/gpu: 8{limits}}}}}
            image: a
            {container}
"""


def pod(pod: str = "", container: str = "", limits: str = "") -> str:
    """Return the spec of a Job whose pod has these fields more."""
    return SPEC.format(pod=pod, container=container, limits=limits)


@pytest.mark.parametrize(
    ("volume", "kind", "size"),
    [
        ("emptyDir: {medium: Memory, sizeLimit: 64Gi}", "memory", 64 * 2**30),
        ("emptyDir: {medium: Memory, sizeLimit: 500M}", "memory", 500 * 10**6),
        ("emptyDir: {medium: Memory}", "memory", None),
        ("emptyDir: {medium: Memory, sizeLimit: $SHM}", "memory", None),
        ("emptyDir: {sizeLimit: 64Gi}", "disk", None),
        ("hostPath: {path: /dev/shm}", "host", None),
        ("persistentVolumeClaim: {claimName: shm}", "other", None),
    ],
)
def test_the_volume_at_dev_shm(volume: str, kind: str, size: int | None) -> None:
    other = "{name: data, hostPath: {path: /data}}"
    spec = pod(
        f"volumes: [{other}, {{name: shm, {volume}}}]",
        "volumeMounts: [{name: data, mountPath: /data}, "
        "{name: shm, mountPath: /dev/shm/}]",
    )
    read = read_object("Job", spec)
    assert read.value(VOLUME) == kind
    assert read.value(SIZE) == size


@pytest.mark.parametrize(
    ("fields", "kind", "size"),
    [
        (("", ""), "none", 64 * 2**20),
        (("hostIPC: true", ""), "host", None),
        (("", "volumeMounts: [{name: a, mountPath: /data}]"), "none", 64 * 2**20),
        (("", 'volumeMounts: ["$MOUNTS"]'), None, None),
        (("", "volumeMounts: [{name: gone, mountPath: /dev/shm}]"), None, None),
    ],
)
def test_nothing_at_dev_shm(
    fields: tuple[str, str], kind: str | None, size: int | None
) -> None:
    read = read_object("Job", pod(*fields))
    assert read.value(VOLUME) == kind
    assert read.value(SIZE) == size


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        (", cpu: 96", 96),
        (', cpu: "96"', 96),
        (", cpu: 7500m", 7),
        (", cpu: $CPUS", None),
        ("", None),
    ],
)
def test_processors_that_the_pod_may_use(limits: str, count: int | None) -> None:
    assert read_object("Job", pod(limits=limits)).value(PROCESSORS) == count


@pytest.mark.parametrize(
    ("container", "may"),
    [
        ("", False),
        ("securityContext: {privileged: true}", True),
        ("securityContext: {capabilities: {add: [NET_ADMIN, IPC_LOCK]}}", True),
        ("securityContext: {capabilities: {add: [NET_ADMIN]}}", False),
    ],
)
def test_the_right_to_lock_memory_beside_an_rdma_device(
    container: str,
    may: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    read = read_object("Job", pod("", container, ", rdma/hca_shared_devices_a: 1"))
    assert read.value(DEVICE) == "rdma/hca_shared_devices_a"
    assert read.value(LOCKING) is may


def test_without_an_rdma_device_nothing_is_said_of_locking() -> None:
    read = read_object("Job", pod())
    assert read.value(DEVICE) == "none"
    assert LOCKING not in read.leaves


@pytest.mark.parametrize(
    "fields",
    [
        ("", "securityContext: {privileged: true}"),
        ("volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]", ""),
        ('volumes: ["$VOLUMES"]', ""),
    ],
)
def test_devices_of_the_host_need_no_request(fields: tuple[str, str]) -> None:
    assert DEVICE not in read_object("Job", pod(*fields)).leaves


def test_the_devices_of_efa() -> None:
    read = read_object("Job", pod(limits=", vpc.amazonaws.com/efa: 32"))
    assert read.value(DEVICE) == "vpc.amazonaws.com/efa"


def test_ray_gives_its_pods_memory_at_dev_shm() -> None:
    spec = """
        workerGroupSpecs:
          - replicas: 2
            template:
              spec: {containers: [{image: a, resources: {limits: {nvidia.com/gpu: 8}}}]}
    """
    read = read_object("RayCluster", spec)
    assert read.value(VOLUME) == "memory"
    assert SIZE not in read.leaves


def test_a_job_set_may_ask_to_lie_together() -> None:
    spec = """
        replicatedJobs:
          - template:
              metadata:
                annotations:
                  alpha.jobset.sigs.k8s.io/exclusive-topology: cloud.google.com/rack
              spec:
                template:
                  spec:
                    containers: [{image: a, resources: {limits: {nvidia.com/gpu: 8}}}]
    """
    assert read_object("JobSet", spec).value("cluster.placement_requested") is True
