"""Axolotl's YAML."""

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, keys_and_texts, read_text
from speccheck.validator.sources.formats.axolotl import READER

FULL = """\
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
output_dir: /ckpt/llama
sequence_len: 8192
sample_packing: true
attn_implementation: flash_attention_2
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 2
optimizer: adamw_torch_fused
adam_beta2: 0.95
lr_scheduler: cosine
learning_rate: 2e-5
weight_decay: 0.1
max_grad_norm: 0.5
warmup_steps: 40
bf16: true
tf32: true
gradient_checkpointing: true
fsdp_version: 2
fsdp_config:
  offload_params: false
  state_dict_type: SHARDED_STATE_DICT
  reshard_after_forward: true
tensor_parallel_size: 2
context_parallel_size: 2
dp_shard_size: 4
dp_replicate_size: 2
ddp_timeout: 3600
dataloader_num_workers: 4
save_steps: 100
save_total_limit: 3
logging_steps: 1
wandb_project: llama
seed: 7
"""
CORE = """\
base_model: org/model
datasets:
  - path: org/data
micro_batch_size: 1
sequence_len: 2048
learning_rate: 0.0001
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "train.yml")


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(FULL).values("stated") == {
        "model.name_of_model": "meta-llama/Llama-3.1-8B",
        "checkpoint.directory": "/ckpt/llama",
        "batch.sequence_length": 8192,
        "batch.packing": True,
        "kernels.attention_backend": "flash",
        "batch.micro_batch_size": 2,
        "batch.gradient_accumulation_steps": 4,
        "run.epochs": 2.0,
        "optimizer.name_of_optimizer": "adamw_torch_fused",
        "optimizer.beta2": 0.95,
        "optimizer.schedule": "cosine",
        "optimizer.learning_rate": 2e-5,
        "optimizer.weight_decay": 0.1,
        "optimizer.clip_norm": 0.5,
        "optimizer.warmup_steps": 40,
        "precision.bf16": True,
        "precision.tf32": True,
        "memory.recompute_mode": "full",
        "memory.parameter_offload_device": "none",
        "checkpoint.format": "sharded",
        "parallelism.tensor_parallel_size": 2,
        "parallelism.context_parallel_size": 2,
        "parallelism.shard_size": 4,
        "parallelism.replicate_size": 2,
        "communication.timeout_seconds": 3600.0,
        "data.workers": 4,
        "checkpoint.interval_steps": 100,
        "checkpoint.keep_last": 3,
        "telemetry.log_interval_steps": 1,
        "run.seed": 7,
    }


def test_derives_what_follows_from_the_file() -> None:
    leaves = read(FULL)
    assert leaves.values("derived") == {
        "run.framework": "axolotl",
        "run.role": "sft",
        "parallelism.engine": "fsdp2",
        "parallelism.sharding_stage": 3,
        "memory.optimizer_offload_device": "none",
        "kernels.fused_optimizer": True,
        "checkpoint.enabled": True,
        "checkpoint.interval_unit": "steps",
        "telemetry.sinks": ("wandb",),
    }
    assert leaves.line("optimizer.learning_rate") == 15
    assert leaves.line("parallelism.sharding_stage") == 26
    assert leaves.line("telemetry.sinks") == 36


def test_the_schema_converts_texts() -> None:
    assert keys_and_texts(read(FULL)) == []


def test_defaults() -> None:
    leaves = read(CORE)
    assert leaves.values("default") == {
        "batch.gradient_accumulation_steps": 1,
        "checkpoint.directory": "./model-out",
        "checkpoint.save_optimizer": True,
        "checkpoint.enabled": True,
        "checkpoint.interval_unit": "epoch",
        "checkpoint.keep_last": 4,
        "communication.timeout_seconds": 1800.0,
        "data.pin_memory": True,
        "optimizer.clip_norm": 1.0,
        "model.adapter": "none",
        "model.quantized_bits": 16,
        "telemetry.sinks": (),
        "batch.mode": "fixed",
        "run.uses_torch": True,
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.expert_parallel_size": 1,
    }


def test_workers_that_are_not_set_depend_on_the_release() -> None:
    leaves = read(CORE)
    assert leaves.status("data.workers") == "unknown"
    assert "one for each GPU" in leaves.note("data.workers")


@pytest.mark.parametrize(
    ("line", "value", "status"),
    [
        ("bf16: true", True, "stated"),
        ("bf16: false", False, "stated"),
        ("bf16: full", True, "derived"),
        ("bf16: auto", None, "unknown"),
        ("bfloat16: true", True, "stated"),
        ("seed: 1", None, "unknown"),
        ("fp16: true", None, None),
    ],
)
def test_half_precision(line: str, value: object, status: str | None) -> None:
    leaves = read(CORE + line + "\n")
    assert leaves.value("precision.bf16") == value
    assert leaves.status("precision.bf16") == status


def test_full_half_precision_keeps_the_weights_in_it() -> None:
    assert read(CORE + "bf16: full\n").value("precision.parameter_dtype") == "bf16"
    leaves = read(CORE + "bf16: false\nfp16: false\nfloat16: true\n")
    assert leaves.value("precision.parameter_dtype") == "fp16"
    assert leaves.value("precision.fp16") is False


@pytest.mark.parametrize(
    ("lines", "role", "adapter"),
    [
        ("adapter: qlora\nload_in_4bit: true", "lora", "qlora"),
        ("adapter: lora\nrl: dpo", "lora", "lora"),
        ("adapter: lora\nrl: grpo", "rl", "lora"),
        ("rl: kto", "rl", "none"),
        ("pretraining_dataset: [{path: org/text}]", "continued", "none"),
        (
            "pretraining_dataset: [{path: t}]\nreinit_weights: true",
            "pretrain",
            "none",
        ),
        ("adapter:", "sft", "none"),
        ("unfrozen_parameters: [lm_head.weight]", "sft", "freeze"),
        ("lisa_n_layers: 4", "sft", "freeze"),
    ],
)
def test_roles(lines: str, role: str, adapter: str) -> None:
    leaves = read(CORE + lines + "\n")
    assert leaves.value("run.role") == role
    assert leaves.value("model.adapter") == adapter


def test_quantization_and_groups() -> None:
    leaves = read(CORE + "load_in_8bit: true\ntrl:\n  num_generations: 8\n")
    assert leaves.value("model.quantized_bits") == 8
    assert leaves.value("run.generations_per_prompt") == 8


def test_the_batch_of_a_rank_gives_the_accumulation() -> None:
    leaves = read(CORE + "batch_size: 8\n")
    assert leaves.value("batch.gradient_accumulation_steps") == 8
    assert leaves.note("batch.gradient_accumulation_steps") == (
        "batch_size 8 / micro_batch_size 1"
    )


@pytest.mark.parametrize(
    ("lines", "is_on", "unit", "steps"),
    [
        ("save_steps: 50", True, "steps", 50),
        ("save_steps: 0.25\nmax_steps: 400", True, "steps", 100),
        ("saves_per_epoch: 4", True, "epoch", None),
        ("save_strategy: epoch", True, "epoch", None),
        ("save_strategy: 'no'", False, "never", None),
        ("save_strategy: no", False, "never", None),
        ("save_strategy: best", True, None, None),
    ],
)
def test_when_it_saves(
    lines: str,
    is_on: bool,  # noqa: FBT001
    unit: str | None,
    steps: int | None,
) -> None:
    leaves = read(CORE + lines + "\n")
    assert leaves.value("checkpoint.enabled") is is_on
    assert leaves.value("checkpoint.interval_unit") == unit
    assert leaves.value("checkpoint.interval_steps") == steps


def test_saves_of_an_epoch_say_why_the_steps_are_unknown() -> None:
    note = read(CORE + "saves_per_epoch: 4\n").note("checkpoint.interval_steps")
    assert note == "4 in each epoch: the steps of an epoch are not known"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("flash_attention: true", "flash"),
        ("xformers_attention: true", "fused"),
        ("sdp_attention: true", "sdpa"),
        ("flex_attention: true", "flex"),
        ("attn_implementation: eager", "eager"),
    ],
)
def test_attention(line: str, name: str) -> None:
    assert read(CORE + line + "\n").value("kernels.attention_backend") == name


def test_activations() -> None:
    leaves = read(CORE + "gradient_checkpointing: offload\n")
    assert leaves.value("memory.recompute_mode") == "full"
    assert leaves.value("memory.activation_offload") is True
    leaves = read(CORE + "gradient_checkpointing: false\nactivation_offloading: disk\n")
    assert leaves.value("memory.recompute_mode") == "none"
    assert leaves.value("memory.activation_offload") is True


def test_fsdp_with_prefixed_keys_and_a_list() -> None:
    leaves = read(
        CORE
        + "fsdp: [shard_grad_op, auto_wrap]\n"
        + "fsdp_config:\n"
        + "  fsdp_offload_params: true\n"
        + "  fsdp_state_dict_type: FULL_STATE_DICT\n"
        + "  fsdp_activation_checkpointing: true\n"
        + "gradient_checkpointing: false\n"
    )
    assert leaves.value("parallelism.sharding_stage") == 2
    assert leaves.value("memory.parameter_offload_device") == "cpu"
    assert leaves.value("checkpoint.format") == "full"
    assert leaves.value("memory.recompute_mode") == "full"
    assert leaves.status("parallelism.engine") == "unknown"


def test_a_deepspeed_path_is_a_reference() -> None:
    leaves = read(CORE + "deepspeed: deepspeed_configs/zero3.json\n")
    (reference,) = leaves.reading.references
    assert reference.target == "deepspeed_configs/zero3.json"
    assert leaves.value("parallelism.engine") == "deepspeed"
    assert leaves.status("batch.gradient_accumulation_steps") == "derived"


def test_resuming() -> None:
    assert read(CORE + "auto_resume_from_checkpoints: true\n").value(
        "checkpoint.resume"
    )
    leaves = read(CORE + "resume_from_checkpoint: ./out/checkpoint-5\n")
    assert leaves.status("checkpoint.resume") == "unknown"


def test_a_sink_that_is_switched_off() -> None:
    lines = "use_wandb: false\nwandb_project: x\nuse_tensorboard: true\n"
    assert read(CORE + lines).value("telemetry.sinks") == ("tensorboard",)


@pytest.mark.parametrize(
    "lines",
    [
        "fsdp: full_shard\nfsdp_config: [a]\ndeepspeed: [1]\n",
        "trl: x\nbf16: [true]\nsave_strategy: {a: 1}\n",
        "adapter: [lora]\nrl: 4\nprofiler_steps: many\nbatch_size: ${n}\n",
    ],
)
def test_odd_shapes_are_read_without_a_word(lines: str) -> None:
    assert read(CORE + lines).value("batch.micro_batch_size") == 1


@pytest.mark.parametrize(
    "text",
    [
        "base_model: org/model\nmerge_method: slerp\ndatasets: []\nadapter: x\n",
        "base_model: org/model\ndtype: bfloat16\n",
        "micro_batch_size: 1\nsequence_len: 2\ndatasets: []\n",
        "- base_model\n",
    ],
)
def test_look_alikes_are_not_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) < 0.5
    assert READER.detect(document_of(CORE, "a.yaml")) >= 0.5


@needs_corpus
def test_every_published_file_is_recognised_and_read() -> None:
    missed: list[str] = []
    for path in sorted(corpus_folder("configs/axolotl").iterdir()):
        document = document_of(path.read_text("utf-8"), "settings.yaml")
        if READER.detect(document) < 0.5:
            missed.append(path.name)
        assert READER.read(document).facts.facts
    assert missed == []
