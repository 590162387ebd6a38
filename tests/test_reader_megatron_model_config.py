"""Megatron-LM arguments in the YAML of its functional tests."""

import json
from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, keys_and_texts, read_text
from speccheck.validator.cli.main import main
from speccheck.validator.sources.formats.megatron_model_config import READER

FULL = """\
ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
  NCCL_ALGO: ^NVLS
  CUBLAS_WORKSPACE_CONFIG: :4096:8
  NVTE_FUSED_ATTN: ${FUSED}
MODEL_ARGS:
  # Distributed args
  --tensor-model-parallel-size: 4
  --pipeline-model-parallel-size: 2
  --context-parallel-size: ${CP}
  --sequence-parallel: true
  --use-distributed-optimizer: true
  --overlap-grad-reduce: true
  --micro-batch-size: 1
  --global-batch-size: 256
  --rampup-batch-size: "[32 32 2000000]"
  --seq-length: 4096
  --num-layers: 32
  --hidden-size: 4096
  --num-attention-heads: 32
  --group-query-attention: true
  --num-query-groups: 8
  --swiglu: true
  --moe-layer-freq: ([0]*1+[1]*31)
  --train-iters: 5000
  --lr: 3.0e-4
  --min-lr: 3e-5
  --weight-decay: 1e-1
  --save: ${OUTPUT_PATH}/checkpoints
  --load: ${OUTPUT_PATH}/checkpoints
  --save-interval: 500
  --tensorboard-dir: ""
  --wandb-project: moe
  --log-interval: 10
  --bf16: true
TEST_TYPE: release
"""
SMALL = """\
MODEL_ARGS:
  --num-layers: 12
  --tensor-model-parallel-size: 1
  --micro-batch-size: 4
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "model_config.yaml")


def test_flags_and_switches() -> None:
    found = read(FULL)
    assert found.values("stated") == {
        "parallelism.tensor_parallel_size": 4,
        "parallelism.pipeline_parallel_size": 2,
        "parallelism.sequence_parallel": True,
        "optimizer.is_distributed": True,
        "communication.overlap_gradient_reduce": True,
        "batch.micro_batch_size": 1,
        "batch.global_batch_size": 256,
        "batch.mode": "rampup",
        "batch.sequence_length": 4096,
        "model.layers": 32,
        "model.hidden_size": 4096,
        "model.attention_heads": 32,
        "model.key_value_heads": 8,
        "model.gated_feed_forward": True,
        "run.steps": 5000,
        "optimizer.learning_rate": 3e-4,
        "optimizer.minimum_learning_rate": 3e-5,
        "optimizer.weight_decay": 0.1,
        "checkpoint.interval_steps": 500,
        "telemetry.log_interval_steps": 10,
        "telemetry.sinks": ("wandb",),
        "precision.bf16": True,
        "run.framework": "megatron-lm",
    }
    assert found.values("derived") == {
        "model.feed_forward_size": 10_880,
        "checkpoint.enabled": True,
        "checkpoint.resume": True,
    }
    assert found.line("parallelism.tensor_parallel_size") == 8
    assert found.line("batch.mode") == 16


def test_variables_of_the_harness_are_not_known() -> None:
    found = read(FULL)
    leaf = "parallelism.context_parallel_size"
    assert found.status(leaf) == "unknown"
    assert found.note(leaf) == "${CP} is set outside the file"
    assert found.status("checkpoint.directory") == "unknown"


def test_absent_flags_mean_what_they_mean_on_a_command_line() -> None:
    found = read(SMALL)
    assert found.value("parallelism.pipeline_parallel_size") == 1
    assert found.value("precision.bf16") is False
    assert found.value("checkpoint.enabled") is False
    assert found.value("batch.gradient_accumulation_steps") == 1


def test_environment_variables() -> None:
    variables = read(FULL).reading.variables
    assert [(variable.name, variable.value) for variable in variables] == [
        ("CUDA_DEVICE_MAX_CONNECTIONS", "1"),
        ("NCCL_ALGO", "^NVLS"),
        ("CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
        ("NVTE_FUSED_ATTN", None),
    ]
    assert variables[1].place.key == "ENV_VARS.NCCL_ALGO"


@pytest.mark.parametrize(
    ("kind", "role"),
    [("regular", "debug"), ("ckpt-resume", "debug"), ("release", None)],
)
def test_a_functional_test_is_a_debug_run(kind: str, role: str | None) -> None:
    assert read(f"{SMALL}TEST_TYPE: {kind}\n").value("run.role") == role
    assert read(SMALL).value("run.role") is None


def test_inference_states_the_model_alone() -> None:
    found = read(f"{SMALL}MODE: inference\n")
    assert found.value("model.layers") == 12
    for leaf in ("batch.micro_batch_size", "checkpoint.enabled", "data.workers"):
        assert found.status(leaf) is None


def test_a_text_for_a_number_is_refused() -> None:
    found = read(f"{SMALL}  --train-iters: 1e3\n  --lr: fast\n  --seq-length: $S\n")
    assert keys_and_texts(found) == [
        ("--train-iters", "1e3", True),
        ("--lr", "fast", True),
    ]


def test_a_switch_takes_no_false() -> None:
    found = read(f"{SMALL}  --sequence-parallel: false\n")
    leaf = "parallelism.sequence_parallel"
    assert found.status(leaf) == "unknown"
    assert found.note(leaf) == "--sequence-parallel takes no value, also not false"


def test_of_equal_flags_the_last_counts() -> None:
    found = read(f"{SMALL}  --num-layers: 24\n")
    assert found.value("model.layers") == 24
    keyed = found.reading.keyed
    assert keyed is not None
    assert [item.key for item in keyed.twice] == ["MODEL_ARGS.--num-layers"]
    assert not keyed.refuses_duplicates


def test_the_script_before_the_run_is_read() -> None:
    found = read(f"{SMALL}BEFORE_SCRIPT: |\n  export NCCL_DEBUG=INFO\n")
    (script,) = found.reading.scripts
    assert "NCCL_DEBUG" in script.text


def test_overrides_of_nemo_are_no_flags() -> None:
    found = read("ENV_VARS: {A: 1}\nMODEL_ARGS: {trainer.devices: 8}\n")
    assert READER.detect(found.document) >= 0.5
    assert found.values("stated") == {}
    keyed = found.reading.keyed
    assert keyed is not None
    assert keyed.catalogue is None
    assert [variable.name for variable in found.reading.variables] == ["A"]


@pytest.mark.parametrize(
    "text",
    [
        "MODEL_ARGS: null\n",
        "MODEL_ARGS: []\nENV_VARS: {}\n",
        "MODEL_ARGS: {num_layers: 2}\n",
        "num_layers: 2\n",
    ],
)
def test_look_alikes(text: str) -> None:
    assert READER.detect(document_of(text, "x.yaml")) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "MODEL_ARGS: {--lr: [1, 2], --bf16: null, --num-layers: {a: 1}, 3: 4}\n",
        "MODEL_ARGS: {--lr: 1}\nENV_VARS: [A]\nTEST_TYPE: [x]\nMODE: {}\n",
        "MODEL_ARGS: {--lr: 1}\nENV_VARS: {A: [1], 2: 3}\nBEFORE_SCRIPT: 3\n",
        "MODEL_ARGS: {--load: true, --save: true, --hidden-size: x, --swiglu: x}\n",
        "MODEL_ARGS: text\n",
    ],
)
def test_hostile_shapes_do_not_raise(text: str) -> None:
    read(text)


def test_end_to_end(tmp_path: Path) -> None:
    file = tmp_path / "model_config.yaml"
    file.write_text(FULL.replace("--sequence-parallel", "--sequence-paralel"))
    report = tmp_path / "report.json"
    assert main([str(file), "--output", f"json={report}"]) == 1
    findings = json.loads(report.read_text("utf-8"))["findings"]
    (refused,) = [finding for finding in findings if finding["rule"] == "key_refused"]
    (place,) = refused["places"]
    assert (place["line"], place["key"]) == (11, "MODEL_ARGS.--sequence-paralel")


@needs_corpus
def test_published_files_hold_known_flags() -> None:
    known, total = 0, 0
    for path in corpus_folder("configs/megatron-model-config").iterdir():
        found = read(path.read_text("utf-8"))
        assert READER.detect(found.document) >= 0.8, path.name
        keyed = found.reading.keyed
        assert keyed is not None
        if keyed.catalogue is not None:
            total += len(keyed.keys)
            known += sum(keyed.catalogue.is_known(key.path) for key in keyed.keys)
    assert known >= 0.99 * total > 1_000
