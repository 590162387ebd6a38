"""SkyPilot tasks."""

from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.run.run import run
from speccheck.validator.sources.formats.skypilot import READER, detect

TASK = """\
name: pretrain
num_nodes: 4
resources:
  infra: aws/us-east-1
  accelerators: H100:8
  use_spot: true
  image_id: docker:pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
  job_recovery:
    strategy: EAGER_NEXT_REGION
    max_restarts_on_errors: 3
envs:
  NCCL_DEBUG: INFO
  STEPS: 1000
  HF_TOKEN:
setup: |
  pip install -e .
run: |
  echo "$SKYPILOT_NODE_RANK"
  torchrun --nnodes $SKYPILOT_NUM_NODES \\
    --nproc-per-node $SKYPILOT_NUM_GPUS_PER_NODE \\
    --node-rank $SKYPILOT_NODE_RANK \\
    train.py --steps $STEPS
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "task.yaml")


def test_states_the_cluster_and_how_it_recovers() -> None:
    task = read(TASK)
    assert task.values("stated", "derived") == {
        "cluster.nodes": 4,
        "cluster.gpus_per_node": 8,
        "cluster.accelerator_family": "nvidia",
        "cluster.compute_capability": (9, 0),
        "run.in_container": True,
        "run.shared_capacity": True,
        "recovery.requeue": True,
    }
    assert task.line("cluster.nodes") == 2
    assert task.line("cluster.gpus_per_node") == 5
    assert task.line("recovery.requeue") == 8


def test_variables_and_the_packages_of_the_image() -> None:
    reading = read(TASK).reading
    assert {variable.name: variable.value for variable in reading.variables} == {
        "NCCL_DEBUG": "INFO",
        "STEPS": "1000",
        "HF_TOKEN": None,
    }
    (torch,) = reading.versions
    assert (torch.package, torch.text) == ("torch", "2.6.0")
    assert torch.place.key == "resources.image_id"


def test_the_script_runs_with_what_skypilot_sets(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(TASK.replace("num_nodes: 4", "num_nodes: 4\nworkdirr: ."))
    # The script says nothing else than the resources: no conflict.
    judged = run(
        Request(
            (str(path),), judging=Judging(selection=Selection(("CONF-009", "CONF-001")))
        )
    )
    (plan,) = judged.plans
    assert plan.plan.value("cluster.world_size").value == 32
    failed = [finding for finding in plan.findings if finding.finding.outcome == "fail"]
    assert [(item.finding.rule, item.locations[0].line) for item in failed] == [
        ("key_refused", 3)
    ]


def test_a_launch_that_disagrees_with_the_nodes_is_found(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(TASK.replace("--nnodes $SKYPILOT_NUM_NODES", "--nnodes 2"))
    (plan,) = run(Request((str(path),))).plans
    (conflict,) = [
        finding
        for finding in plan.findings
        if finding.finding.rule == "conflicting_statements"
    ]
    assert "cluster.nodes is stated as 4 and as 2" in conflict.finding.message
    assert [(item.line, item.column) for item in conflict.locations] == [
        (2, 12),
        (19, 21),
    ]


@pytest.mark.parametrize(
    ("accelerators", "count"),
    [
        ("H100:8", 8),
        ("H100", 1),
        ("{H100: 8}", 8),
        ("{'H100:8', 'A100-80GB:8'}", 8),
        ("[H100:8, A100:8]", 8),
        ("[H100:8, A100:4]", None),
        ("H100:0.5", None),
        ("tpu-v5e-8", None),
        ("{H100: [8]}", None),
    ],
)
def test_accelerators_in_all_their_forms(accelerators: str, count: int | None) -> None:
    text = f"resources:\n  accelerators: {accelerators}\nrun: python train.py\n"
    assert read(text).value("cluster.gpus_per_node") == count


def test_alternatives_state_what_they_share() -> None:
    task = read(
        "resources:\n  any_of:\n    - {infra: aws, accelerators: 'H100:8'}\n"
        "    - {infra: gcp, accelerators: 'H100:8'}\nrun: python train.py\n"
    )
    assert task.value("cluster.gpus_per_node") == 8
    assert task.line("cluster.gpus_per_node") == 3
    assert task.value("cluster.compute_capability") == (9, 0)


def test_what_is_not_said() -> None:
    task = read("resources: {accelerators: 'H100:8'}\nrun: python train.py\n")
    assert task.values("default") == {"cluster.nodes": 1}
    assert task.note("recovery.requeue").startswith("a managed job restarts")
    task = read("resources: {accelerators: 'X9:8', job_recovery: none}\nrun: a\n")
    assert task.value("recovery.requeue") is False
    assert task.status("cluster.compute_capability") is None


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("resources: {accelerators: H100}\nrun: python train.py\n", 0.9),
        ("resources: {infra: k8s}\nsetup: pip install x\n", 0.9),
        ("resources: {cpus: 4+}\nrun: python train.py\n", 0.7),
        ("resources: {accelerators: H100}\n", 0.0),
        ("resources: {limits: {cpu: 4}}\nrun: python train.py\n", 0.0),
        ("resources: H100\nrun: python train.py\n", 0.0),
        ("resources: {accelerators: H100}\nrun: [a, b]\n", 0.0),
    ],
)
def test_detection(text: str, score: float) -> None:
    assert detect(document_of(text, "task.yaml")) == score


@pytest.mark.parametrize(
    "text",
    [
        "resources: []\nrun: a\nnum_nodes: many\n",
        "resources: {accelerators: [1, null, {}], any_of: {}}\nrun: ''\n",
        "resources: {job_recovery: [1], image_id: {us: a}}\nenvs: [A]\nrun: a\n",
        "resources: null\nenvs: {A: [1], B: {C: 1}, D: true}\nsetup: |\n  if [\n",
    ],
)
def test_odd_shapes_do_not_raise(text: str) -> None:
    read(text)


@needs_corpus
def test_published_tasks_are_read() -> None:
    for path in sorted(corpus_folder("configs/skypilot").iterdir()):
        task = read(path.read_text("utf-8"))
        assert detect(task.document) > 0.5
        assert task.value("cluster.nodes") == 2
        assert task.value("cluster.gpus_per_node") == 1


def test_a_key_that_skypilot_refuses_is_named_as_its(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(TASK.replace("accelerators:", "acelerators:"))
    (plan,) = run(Request((str(path),))).plans
    (refused,) = [
        finding.finding
        for finding in plan.findings
        if finding.finding.rule == "key_refused" and finding.finding.outcome == "fail"
    ]
    assert refused.message.startswith(
        "resources.acelerators is no key of SkyPilot; "
        "did you mean resources.accelerators?"
    )
