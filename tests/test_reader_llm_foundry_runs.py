"""LLM Foundry's YAML with references, below `parameters` of a run, and evaluations."""

from pathlib import Path

import pytest

from reader_text import document_of, read_text
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.files import ReadFile, read_file
from speccheck.validator.sources.formats.llm_foundry import READER
from speccheck.validator.sources.joining.merge import merge

VARIABLES = """\
variables:
  length: 2048
  seed: 17
  nothing:
max_seq_len: ${variables.length}
max_duration: 1ep
seed: ${variables.seed}
train_loader:
  name: finetuning
  dataset: {shuffle_seed: '${variables.seed}', remote: '${variables.gone}'}
device_train_microbatch_size: auto
eval_interval: 1ep
"""
RUN = """\
name: finetune
image: mosaicml/llm-foundry:2.7.0_cu128-latest
compute: {gpus: 16, gpu_type: h100_80gb}
env_variables: {NCCL_DEBUG: INFO}
integrations:
- {integration_type: git_repo, git_repo: mosaicml/llm-foundry, git_branch: v0.21.0}
command: |
  export NCCL_IB_DISABLE=1
  composer train/train.py /mnt/config/parameters.yaml
parameters:
  length: 4096
  max_seq_len: ${length}
  max_duration: 4000ba
  train_loader: {name: text}
  global_train_batch_size: 128
  eval_interval: 0
"""


def read_at(folder: Path, text: str) -> ReadFile:
    path = folder / "train.yaml"
    path.write_text(text, "utf-8")
    (file,) = read_file(str(path))[1]
    return file


def leaves_of(file: ReadFile) -> dict[str, Value[object]]:
    return merge(file.readings[0].facts.facts)


def test_references_are_followed(tmp_path: Path) -> None:
    leaves = leaves_of(read_at(tmp_path, VARIABLES))
    length = leaves["batch.sequence_length"]
    assert (length.value, length.status) == (2048, "stated")
    places = [place.key for place in length.places]
    assert places == ["max_seq_len", "variables.length"]
    assert leaves["run.seed"].value == 17
    assert leaves["data.seed"].value == 17
    assert leaves["run.role"].value == "sft"
    reason = "auto: composer searches it at run time"
    assert leaves["batch.micro_batch_size"].note == reason


def test_variables_tell_the_least_release(tmp_path: Path) -> None:
    release = leaves_of(read_at(tmp_path, VARIABLES))["run.framework_version"]
    assert (release.value, release.status) == ("llm-foundry 0.9.0+", "default")


def test_a_wrapped_file_refers_to_its_own_keys(tmp_path: Path) -> None:
    file = read_at(tmp_path, RUN)
    assert file.format == "llm-foundry"
    leaves = leaves_of(file)
    assert leaves["batch.sequence_length"].value == 4096
    assert [place.key for place in leaves["batch.sequence_length"].places] == [
        "parameters.max_seq_len",
        "parameters.length",
    ]
    assert leaves["run.steps"].value == 4000
    keyed = file.readings[0].keyed
    assert keyed is not None
    assert ("max_seq_len",) in [key.path for key in keyed.keys]
    assert keyed.keys[0].place.path[0] == "parameters"


def test_a_wrapped_file_brings_what_the_run_says(tmp_path: Path) -> None:
    file = read_at(tmp_path, RUN)
    leaves = leaves_of(file)
    assert leaves["cluster.world_size"].value == 16
    assert leaves["cluster.accelerator_family"].value == "nvidia"
    assert [variable.name for variable in file.readings[0].variables] == ["NCCL_DEBUG"]
    versions = [(item.package, item.text) for item in file.readings[0].versions]
    assert ("llm-foundry", "0.21.0") in versions
    assert ("torch", "2.7.0") in versions
    script = [
        variable.name for reading in file.readings[1:] for variable in reading.variables
    ]
    assert "NCCL_IB_DISABLE" in script


def test_examples_are_recognised() -> None:
    for text in (VARIABLES, RUN):
        assert READER.detect(document_of(text, "a.yaml")) >= 0.5


def test_an_evaluation_trains_nothing() -> None:
    text = "models: [{model_name: a}]\ndevice_eval_batch_size: 4\nicl_tasks: x.yaml\n"
    leaves = read_text(READER, text, "eval.yaml")
    assert READER.detect(leaves.document) >= 0.5
    assert leaves.values("derived", "stated", "default") == {
        "run.framework": "llm-foundry"
    }
    assert leaves.reading.keyed is None


@pytest.mark.parametrize(
    ("path", "resumes"),
    [
        ("/ckpt/{run_name}/latest-rank{rank}.pt", True),
        ("/ckpt/{run_name}/latest-rank{rank}.pt\nload_weights_only: true", False),
        ("/ckpt/{run_name}-base/latest-rank{rank}.pt", False),
    ],
)
def test_a_load_path_among_the_own_files_resumes(path: str, *, resumes: bool) -> None:
    text = (
        "max_duration: 90ba\ntrain_loader: {name: text}\nglobal_train_batch_size: 8\n"
        "device_eval_batch_size: 8\nsave_folder: /ckpt/{run_name}\n"
        f"autoresume: false\nload_path: {path}\n"
    )
    found = read_text(READER, text, "train.yaml")
    assert found.value("checkpoint.resume") is resumes
