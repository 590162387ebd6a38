"""Pods of Kubernetes that differ, are placed on machines, or set variables."""

import pytest

from kubernetes_objects import environment, read_object


def test_pods_that_differ() -> None:
    spec = """
        pytorchReplicaSpecs:
          Master:
            template:
              spec: {containers: [{resources: {limits: {nvidia.com/gpu: 4}}}]}
          Worker:
            replicas: 2
            template:
              spec: {containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}
    """
    read = read_object("PyTorchJob", spec)
    assert read.status("cluster.gpus_per_node") == "unknown"
    assert read.value("cluster.world_size") == 20
    assert read.note("cluster.world_size") == "1 x 4 + 2 x 8 = 20"


def test_a_pod_may_take_a_part_of_a_machine_but_not_more() -> None:
    spec = """
        pytorchReplicaSpecs:
          Worker:
            template:
              spec:
                nodeSelector: {node.kubernetes.io/instance-type: ml.p4d.24xlarge}
                containers:
                  - resources: {limits: {nvidia.com/gpu: %d}}
    """
    part = read_object("PyTorchJob", spec % 4)
    assert part.value("cluster.gpus_per_node") == 4
    assert part.value("cluster.instance_type") == "aws-p4d"
    assert read_object("PyTorchJob", spec % 16).status("cluster.gpus_per_node") == (
        "conflict"
    )


@pytest.mark.parametrize(
    "selector",
    [
        "{node.kubernetes.io/instance-type: my-machine}",
        "{cloud.google.com/gke-accelerator: my-gpu}",
        '{node.kubernetes.io/instance-type: "$TYPE"}',
        "{role: training}",
        "[a]",
    ],
)
def test_names_that_nobody_knows_give_nothing(selector: str) -> None:
    spec = f"""
        pytorchReplicaSpecs:
          Worker: {{template: {{spec: {{nodeSelector: {selector}}}}}}}
    """
    read = read_object("PyTorchJob", spec)
    assert not any(name.startswith("cluster.acc") for name in read.leaves)
    assert "cluster.instance_type" not in read.leaves


def test_variables_without_quotes_are_refused() -> None:
    spec = """
        pytorchReplicaSpecs:
          Worker:
            template:
              spec:
                containers:
                  - env:
                      - {name: NCCL_IB_HCA, value: mlx5}
                      - {name: NCCL_CHECKS_DISABLE, value: 1}
                      - {name: DEBUG, value: yes}
    """
    read = read_object("PyTorchJob", spec)
    keyed = read.reading.keyed
    assert keyed is not None
    found = [
        (item.key, item.written, item.loaded, item.fatal) for item in keyed.loaded_as
    ]
    assert found == [
        ("NCCL_CHECKS_DISABLE", "1", "a number", True),
        ("DEBUG", "yes", "true or false", True),
    ]
    span = read.document.span(keyed.loaded_as[0].place.path)
    assert span is not None
    assert span.line == 13


def test_containers_that_differ_leave_a_variable_open() -> None:
    spec = """
        pytorchReplicaSpecs:
          Master: {template: {spec: {containers: [{env: [{name: A, value: x}]}]}}}
          Worker: {template: {spec: {containers: [{env: [{name: A, value: y}]}]}}}
    """
    assert environment(read_object("PyTorchJob", spec)) == {"A": None}
