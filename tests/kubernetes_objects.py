"""Reads Kubernetes objects with the scripts in them, for the tests of their readers."""

from textwrap import dedent, indent

from reader_text import ReadText, document_of
from speccheck.validator.sources.joining.merge import merge
from speccheck.validator.sources.reader import Reader
from speccheck.validator.sources.registry import Readers

_VERSIONS = {
    "PyTorchJob": "kubeflow.org/v1",
    "MPIJob": "kubeflow.org/v2beta1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "TrainingRuntime": "trainer.kubeflow.org/v1alpha1",
    "ClusterTrainingRuntime": "trainer.kubeflow.org/v1alpha1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "RayCronJob": "ray.io/v1",
    "RayJob": "ray.io/v1",
    "RayCluster": "ray.io/v1",
    "HyperPodPyTorchJob": "sagemaker.amazonaws.com/v1",
    "Job": "batch/v1",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
}


def manifest(kind: str, spec: str) -> str:
    """Return an object of a kind; its spec's first line is the file's sixth."""
    head = f"apiVersion: {_VERSIONS[kind]}\nkind: {kind}\nmetadata:\n  name: train\n"
    return f"{head}spec:\n{indent(dedent(spec).strip(chr(10)), '  ')}\n"


def read_object(kind: str, spec: str) -> ReadText:
    """Return what is read of an object, and of the scripts in it."""
    document = document_of(manifest(kind, spec), "job.yaml")
    readers = Readers()
    reader = readers.find(f"k8s-{kind.lower()}")
    assert isinstance(reader, Reader)
    assert readers.detect_document(document) is not None
    reading = reader.read(document)
    facts = list(reading.facts.facts)
    for script in reading.scripts:
        for item in readers.of_scripts(script):
            if item.detect(script) > 0:
                facts += item.read(script).facts.facts
    return ReadText(document, reading, merge(facts))


def environment(read: ReadText) -> dict[str, str | None]:
    """Return the variables of an object by name."""
    return {variable.name: variable.value for variable in read.reading.variables}
