"""speccheck's own config.yaml."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reader_text import ReadText, document_of, read_text
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.evidence.plan import leaf_names
from speccheck.validator.evidence.stated_keys import KeyedFile
from speccheck.validator.run.run import run
from speccheck.validator.sources.formats.native import READER, WORDS, leaf_type
from speccheck.validator.sources.registry import Readers

CONFIG = """\
speccheck: 1
cluster:
  nodes: 4
  gpus_per_node: 8
  accelerator: H100-80GB
  compute_capability: 9.0
  fabric: ib
parallelism:
  tensor_parallel_size: 8
  shard_size: -1
precision:
  bf16: true
  compute_dtype: bfloat16
optimizer:
  learning_rate: 2e-5
checkpoint:
  directory: /ckpt/2024
  interval_steps: 1e3
telemetry:
  sinks: [tensorboard, wandb]
run:
  nccl_version: 2.20
  role:
environment:
  NCCL_ALGO: Ring
  NCCL_IB_TIMEOUT: 22
  NCCL_IB_DISABLE: false
  NCCL_DEBUG:
"""
# A value of each type that no leaf of another type would take.
_SAMPLES: dict[object, tuple[str, object]] = {
    int: ("4", 4),
    float: ("4.5", 4.5),
    str: ("word", "word"),
    bool: ("true", True),
    tuple[int, int]: ("9.0", (9, 0)),
    tuple[str, ...]: ("[one, two]", ("one", "two")),
}
_WITHIN = {
    "cluster.accelerator": ("H100-SXM5-80GB", "h100-sxm5-80gb"),
    "cluster.instance_type": ("p5.48xlarge", "aws-p5"),
    "cluster.fabric": ("efa", "efa"),
    # what the others hold lies outside of what these can be
    "parallelism.sharding_stage": ("3", 3),
    "optimizer.warmup_ratio": ("0.5", 0.5),
}


def read(text: str) -> ReadText:
    return read_text(READER, text, "config.yaml")


def keyed(text: str) -> KeyedFile:
    found = read(text).reading.keyed
    assert found is not None
    return found


def refused(lines: str) -> list[tuple[str, str, str, str]]:
    """Return key, text, what is seen and what is needed, of each refused value."""
    found = keyed(f"speccheck: 1\n{lines}").loaded_as
    assert all(finding.fatal for finding in found)
    return [
        (finding.key, finding.written, finding.loaded, finding.expected)
        for finding in found
    ]


def test_leaves_as_they_stand() -> None:
    config = read(CONFIG)
    assert config.values("stated") == {
        "cluster.nodes": 4,
        "cluster.gpus_per_node": 8,
        "cluster.compute_capability": (9, 0),
        "cluster.fabric": "infiniband",
        "parallelism.tensor_parallel_size": 8,
        "parallelism.shard_size": -1,
        "precision.bf16": True,
        "precision.compute_dtype": "bf16",
        "optimizer.learning_rate": 2e-5,
        "checkpoint.directory": "/ckpt/2024",
        "checkpoint.interval_steps": 1000,
        "telemetry.sinks": ("tensorboard", "wandb"),
        "run.nccl_version": "2.20",
    }
    assert config.value("cluster.accelerator_family") == "nvidia"
    assert config.value("run.framework") == "native"
    assert config.line("cluster.nodes") == 3
    assert keyed(CONFIG).loaded_as == ()


def test_variables_are_texts_and_null_states_nothing() -> None:
    variables = read(CONFIG).reading.variables
    assert {variable.name: variable.value for variable in variables} == {
        "NCCL_ALGO": "Ring",
        "NCCL_IB_TIMEOUT": "22",
        "NCCL_IB_DISABLE": "false",
    }
    assert variables[0].place.path == ("environment", "NCCL_ALGO")


def test_every_leaf_of_the_plan_can_be_stated() -> None:
    assert leaf_names()
    wrong = [
        f"{name}: {fault}"
        for name in leaf_names()
        for fault in _misread(name, *_sample(name))
    ]
    assert not wrong, "\n".join(wrong)


def _sample(name: str) -> tuple[str, object]:
    """Return a value of a leaf, as it is written and as it is read."""
    if name in _WITHIN:
        return _WITHIN[name]
    if name in WORDS:
        word = WORDS[name][-1]
        return word, {"float32": "fp32"}.get(word, word)
    section, _, field = name.partition(".")
    return _SAMPLES[leaf_type(section, field)]


def _misread(name: str, written: str, value: object) -> Iterator[str]:
    section, _, field = name.partition(".")
    config = read(f"speccheck: 1\n{section}:\n  {field}: {written}\n")
    if config.value(name) != value:
        yield f"{written} is read as {config.value(name)}"
    if config.status(name) not in {"stated", "derived"}:
        yield f"is {config.status(name)}"
    if config.line(name) != 3:
        yield f"stands in line {config.line(name)}"
    if config.reading.keyed is None or config.reading.keyed.loaded_as != ():
        yield "is loaded as another type"


@pytest.mark.parametrize(
    ("line", "written", "seen", "needed"),
    [
        (
            "cluster: {nodes: four}",
            "four",
            "the text 'four'",
            "a whole number from 1 on",
        ),
        ('cluster: {nodes: "4"}', '"4"', "the text '4'", "a whole number from 1 on"),
        ("cluster: {nodes: 0}", "0", "the number 0", "a whole number from 1 on"),
        ("cluster: {nodes: 2.5}", "2.5", "the number 2.5", "a whole number from 1 on"),
        (
            "cluster: {nodes: auto}",
            "auto",
            "the text 'auto'",
            "a whole number from 1 on",
        ),
        ("run: {steps: true}", "true", "true", "a whole number from 0 on"),
        ("run: {steps: -1}", "-1", "the number -1", "a whole number from 0 on"),
        ("run: {hours: [1]}", "a list", "a list", "a number from 0 on"),
        ("run: {hours: .nan}", ".nan", "the number nan", "a number from 0 on"),
        ("run: {hours: .inf}", ".inf", "the number inf", "a number from 0 on"),
        ("run: {framework: no}", "no", "false", "a text"),
        ('run: {framework: ""}', '""', "the text ''", "a text"),
        ("precision: {bf16: 1}", "1", "the number 1", "true or false"),
        ('precision: {bf16: "yes"}', '"yes"', "the text 'yes'", "true or false"),
        ("telemetry: {sinks: wandb}", "wandb", "the text 'wandb'", "a list of texts"),
        (
            "cluster: {compute_capability: 9}",
            "9",
            "the number 9",
            "a compute capability such as 9.0",
        ),
        (
            "memory: {recompute_mode: ful}",
            "ful",
            "the text 'ful'",
            "one of none, selective, full",
        ),
        (
            "cluster: {accelerator: H1000}",
            "H1000",
            "an unknown GPU 'H1000' (did you mean H100?)",
            "a known GPU",
        ),
        (
            "cluster: {instance_type: p5.48xlage}",
            "p5.48xlage",
            (
                "an unknown instance type 'p5.48xlage' (did you mean p5.48xlarge, "
                "g5.48xlarge or p5e.48xlarge?)"
            ),
            "a known instance type",
        ),
        (
            "cluster: {fabric: rocee}",
            "rocee",
            "an unknown fabric 'rocee' (did you mean roce?)",
            "a known fabric",
        ),
        ("batch: 4", "4", "the number 4", "a mapping of settings"),
        ("batch: [a]", "a list", "a list", "a mapping of settings"),
        ("environment: [A=1]", "a list", "a list", "a mapping of names to values"),
        ("environment: {A: [1]}", "a list", "a list", "a text"),
        ("speccheck: 2", "2", "the number 2", "1, the version of this format"),
        ("speccheck: true", "true", "true", "1, the version of this format"),
    ],
)
def test_what_cannot_be_used_is_told(
    line: str, written: str, seen: str, needed: str
) -> None:
    ((_, *found),) = refused(f"{line}\n")
    assert found == [written, seen, needed]


def test_a_refused_value_is_unknown_with_the_reason() -> None:
    config = read("speccheck: 1\ncluster:\n  nodes: four\n")
    assert config.status("cluster.nodes") == "unknown"
    assert config.note("cluster.nodes") == (
        "the text 'four' is not a whole number from 1 on"
    )
    assert config.line("cluster.nodes") == 3


def test_a_refused_value_is_an_error_of_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "speccheck: 1\ncluster:\n  nodes: four\n  accelerator: H1000\n"
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    selection = Selection(("refused_value_type",))
    (plan,) = run(Request(("config.yaml",), judging=Judging(selection=selection))).plans
    found = [
        (finding.finding.level, finding.locations[0].line, finding.finding.message)
        for finding in plan.findings
        if finding.finding.outcome == "fail"
    ]
    assert found == [
        (
            "error",
            3,
            (
                "you wrote cluster.nodes: four; the framework sees the text 'four', "
                "where it needs a whole number from 1 on"
            ),
        ),
        (
            "error",
            4,
            (
                "you wrote cluster.accelerator: H1000; the framework sees an unknown "
                "GPU 'H1000' (did you mean H100?), where it needs a known GPU"
            ),
        ),
    ]


@pytest.mark.parametrize("text", ["???", "${NODES}", "{{ nodes }}", "<nodes>"])
def test_a_placeholder_is_left_to_the_rule_on_placeholders(text: str) -> None:
    config = read(f"speccheck: 1\ncluster:\n  nodes: '{text}'\n")
    assert config.note("cluster.nodes") == f"placeholder {text}"
    assert config.reading.keyed is not None
    assert config.reading.keyed.loaded_as == ()


def test_keys_are_those_of_the_plan_and_nothing_else() -> None:
    found = keyed("speccheck: 1\nclusterr: {}\ncluster:\n  node: 4\n  nodes: 4\n")
    table = found.catalogue
    assert table is not None
    unknown = [key.place.key for key in found.keys if not table.is_known(key.path)]
    assert unknown == ["clusterr", "cluster.node"]
    suggestion = table.suggest(("cluster", "node"))
    assert suggestion is not None
    assert suggestion.path == "cluster.nodes"


def test_a_key_twice_is_noted() -> None:
    (twice,) = keyed("speccheck: 1\nrun:\n  steps: 1\n  steps: 2\n").twice
    assert twice.key == "run.steps"


@pytest.mark.parametrize(
    "text",
    [
        "speccheck: 1\n",
        '{"speccheck": 1, "run": {"steps": 5}}',
        # Without the marker: sections whose leaves are ours.
        (
            "cluster: {nodes: 4, gpus_per_node: 8}\nmodel: {layers: 32}\n"
            "batch: {micro_batch_size: 1, global_batch_size: 64}\n"
        ),
    ],
)
def test_files_of_this_format(text: str) -> None:
    name = "config.json" if text.startswith("{") else "config.yaml"
    found = Readers().detect_document(document_of(text, name))
    assert found is not None
    assert found.format == "native"


@pytest.mark.parametrize(
    "text",
    [
        # Hydra: the same words for sections, other keys in them.
        (
            "model: {_target_: m.GPT, dim: 512, n_layers: 8}\n"
            "optimizer: {_target_: torch.optim.AdamW, lr: 0.1, betas: [0.9, 0.95]}\n"
            "data: {path: /data, num_workers: 4}\n"
        ),
        "model: {name: x}\ndata: {seed: 1}\nrun: {seed: 2}\n",
        "cluster: {nodes: 4}\n",
        "- speccheck: 1\n",
        "model: a\ndata: b\nrun: c\n",
    ],
)
def test_files_of_other_kinds(text: str) -> None:
    assert READER.detect(document_of(text, "config.yaml")) == 0.0


@pytest.mark.parametrize("text", ["speccheck: 1\n1: {2: 3}\n", "speccheck:\n"])
def test_odd_shapes_do_no_harm(text: str) -> None:
    assert read(text).value("run.framework") == "native"
