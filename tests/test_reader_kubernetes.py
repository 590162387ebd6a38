"""Kubernetes objects: pods, accelerators, environment, scripts, hardware."""

import pytest

from kubernetes_objects import environment, read_object

PYTORCH_JOB = """
nprocPerNode: "8"
runPolicy:
  activeDeadlineSeconds: 86400
elasticPolicy:
  rdzvBackend: C10D
  rdzvHost: head
  rdzvPort: 29400
  minReplicas: 4
  maxReplicas: 8
  maxRestarts: 20
pytorchReplicaSpecs:
  Master:
    replicas: 1
    restartPolicy: ExitCode
    template: &pod
      spec:
        nodeSelector:
          node.kubernetes.io/instance-type: p5.48xlarge
        containers:
          - name: pytorch
            image: pytorch/pytorch:2.7.0-cuda12.6-cudnn9-runtime
            command: [torchrun, train.py, --lr, "1e-4"]
            env:
              - {name: NCCL_DEBUG, value: WARN}
              - name: POD_IP
                valueFrom: {fieldRef: {fieldPath: status.podIP}}
              - {name: HF_TOKEN, value: "${HF_TOKEN}"}
              - {name: OMP_NUM_THREADS}
            resources:
              limits:
                nvidia.com/gpu: 8
                vpc.amazonaws.com/efa: 32
  Worker:
    replicas: 7
    restartPolicy: ExitCode
    template: *pod
"""


def test_pytorch_job() -> None:
    read = read_object("PyTorchJob", PYTORCH_JOB)
    assert read.values("stated") == {
        "container.image": "pytorch/pytorch:2.7.0-cuda12.6-cudnn9-runtime",
        "cluster.gpus_per_node": 8,
        "cluster.instance_type": "aws-p5",
        "recovery.launcher": "torchrun",
        "recovery.max_restarts": 20,
        "recovery.maximum_nodes": 8,
        "recovery.minimum_nodes": 4,
        "recovery.processes_per_node": 8,
        "recovery.rendezvous_backend": "c10d",
        "recovery.rendezvous_endpoint": "head:29400",
        "recovery.restart_policy": "ExitCode",
        "recovery.walltime_seconds": 86400.0,
    }
    derived = read.values("derived")
    assert derived["cluster.nodes"] == 8
    assert read.note("cluster.nodes") == "1 + 7 pods = 8"
    assert derived["cluster.accelerator_family"] == "nvidia"
    assert derived["cluster.fabric"] == "efa"
    assert derived["cluster.nvlink_domain_size"] == 8
    assert read.values("default") == {
        "container.ipc": "private",
        "container.network": "pod",
        "container.shared_memory_bytes": 64 * 2**20,
        "run.uses_torch": True,
    }
    assert read.line("cluster.gpus_per_node") == 36
    assert read.line("cluster.nodes") == 18
    assert read.line("recovery.max_restarts") == 15


def test_the_environment_of_the_containers() -> None:
    read = read_object("PyTorchJob", PYTORCH_JOB)
    assert environment(read) == {
        "NCCL_DEBUG": "WARN",
        "POD_IP": None,
        "HF_TOKEN": None,
        "OMP_NUM_THREADS": "",
    }
    debug = read.reading.variables[0]
    assert debug.place.key == "NCCL_DEBUG"
    span = read.document.span(debug.place.path)
    assert span is not None
    assert (span.line, span.column) == (29, 45)


def test_the_image_names_a_release() -> None:
    (version,) = read_object("PyTorchJob", PYTORCH_JOB).reading.versions
    assert (version.package, version.text) == ("torch", "2.7.0")
    assert read_object("PyTorchJob", PYTORCH_JOB).document.span(version.place.path)


def test_equal_commands_are_read_once() -> None:
    (script,) = read_object("PyTorchJob", PYTORCH_JOB).reading.scripts
    (command,) = script.script.commands
    assert [word.text for word in command.words][:2] == ["torchrun", "train.py"]


def test_an_option_of_the_command_wins_over_the_operator() -> None:
    spec = """
        elasticPolicy: {maxRestarts: 20, rdzvBackend: etcd, minReplicas: 2}
        pytorchReplicaSpecs:
          Worker:
            replicas: 4
            template:
              spec:
                containers:
                  - command:
                      - torchrun
                      - --nnodes=4
                      - --max_restarts=3
                      - --rdzv-backend=c10d
                      - train.py
    """
    read = read_object("PyTorchJob", spec)
    assert read.value("recovery.max_restarts") == 3
    assert read.value("recovery.rendezvous_backend") == "c10d"
    assert read.status("recovery.minimum_nodes") == "default"
    assert read.value("cluster.nodes") == 4
    assert read.value("recovery.restart_policy") == "OnFailure"
    assert read.status("recovery.restart_policy") == "default"


def test_more_ranks_than_the_limit_is_a_conflict() -> None:
    spec = """
        pytorchReplicaSpecs:
          Worker:
            replicas: 4
            template:
              spec:
                containers:
                  - command: [torchrun, --nproc_per_node=8, train.py]
                    resources: {limits: {nvidia.com/gpu: "4"}}
    """
    read = read_object("PyTorchJob", spec)
    assert read.status("cluster.gpus_per_node") == "conflict"


JOB_SET = """
failurePolicy: {maxRestarts: 3}
replicatedJobs:
  - name: head
    template: {spec: {template: {spec: {containers: [{image: busybox}]}}}}
  - name: slice
    replicas: 2
    template:
      spec:
        parallelism: 16
        completions: 16
        backoffLimit: 0
        activeDeadlineSeconds: 3600
        template:
          spec:
            restartPolicy: OnFailure
            nodeSelector:
              cloud.google.com/gke-tpu-accelerator: tpu-v5p-slice
            containers:
              - name: left
                resources: {limits: {google.com/tpu: 2}}
              - name: right
                resources: {limits: {google.com/tpu: 2}}
              - name: logs
                env: [{name: SIDE, value: car}]
"""


def test_job_set_counts_the_pods_with_accelerators() -> None:
    read = read_object("JobSet", JOB_SET)
    assert read.values("stated") == {
        "recovery.restart_policy": "OnFailure",
        "recovery.walltime_seconds": 3600.0,
    }
    derived = read.values("derived")
    assert derived["cluster.nodes"] == 32
    assert read.note("cluster.nodes") == "16 x 2 = 32"
    assert derived["cluster.gpus_per_node"] == 4
    assert read.note("cluster.gpus_per_node") == "containers of 2 + 2"
    assert derived["cluster.accelerator_family"] == "tpu"
    assert derived["recovery.max_restarts"] == 3
    assert read.note("recovery.max_restarts") == "3 by the JobSet + 0 by the Job"
    assert environment(read) == {}


def test_a_job_set_of_one_replica_states_its_parallelism() -> None:
    read = read_object("JobSet", JOB_SET.replace("replicas: 2", "replicas: 1"))
    assert read.values("stated")["cluster.nodes"] == 16
    assert read.line("cluster.nodes") == 14


def test_no_more_pods_run_than_are_to_be_completed() -> None:
    read = read_object("JobSet", JOB_SET.replace("completions: 16", "completions: 4"))
    assert read.value("cluster.nodes") == 8


IN_ORDER = """
        replicatedJobs:
          - name: preflight
            template:
              spec:
                parallelism: 6
                backoffLimit: 9
                template:
                  spec:
                    containers:
                      - {resources: {limits: {nvidia.com/gpu: 8}}, command: [look]}
          - name: train
            dependsOn: [{name: preflight, status: Complete}]
            template:
              spec:
                parallelism: 4
                backoffLimit: 2
                template:
                  spec:
                    containers:
                      - resources: {limits: {nvidia.com/gpu: 8}}
"""


def test_a_job_that_ended_before_another_takes_no_nodes_from_it() -> None:
    read = read_object("JobSet", IN_ORDER)
    assert read.value("cluster.nodes") == 4
    assert read.note("recovery.max_restarts") == "0 by the JobSet + 2 by the Job"


def test_a_job_that_is_only_ready_runs_beside_the_other() -> None:
    read = read_object("JobSet", IN_ORDER.replace("Complete", "Ready"))
    assert read.value("cluster.nodes") == 10


def test_sets_that_train_nothing_say_little() -> None:
    spec = """
        replicatedJobs:
          - template:
              spec:
                parallelism: 4
                template:
                  spec: {containers: [{image: busybox, command: [sleep, 100s]}]}
    """
    read = read_object("JobSet", spec)
    assert read.leaves == {}
    assert read.reading.variables == ()


def test_a_launcher_tells_training_without_accelerators() -> None:
    spec = """
        replicatedJobs:
          - template:
              spec:
                parallelism: 4
                backoffLimit: 2
                template:
                  spec:
                    restartPolicy: Never
                    containers:
                      - env: [{name: NODES, value: "4"}]
                        command: [bash, -c]
                        args:
                          - |
                            export NCCL_DEBUG=INFO
                            torchrun --nnodes=$NODES train.py
    """
    read = read_object("JobSet", spec)
    nodes = read.leaves["cluster.nodes"]
    assert (nodes.value, nodes.status) == (4, "stated")
    assert [place.key for place in nodes.places] == [
        "spec.replicatedJobs[0].template.spec.parallelism",
        "--nnodes",
    ]
    assert nodes.places[1].span is not None
    assert nodes.places[1].span.line == 20
    assert read.value("recovery.max_restarts") == 2
    assert read.value("recovery.restart_policy") == "Never"


def test_job() -> None:
    spec = """
        parallelism: 2
        backoffLimit: 1
        template:
          spec:
            restartPolicy: OnFailure
            affinity:
              nodeAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                  nodeSelectorTerms:
                    - matchExpressions:
                        - key: nvidia.com/gpu.product
                          operator: In
                          values: [NVIDIA-H100-80GB-HBM3]
            containers:
              - command: [python, train.py]
                resources: {requests: {nvidia.com/gpu: 8}}
    """
    read = read_object("Job", spec)
    assert read.values("stated") == {
        "cluster.gpus_per_node": 8,
        "cluster.nodes": 2,
        "recovery.max_restarts": 1,
        "recovery.restart_policy": "OnFailure",
    }
    assert read.value("cluster.compute_capability") == (9, 0)


def test_a_job_may_be_started_six_times_more() -> None:
    spec = """
        template:
          spec: {containers: [{image: a, resources: {limits: {amd.com/gpu: 8}}}]}
    """
    read = read_object("Job", spec)
    assert read.value("recovery.max_restarts") == 6
    assert read.status("recovery.max_restarts") == "default"
    assert read.value("cluster.accelerator_family") == "amd"
    assert read.value("cluster.nodes") == 1


def test_leader_worker_set() -> None:
    spec = """
        replicas: 2
        leaderWorkerTemplate:
          size: 4
          leaderTemplate: {}
          workerTemplate:
            spec:
              containers:
                - command: [python, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
    """
    read = read_object("LeaderWorkerSet", spec)
    assert read.values("derived")["cluster.nodes"] == 8
    leader = "leaderTemplate: {spec: {containers: [{image: busybox}]}}"
    read = read_object("LeaderWorkerSet", spec.replace("leaderTemplate: {}", leader))
    assert read.value("cluster.nodes") == 6


@pytest.mark.parametrize("key", ["replicas", "gpu"])
@pytest.mark.parametrize("value", ["$COUNT", "${COUNT}", "-1", "lots", "1.5", "[]"])
def test_what_is_no_number_is_unknown(key: str, value: str) -> None:
    spec = f"""
        pytorchReplicaSpecs:
          Worker:
            replicas: {value if key == "replicas" else 2}
            template:
              spec:
                containers:
                  - resources:
                      limits: {{nvidia.com/gpu: {value if key == "gpu" else 8}}}
    """.replace("{nvidia.com/gpu: ${COUNT}}", '{nvidia.com/gpu: "${COUNT}"}')
    read = read_object("PyTorchJob", spec)
    leaf = "cluster.nodes" if key == "replicas" else "cluster.gpus_per_node"
    assert read.status(leaf) == "unknown"
    assert read.leaves[leaf].note
