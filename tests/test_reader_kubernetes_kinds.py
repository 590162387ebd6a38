"""Which objects of Kubernetes are known, in whatever shape they are."""

import pytest

from corpus import corpus_folder, needs_corpus
from kubernetes_objects import manifest
from reader_text import document_of
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.documents.reading import load_documents
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.reader import Reader
from speccheck.validator.sources.registry import Readers

LOOK_ALIKES = [
    ("v1", "Service", "{ports: []}"),
    ("apps/v1", "Deployment", "{template: {spec: {containers: []}}}"),
    ("example.com/v1", "PyTorchJob", "{}"),
    ("batch/v1", "CronJob", "{}"),
    ("batch/v1", "Job", "{template: {spec: {containers: [{command: [pg_dump]}]}}}"),
    ("batch/v1", "Job", "{template: {spec: {containers: []}}}"),
]
SERVER = """
    leaderWorkerTemplate:
      size: 2
      workerTemplate:
        spec:
          containers:
            - command: [bash, -c, "vllm serve meta-llama/Llama-3.1-405B"]
              resources: {limits: {nvidia.com/gpu: 8}}
"""


@pytest.mark.parametrize(("version", "kind", "spec"), LOOK_ALIKES)
def test_other_objects_are_left_alone(version: str, kind: str, spec: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nspec: {spec}\n"
    assert Readers().detect_document(document_of(text, "a.yaml")) is None


def test_servers_are_no_training() -> None:
    readers = Readers()
    document = document_of(manifest("LeaderWorkerSet", SERVER), "a.yaml")
    assert readers.detect_document(document) is None
    trainer = SERVER.replace("vllm serve", "trl grpo --use_vllm true --model")
    document = document_of(manifest("LeaderWorkerSet", trainer), "a.yaml")
    assert readers.detect_document(document) is not None


KINDS = [
    "ClusterTrainingRuntime",
    "HyperPodPyTorchJob",
    "Job",
    "JobSet",
    "LeaderWorkerSet",
    "MPIJob",
    "PyTorchJob",
    "RayCluster",
    "RayCronJob",
    "RayJob",
    "TrainJob",
    "TrainingRuntime",
]


def fields(part: str) -> str:
    """Return the fields of a pod, all of one odd shape."""
    names = ("env", "command", "resources", "image")
    container = ", ".join(f"{name}: {part}" for name in names)
    return f"containers: [{{{container}}}], nodeSelector: {part}, affinity: {part}"


def documents_of_odd_shapes(kind: str) -> list[Document]:
    specs = ["null", "3", "[1, {a: 2}]", "text", "{1: {2: 3}}"]
    for part in ("null", "[]", "[null, 3]", "{a: 1}", "x", "5"):
        specs += [
            f"{{pytorchReplicaSpecs: {part}, mpiReplicaSpecs: {part}}}",
            f"{{pytorchReplicaSpecs: {{Worker: {part}}}, elasticPolicy: {part}}}",
            f"{{replicatedJobs: {part}, template: {part}, mlPolicy: {part}}}",
            f"{{template: {{spec: {{replicatedJobs: {part}, containers: {part}}}}}}}",
            f"{{replicaSpecs: {part}, rayClusterSpec: {part}, trainer: {part}}}",
            f"{{workerGroupSpecs: {part}, leaderWorkerTemplate: {part}}}",
            f"{{runPolicy: {part}, failurePolicy: {part}, entrypoint: {part}}}",
            f"{{jobTemplate: {part}, schedule: {part}}}",
            f"{{jobTemplate: {{rayClusterSpec: {part}, entrypoint: {part}}}}}",
            f"{{template: {{spec: {{{fields(part)}}}}}}}",
        ]
    head = f"kind: {kind}\napiVersion: a/v1\nmetadata: "
    return [
        document_of(f"{head}{meta}\nspec: {spec}\n", "a.yaml")
        for spec in specs
        for meta in ("{}", "[a]")
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_odd_shapes_are_read(kind: str) -> None:
    reader = Readers().find(f"k8s-{kind.lower()}")
    assert isinstance(reader, Reader)
    for document in documents_of_odd_shapes(kind):
        reader.detect(document)
        reader.read(document)


@needs_corpus
@pytest.mark.parametrize("kind", KINDS)
def test_published_objects(kind: str) -> None:
    name = f"k8s-{kind.lower()}"
    root = corpus_folder("configs")
    for path in sorted(root.glob(f"*{name}*/*")):
        if name not in path.parent.name.split("+"):
            continue
        status, files = read_file(str(path))
        assert status.state == "judged", path.name
        assert name in {file.format for file in files}, path.name


@needs_corpus
def test_no_other_published_file_is_taken_for_an_object() -> None:
    readers = Readers()
    for path in sorted(corpus_folder("configs").glob("*/*.y*ml")):
        if path.parent.name.startswith("k8s-"):
            continue
        try:
            documents = load_documents(str(path), path.read_text(encoding="utf-8"))
        except (ReadError, UnicodeDecodeError):
            continue
        for document in documents:
            data = document.data
            if isinstance(data, dict) and "apiVersion" in data:
                found = readers.detect_document(document)
                assert found is None or not found.format.startswith("k8s-"), path
