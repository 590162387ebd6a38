"""Jobs of operators: MPI, HyperPod, the Kubeflow trainer, Ray."""

from pathlib import Path

import pytest

from kubernetes_objects import environment, manifest, read_object
from reader_text import document_of
from speccheck.validator.cli.main import main
from speccheck.validator.sources.reader import Reader
from speccheck.validator.sources.registry import Readers

MPI_JOB = """
slotsPerWorker: 8
runPolicy: {activeDeadlineSeconds: 7200}
mpiReplicaSpecs:
  Launcher:
    replicas: 1
    template:
      spec:
        containers:
          - command: [mpirun, -np, "64", python, train.py]
            env: [{name: NCCL_DEBUG, value: INFO}]
  Worker:
    replicas: 8
    template:
      spec:
        containers:
          - env: [{name: NCCL_IB_HCA, value: mlx5}]
            resources: {limits: {nvidia.com/gpu: 8, rdma/hca: 1}}
"""


def test_mpi_job() -> None:
    read = read_object("MPIJob", MPI_JOB)
    stated = read.values("stated")
    assert stated["cluster.gpus_per_node"] == 8
    assert stated["cluster.nodes"] == 8
    assert stated["recovery.walltime_seconds"] == 7200.0
    assert read.value("recovery.restart_policy") == "Never"
    assert read.status("recovery.restart_policy") == "default"
    assert environment(read) == {"NCCL_IB_HCA": "mlx5", "NCCL_DEBUG": "INFO"}
    (script,) = read.reading.scripts
    assert script.script.commands[0].words[0].text == "mpirun"


def test_a_launcher_that_works_counts() -> None:
    read = read_object("MPIJob", MPI_JOB + "runLauncherAsWorker: true\n")
    assert read.value("cluster.nodes") == 9


def test_hyperpod_job() -> None:
    spec = """
        nprocPerNode: "8"
        runPolicy: {jobMaxRetryCount: 10}
        replicaSpecs:
          - name: pods
            replicas: 16
            spares: 2
            template:
              spec:
                containers:
                  - command: [hyperpodrun, --nnodes=16, train.py]
                    resources: {limits: {nvidia.com/gpu: 8}}
    """
    read = read_object("HyperPodPyTorchJob", spec)
    stated = read.values("stated")
    assert stated["cluster.nodes"] == 16
    assert stated["cluster.spare_nodes"] == 2
    assert stated["recovery.max_restarts"] == 10
    assert stated["recovery.processes_per_node"] == 8


RUNTIME = """
mlPolicy:
  numNodes: 1
  torch:
    numProcPerNode: auto
template:
  spec:
    replicatedJobs:
      - name: dataset-initializer
        template:
          spec:
            template: {spec: {containers: [{env: [{name: URI, value: hf}]}]}}
      - name: node
        template:
          metadata:
            labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
          spec:
            template:
              spec:
                containers:
                  - image: pytorch/pytorch:2.7.0-cuda12.6-cudnn9-runtime
                    env: [{name: NCCL_DEBUG, value: WARN}]
                    resources: {limits: {nvidia.com/gpu: 8}}
"""
TRAIN_JOB = """
runtimeRef: {name: torch-distributed}
trainer:
  numNodes: 4
  numProcPerNode: 8
  image: registry.example/train:7
  command: [torchrun, train.py]
  env: [{name: NCCL_DEBUG, value: INFO}]
  resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
"""


def test_a_runtime_gives_defaults() -> None:
    read = read_object("ClusterTrainingRuntime", RUNTIME)
    assert read.values("stated", "derived") == {"run.in_container": True}
    assert read.values("default") == {
        "cluster.accelerator_family": "nvidia",
        "container.accelerators": "nvidia.com/gpu",
        "container.engine": "kubernetes",
        "container.fabric_device": "none",
        "container.image": "pytorch/pytorch:2.7.0-cuda12.6-cudnn9-runtime",
        "container.ipc": "private",
        "container.network": "pod",
        "cluster.gpus_per_node": 8,
        "cluster.nodes": 1,
        "container.shared_memory_bytes": 64 * 2**20,
        "container.shared_memory_volume": "none",
        "recovery.max_restarts": 6,
        "run.uses_torch": True,
    }
    assert read.line("cluster.nodes") == 7
    assert environment(read) == {"NCCL_DEBUG": "WARN"}


def test_train_job() -> None:
    read = read_object("TrainJob", TRAIN_JOB)
    assert read.values("stated") == {
        "cluster.gpus_per_node": 8,
        "cluster.nodes": 4,
        "recovery.launcher": "torchrun",
        "recovery.processes_per_node": 8,
    }
    assert read.line("cluster.gpus_per_node") == 13
    assert environment(read) == {"NCCL_DEBUG": "INFO"}
    assert read.value("run.uses_torch") is True


def test_a_train_job_may_leave_all_to_the_runtime() -> None:
    read = read_object("TrainJob", "runtimeRef: {name: torch-distributed}\n")
    assert read.values("default", "stated", "derived") == {"run.uses_torch": True}
    assert "cluster.nodes" not in read.leaves


def test_a_file_of_several_objects_is_read_object_by_object() -> None:
    service = "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 29500}]}\n"
    objects = [
        service,
        manifest("TrainingRuntime", RUNTIME),
        manifest("TrainJob", TRAIN_JOB),
    ]
    readers = Readers()
    found = [readers.detect_document(document_of(text, "job.yaml")) for text in objects]
    assert [finding and finding.format for finding in found] == [
        None,
        "k8s-trainingruntime",
        "k8s-trainjob",
    ]


RAY = """
headGroupSpec:
  template: {spec: {containers: [{env: [{name: A, value: head}]}]}}
workerGroupSpecs:
  - replicas: 2
    numOfHosts: 4
    template:
      spec:
        containers:
          - resources: {limits: {nvidia.com/gpu: 8}}
            env: [{name: NCCL_DEBUG, value: WARN}]
  - replicas: 5
    template: {spec: {containers: [{image: cpu}]}}
"""


def test_ray_cluster() -> None:
    read = read_object("RayCluster", RAY)
    assert read.values("derived")["cluster.nodes"] == 8
    assert read.note("cluster.nodes") == "2 x 4 = 8"
    assert read.value("cluster.gpus_per_node") == 8
    assert environment(read) == {"NCCL_DEBUG": "WARN"}


def test_a_group_without_a_number_is_unknown() -> None:
    read = read_object("RayCluster", RAY.replace("- replicas: 2", "- groupName: gpu"))
    assert read.status("cluster.nodes") == "unknown"
    assert read.note("cluster.nodes") == "replicas is not set"


def test_ray_job() -> None:
    cluster = RAY.replace("\n", "\n  ")
    spec = (
        "entrypoint: |\n  export NCCL_DEBUG=INFO\n  torchrun --nnodes=8 train.py\n"
        f"backoffLimit: 2\nactiveDeadlineSeconds: 600\nrayClusterSpec:{cluster}\n"
    )
    read = read_object("RayJob", spec)
    assert read.value("cluster.nodes") == 8
    assert read.value("recovery.max_restarts") == 2
    assert read.value("recovery.walltime_seconds") == 600.0
    assert read.value("recovery.launcher") == "torchrun"


def test_a_ray_job_by_the_clock_is_judged_as_the_job_that_it_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = RAY.replace("\n", "\n    ")
    spec = (
        'schedule: "0 3 * * *"\njobTemplate:\n  entrypoint: python train.py\n'
        "  backoffLimit: 2\n  suspend: true\n"
        f"  rayClusterSpec:{cluster}\n"
    )
    read = read_object("RayCronJob", spec)
    assert read.value("cluster.nodes") == 8
    assert read.value("recovery.max_restarts") == 2
    file = tmp_path / "nightly.yaml"
    file.write_text(manifest("RayCronJob", spec), "utf-8")
    main([str(file)])
    text = capsys.readouterr().out
    assert "CONF-006 settings_refused" in text
    assert "spec.jobTemplate.suspend" in text


AUTOSCALER = """
headGroupSpec:
  template:
    spec:
      containers:
        - name: ray
          env: [{name: RAY_enable_autoscaler_v2, value: "1"}]
"""
COLLECTOR = """
headGroupSpec: {template: {spec: {containers: [{name: ray}]}}}
historyServerOptions:
  collectorOptions:
    image: collector
    env: [{name: STORAGE_BACKEND, value: s3}]
"""


@pytest.mark.parametrize(
    ("spec", "changed", "message"),
    [
        (
            AUTOSCALER,
            AUTOSCALER + "enableInTreeAutoscaling: true\n",
            "RAY_enable_autoscaler_v2",
        ),
        (
            COLLECTOR,
            COLLECTOR.replace("s3}", "s3}, {name: S3_REGION, value: here}"),
            "this store needs S3_REGION",
        ),
    ],
)
def test_variables_are_judged_with_the_settings_around_them(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spec: str,
    changed: str,
    message: str,
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(manifest("RayCluster", spec), "utf-8")
    assert main([str(file)]) == 1
    assert message in " ".join(capsys.readouterr().out.split())
    file.write_text(manifest("RayCluster", changed), "utf-8")
    main([str(file)])
    assert "settings_refused" not in capsys.readouterr().out


def test_keys_have_the_table_of_their_kind() -> None:
    spec = """\
    trainer:
      numNodes: 2
      image: NAME_OF_IMAGE
      env:
        - name: PET_NNODES
          value: "4"
    """
    document = document_of(manifest("TrainJob", spec), "job.yaml")
    reader = Readers().find("k8s-trainjob")
    assert isinstance(reader, Reader)
    keyed = reader.read(document).keyed
    assert keyed is not None
    assert keyed.catalogue is not None
    assert keyed.catalogue.reader == "TrainJob"
    names = {key.path[2:]: key.value for key in keyed.keys if len(key.path) > 2}
    # Other tools fill in a text like that; values of variables are evidence already.
    assert names == {("numNodes",): 2, ("env", 0, "name"): "PET_NNODES"}


CLAIMS = """
volumeClaimPolicies:
  - templates:
      - metadata: {name: data}
replicatedJobs:
  - name: workers
    template:
      spec:
        template:
          spec:
            containers:
              - name: train
                volumeMounts: [{name: scratch, mountPath: /scratch}]
"""


@pytest.mark.parametrize(
    ("mounted", "failures"),
    [("scratch", 1), ("data", 0), ("'{{ .Values.claim }}'", 0)],
)
def test_names_are_looked_for_among_those_of_another_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mounted: str, failures: int
) -> None:
    file = tmp_path / "jobset.yaml"
    spec = CLAIMS.replace("name: scratch", f"name: {mounted}")
    file.write_text(manifest("JobSet", spec), "utf-8")
    main([str(file)])
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("no container of any job mounts it") == failures
