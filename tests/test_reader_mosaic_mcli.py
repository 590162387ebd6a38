"""Run files of MosaicML's command line."""

import json

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import document_of, read_text
from speccheck.validator.sources.formats.llm_foundry import READER as LLM_FOUNDRY
from speccheck.validator.sources.formats.mosaic_mcli import READER

RUN = """\
name: convert
image: mosaicml/llm-foundry:2.7.0_cu128-latest
compute:
  gpus: 32
  nodes: 4
  gpu_type: a100_80gb
scheduling:
  preemptible: true
  retry_on_system_failure: true
  max_duration: 6
env_variables:
- key: NCCL_DEBUG
  value: WARN
- {key: 3, value: x}
integrations:
- integration_type: git_repo
  git_repo: mosaicml/llm-foundry
  git_branch: v0.21.0
- integration_type: git_repo
  git_repo: mosaicml/composer
  git_branch: main
command: |
  cd llm-foundry/scripts
  python convert.py --output s3://bucket/x
"""


def test_states_what_the_run_asks_for() -> None:
    assert read_text(READER, RUN, "run.yaml").values("stated") == {
        "cluster.world_size": 32,
        "cluster.nodes": 4,
        "run.shared_capacity": True,
        "recovery.requeue": True,
        "recovery.walltime_seconds": 21600.0,
    }


def test_the_accelerator_is_looked_up() -> None:
    leaves = read_text(READER, RUN, "run.yaml")
    assert leaves.value("cluster.accelerator_family") == "nvidia"
    assert leaves.value("cluster.compute_capability") == (8, 0)
    assert leaves.line("cluster.accelerator_family") == 6
    other = read_text(READER, RUN.replace("a100_80gb", "warp9"), "run.yaml")
    assert other.status("cluster.accelerator") == "unknown"


def test_variables_releases_and_the_command() -> None:
    reading = read_text(READER, RUN, "run.yaml").reading
    assert [(variable.name, variable.value) for variable in reading.variables] == [
        ("NCCL_DEBUG", "WARN")
    ]
    versions = {item.package: item.text for item in reading.versions}
    assert versions["llm-foundry"] == "0.21.0"
    assert "composer" not in versions
    (script,) = reading.scripts
    commands = [
        [word.text for word in command.words] for command in script.script.commands
    ]
    assert ["python", "convert.py", "--output", "s3://bucket/x"] in commands


def test_variables_as_a_mapping() -> None:
    text = "command: a\nimage: b\ncompute: {gpus: 8}\nenv_variables: {A: 1, B: [2]}\n"
    found = read_text(READER, text, "run.yaml").reading.variables
    assert [(finding.name, finding.value) for finding in found] == [
        ("A", "1"),
        ("B", None),
    ]


@pytest.mark.parametrize(
    "content",
    [
        {"compute": [], "command": 3, "integrations": "x", "image": 7},
        {
            "compute": {"gpus": "all", "gpu_type": 3, "instance": []},
            "env_variables": [None, {"key": "A"}],
            "integrations": [1, {"git_repo": 1, "git_branch": 2}],
            "scheduling": [],
        },
    ],
)
def test_odd_shapes_are_read_without_a_word(content: object) -> None:
    leaves = read_text(READER, json.dumps(content), "run.json")
    assert leaves.value("cluster.world_size") is None


@pytest.mark.parametrize(
    "text",
    [
        "command: make\nname: x\n",
        "compute: {gpus: 8}\nname: x\nimage: y\n",
        "command: [a]\nimage: b\ncompute: {gpus: 8}\n",
        "command: a\nname: b\nimage: c\ncompute: {cpu: 4}\n",
    ],
)
def test_look_alikes_are_not_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) < 0.5


def test_a_file_that_carries_a_configuration_is_of_that_format() -> None:
    carried = (
        "parameters: {max_duration: 1ep, train_loader: {}, scheduler: {}, "
        "eval_interval: 1}\n"
    )
    document = document_of(RUN + carried, "run.yaml")
    assert LLM_FOUNDRY.detect(document) > READER.detect(document) > 0.5
    document = document_of(RUN + "parameters: {model: gpt2}\n", "run.yaml")
    assert READER.detect(document) > LLM_FOUNDRY.detect(document)


@needs_corpus
def test_every_published_file_is_recognised_and_read() -> None:
    for path in sorted(corpus_folder("configs/mosaic-mcli").iterdir()):
        leaves = read_text(READER, path.read_text("utf-8"), "run.yaml")
        assert READER.detect(leaves.document) >= 0.7, path.name
        assert LLM_FOUNDRY.detect(leaves.document) == 0.0
        assert leaves.value("cluster.world_size") == 8
