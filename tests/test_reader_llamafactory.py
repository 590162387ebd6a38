"""LLaMA-Factory's YAML, in both of its schemas."""

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, keys_and_texts, read_text
from speccheck.validator.sources.formats.llamafactory import READER
from speccheck.validator.sources.registry import Readers

FULL = """\
model_name_or_path: meta-llama/Llama-3.1-8B
trust_remote_code: true
flash_attn: fa2
enable_liger_kernel: true
stage: sft
do_train: true
finetuning_type: full
deepspeed: examples/deepspeed/ds_z3_config.json
dataset: tulu3
template: llama3
cutoff_len: 4096
neat_packing: true
dataloader_num_workers: 4
output_dir: /ckpt/tulu
logging_steps: 5
save_steps: 100
save_total_limit: 3
save_only_model: false
report_to: wandb
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 2.0e-6
num_train_epochs: 2.0
lr_scheduler_type: linear
warmup_steps: 60
bf16: true
ddp_timeout: 1800
resume_from_checkpoint: null
seed: 7
"""
CORE = """\
model_name_or_path: org/model
stage: sft
do_train: true
dataset: x
template: qwen
output_dir: out
"""
TRAINER = """\
model_name_or_path: org/model
per_device_train_batch_size: 2
learning_rate: 1.0e-5
num_train_epochs: 2
output_dir: out
bf16: true
"""
VERSION_1 = """\
model: Qwen/Qwen3-4B
model_class: llm
peft_config:
  name: lora
  r: 16
kernel_config:
  name: auto
dist_config:
  name: fsdp2
  reshard_after_forward: false
cp_size: 2
train_dataset: data/sft.yaml
output_dir: ./outputs
micro_batch_size: 2
global_batch_size: 64
cutoff_len: 2048
learning_rate: 1.0e-4
bf16: true
max_steps: 10
save_steps: 5
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "train.yaml")


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(FULL).values("stated") == {
        "model.name_of_model": "meta-llama/Llama-3.1-8B",
        "security.trusts_remote_code": True,
        "kernels.attention_backend": "flash",
        "batch.sequence_length": 4096,
        "data.workers": 4,
        "checkpoint.directory": "/ckpt/tulu",
        "telemetry.log_interval_steps": 5,
        "checkpoint.interval_steps": 100,
        "checkpoint.keep_last": 3,
        "checkpoint.save_optimizer": True,
        "telemetry.sinks": ("wandb",),
        "batch.micro_batch_size": 2,
        "batch.gradient_accumulation_steps": 4,
        "optimizer.learning_rate": 2e-6,
        "run.epochs": 2.0,
        "optimizer.schedule": "linear",
        "optimizer.warmup_steps": 60,
        "precision.bf16": True,
        "communication.timeout_seconds": 1800.0,
        "run.seed": 7,
    }


def test_derives_what_follows_from_the_file() -> None:
    leaves = read(FULL)
    assert leaves.values("derived") == {
        "run.framework": "llamafactory",
        "run.role": "sft",
        "model.adapter": "none",
        "parallelism.engine": "deepspeed",
        "batch.packing": True,
        "kernels.fused_normalization": True,
        "kernels.fused_cross_entropy": True,
    }
    assert leaves.line("model.adapter") == 7
    (reference,) = leaves.reading.references
    assert reference.target == "examples/deepspeed/ds_z3_config.json"


def test_defaults() -> None:
    leaves = read(CORE)
    defaults = leaves.values("default")
    assert defaults["memory.recompute_mode"] == "full"
    assert defaults["checkpoint.resume"] is True
    assert defaults["batch.packing"] is False
    assert defaults["batch.micro_batch_size"] == 8
    assert defaults["checkpoint.interval_steps"] == 500
    assert defaults["telemetry.log_interval_steps"] == 500
    assert defaults["parallelism.tensor_parallel_size"] == 1
    # finetuning_type is lora where it is not set
    assert leaves.value("model.adapter") == "lora"
    assert leaves.value("run.role") == "lora"
    # 1,024 before 0.9.1, 2,048 since
    assert leaves.status("batch.sequence_length") is None


@pytest.mark.parametrize(
    ("lines", "adapter", "role"),
    [
        ("finetuning_type: full\n", "none", "sft"),
        ("finetuning_type: freeze\n", "freeze", "sft"),
        ("finetuning_type: lora\n", "lora", "lora"),
        ("finetuning_type: lora\nquantization_bit: 4\n", "qlora", "lora"),
        ("finetuning_type: oft\nquantization_bit: 4\n", "oft", "lora"),
    ],
)
def test_methods(lines: str, adapter: str, role: str) -> None:
    leaves = read(CORE + lines)
    assert (leaves.value("model.adapter"), leaves.value("run.role")) == (adapter, role)


@pytest.mark.parametrize("name", ["galore", "apollo", "badam"])
def test_optimizers_that_keep_less_replace_the_one_that_is_named(name: str) -> None:
    leaves = read(
        CORE + f"finetuning_type: full\noptim: adamw_torch\nuse_{name}: true\n"
    )
    assert leaves.value("optimizer.name_of_optimizer") == f"{name}_adamw"


@pytest.mark.parametrize(
    ("stage", "more", "role"),
    [
        ("pt", "", "continued"),
        ("pt", "train_from_scratch: true\n", "pretrain"),
        ("dpo", "", "rl"),
        ("kto", "", "rl"),
        ("rm", "", "rl"),
        ("unknown", "", None),
    ],
)
def test_stages(stage: str, more: str, role: str | None) -> None:
    text = CORE.replace("stage: sft", f"stage: {stage}")
    leaves = read(text + "finetuning_type: full\n" + more)
    assert leaves.value("run.role") == role


def test_pure_bf16_is_the_format_of_weights_and_states() -> None:
    leaves = read(CORE + "pure_bf16: true\n")
    assert leaves.value("precision.parameter_dtype") == "bf16"
    assert leaves.value("precision.optimizer_state_dtype") == "bf16"
    assert leaves.value("precision.compute_dtype") == "bf16"
    assert leaves.status("precision.bf16") is None
    assert leaves.line("precision.parameter_dtype") == 7


@pytest.mark.parametrize(
    ("lines", "resumes", "status"),
    [
        ("overwrite_output_dir: true\n", False, "derived"),
        ("resume_from_checkpoint: true\n", True, "stated"),
        ("resume_from_checkpoint: out/checkpoint-500\n", None, "unknown"),
        ("resume_from_checkpoint: null\n", True, "default"),
    ],
)
def test_resuming(lines: str, resumes: bool | None, status: str) -> None:  # noqa: FBT001
    leaves = read(CORE + lines)
    assert leaves.value("checkpoint.resume") is resumes
    assert leaves.status("checkpoint.resume") == status


def test_recomputation_is_on_unless_it_is_disabled() -> None:
    leaves = read(CORE + "disable_gradient_checkpointing: true\n")
    assert leaves.value("memory.recompute_mode") == "none"
    leaves = read(CORE + "gradient_checkpointing: false\n")
    assert leaves.value("memory.recompute_mode") == "full"


def test_a_sink_of_its_own() -> None:
    leaves = read(CORE + "use_swanlab: true\nreport_to: [tensorboard]\n")
    assert leaves.value("telemetry.sinks") == ("tensorboard", "swanlab")


def test_the_back_ends_on_megatron() -> None:
    leaves = read(
        CORE + "tensor_model_parallel_size: 4\npipeline_model_parallel_size: 2\n"
        "sequence_parallel: true\nuse_distributed_optimizer: true\n"
    )
    assert leaves.value("parallelism.engine") == "megatron"
    assert leaves.value("parallelism.tensor_parallel_size") == 4
    assert leaves.value("parallelism.context_parallel_size") == 1
    assert leaves.status("memory.recompute_mode") is None


def test_files_that_train_nothing_state_only_what_they_say() -> None:
    export = read(
        "model_name_or_path: org/model\n"
        "adapter_name_or_path: saves/lora\n"
        "template: qwen\n"
        "trust_remote_code: true\n"
        "export_dir: saves/merged\n"
    )
    assert {name: leaf.value for name, leaf in export.leaves.items()} == {
        "model.name_of_model": "org/model",
        "security.trusts_remote_code": True,
        "run.framework": "llamafactory",
        "run.role": "conversion",
    }
    chat = read("model_name_or_path: org/model\ntemplate: qwen\ninfer_backend: vllm\n")
    assert set(chat.leaves) == {"model.name_of_model", "run.framework"}


def test_version_1() -> None:
    leaves = read(VERSION_1)
    assert leaves.values("stated") == {
        "model.name_of_model": "Qwen/Qwen3-4B",
        "checkpoint.directory": "./outputs",
        "batch.micro_batch_size": 2,
        "batch.global_batch_size": 64,
        "batch.sequence_length": 2048,
        "optimizer.learning_rate": 1e-4,
        "precision.bf16": True,
        "run.steps": 10,
        "checkpoint.interval_steps": 5,
        "parallelism.ulysses_size": 2,
    }
    assert leaves.values("derived") == {
        "run.framework": "llamafactory",
        "run.role": "lora",
        "model.adapter": "lora",
        "parallelism.engine": "fsdp2",
        "parallelism.sharding_stage": 2,
        "checkpoint.enabled": True,
        "checkpoint.interval_unit": "steps",
    }
    assert leaves.line("parallelism.sharding_stage") == 10


def test_numbers_in_quotes_stay_texts() -> None:
    # OmegaConf reads 1e-5 as a number, which PyYAML alone does not.
    assert keys_and_texts(read(CORE + "learning_rate: 1e-5\n")) == []
    assert keys_and_texts(read(CORE + 'learning_rate: "1e-5"\n')) == [
        ("learning_rate", "1e-5", False)
    ]
    assert keys_and_texts(read(CORE + "save_strategy: no\n")) == [
        ("save_strategy", "no", True)
    ]


def unknown_keys(text: str) -> list[str]:
    keyed = read(text).reading.keyed
    assert keyed is not None
    assert keyed.catalogue is not None
    return [
        key.place.key for key in keyed.keys if not keyed.catalogue.is_known(key.path)
    ]


def test_the_key_table() -> None:
    assert unknown_keys(FULL) == unknown_keys(VERSION_1) == []
    assert unknown_keys(CORE + "gradient_acumulation_steps: 4\n") == [
        "gradient_acumulation_steps"
    ]


@pytest.mark.parametrize(
    ("text", "format_id"),
    [
        (FULL, "llamafactory"),
        (CORE, "llamafactory"),
        (VERSION_1, "llamafactory"),
        (TRAINER, "hf-trainer"),
        ("model: {name: x}\ntemplate: pod\n", None),
        ("model_name_or_path: x\ntemplate: y\n", None),
    ],
)
def test_detection(text: str, format_id: str | None) -> None:
    found = Readers().detect_document(document_of(text, "any.yaml"))
    assert (found.format if found else None) == format_id


@pytest.mark.parametrize("odd", ["null", "text", "7", "[1, 2]", "true", "{a: [1]}"])
def test_odd_shapes_do_not_raise(odd: str) -> None:
    keys = (
        "stage",
        "finetuning_type",
        "quantization_bit",
        "deepspeed",
        "fsdp",
        "fsdp_config",
        "report_to",
        "save_steps",
        "packing",
        "resume_from_checkpoint",
        "use_swanlab",
        "flash_attn",
        "max_steps",
    )
    for key in keys:
        lines = [line for line in CORE.splitlines() if not line.startswith(f"{key}:")]
        read("\n".join([*lines, f"{key}: {odd}"]))
    for key in ("dist_config", "peft_config", "cp_size", "cp_mode", "save_steps"):
        read(f"model: x\nmodel_class: llm\nkernel_config: {{}}\n{key}: {odd}\n")


@needs_corpus
def test_published_files_are_detected_and_their_keys_known() -> None:
    paths = [
        *sorted(corpus_folder("configs/llamafactory").iterdir()),
        *sorted(corpus_folder("configs/hf-trainer").glob("LLaMA-Factory__*_v1_*")),
    ]
    assert len(paths) == 39
    for path in paths:
        text = path.read_text("utf-8")
        assert READER.detect(document_of(text, path.name)) >= 0.8, path.name
        assert unknown_keys(text) == [], path.name
