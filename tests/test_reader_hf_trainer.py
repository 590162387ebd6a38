"""Arguments of the Hugging Face Trainer and TRL."""

import json

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, keys_and_texts, read_text
from speccheck.validator.sources.formats import deepspeed
from speccheck.validator.sources.formats.hf_trainer import READER
from speccheck.validator.sources.joining.merge import merge

SFT = """\
model_name_or_path: meta-llama/Llama-3.1-8B
trust_remote_code: true
torch_dtype: bfloat16
attn_implementation: flash_attention_2
dataset_name: HuggingFaceH4/ultrachat_200k
chat_template: chatml
max_seq_length: 4096
packing: true
bf16: true
tf32: true
per_device_train_batch_size: 4
gradient_accumulation_steps: 8
gradient_checkpointing: true
learning_rate: 2.0e-05
lr_scheduler_type: cosine
warmup_ratio: 0.1
weight_decay: 0.01
max_grad_norm: 0.2
optim: adamw_torch_fused
num_train_epochs: 3
max_steps: -1
ddp_timeout: 7200
dataloader_num_workers: 8
dataloader_persistent_workers: true
save_strategy: steps
save_steps: 250
save_total_limit: 3
save_only_model: true
resume_from_checkpoint: true
eval_strategy: steps
eval_steps: 500
logging_steps: 5
report_to: [tensorboard, wandb]
seed: 42
output_dir: /ckpt/llama-sft
deepspeed: configs/zero3.json
"""
CORE = """\
output_dir: /ckpt/run
per_device_train_batch_size: 2
learning_rate: 1.0e-05
num_train_epochs: 1
"""


def read(text: str, name: str = "settings.yaml") -> ReadText:
    return read_text(READER, text, name)


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(SFT).values("stated") == {
        "model.name_of_model": "meta-llama/Llama-3.1-8B",
        "security.trusts_remote_code": True,
        "precision.parameter_dtype": "bf16",
        "kernels.attention_backend": "flash",
        "batch.sequence_length": 4096,
        "batch.packing": True,
        "precision.bf16": True,
        "precision.tf32": True,
        "batch.micro_batch_size": 4,
        "batch.gradient_accumulation_steps": 8,
        "memory.recompute_mode": "full",
        "optimizer.learning_rate": 2.0e-05,
        "optimizer.schedule": "cosine",
        "optimizer.warmup_ratio": 0.1,
        "optimizer.weight_decay": 0.01,
        "optimizer.clip_norm": 0.2,
        "optimizer.name_of_optimizer": "adamw_torch_fused",
        "run.epochs": 3.0,
        "communication.timeout_seconds": 7200.0,
        "data.workers": 8,
        "data.persistent_workers": True,
        "checkpoint.enabled": True,
        "checkpoint.interval_unit": "steps",
        "checkpoint.interval_steps": 250,
        "checkpoint.keep_last": 3,
        "checkpoint.save_optimizer": False,
        "checkpoint.resume": True,
        "checkpoint.evaluation_interval_steps": 500,
        "telemetry.log_interval_steps": 5,
        "telemetry.sinks": ("tensorboard", "wandb"),
        "run.seed": 42,
        "checkpoint.directory": "/ckpt/llama-sft",
    }


def test_derives_what_follows_from_the_file() -> None:
    assert read(SFT).values("derived") == {
        "run.framework": "transformers",
        "run.role": "sft",
        "parallelism.engine": "deepspeed",
        "kernels.fused_optimizer": True,
    }


def test_places_and_references() -> None:
    leaves = read(SFT)
    assert leaves.line("optimizer.learning_rate") == 14
    assert leaves.line("checkpoint.interval_steps") == 26
    (reference,) = leaves.reading.references
    assert (reference.target, reference.place.key) == (
        "configs/zero3.json",
        "deepspeed",
    )


def test_defaults_are_those_that_every_version_shares() -> None:
    leaves = read(CORE)
    assert leaves.values("default") == {
        "run.uses_torch": True,
        "batch.mode": "fixed",
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.expert_parallel_size": 1,
        "batch.gradient_accumulation_steps": 1,
        "optimizer.clip_norm": 1.0,
        "communication.timeout_seconds": 1800.0,
        "checkpoint.enabled": True,
        "checkpoint.interval_unit": "steps",
        "checkpoint.interval_steps": 500,
        "checkpoint.keep_last": 0,
        "checkpoint.save_optimizer": True,
        "checkpoint.saves_best_model": False,
        "data.workers": 0,
        "data.pin_memory": True,
        "run.deterministic": False,
    }
    assert leaves.note("communication.timeout_seconds") == (
        "ddp_timeout is not set: 1800 in every tabulated version of transformers"
    )


def test_the_log_interval_that_is_not_set_depends_on_the_library() -> None:
    leaves = read(CORE)
    assert leaves.status("telemetry.log_interval_steps") == "unknown"
    assert "500 in transformers" in leaves.note("telemetry.log_interval_steps")


@pytest.mark.parametrize(
    ("strategy", "is_on", "unit"),
    [('"no"', False, "never"), ("no", False, "never"), ("epoch", True, "epoch")],
)
def test_save_strategies(strategy: str, is_on: bool, unit: str) -> None:  # noqa: FBT001
    leaves = read(CORE + f"save_strategy: {strategy}\nsave_steps: 100\n")
    assert leaves.value("checkpoint.enabled") is is_on
    assert leaves.value("checkpoint.interval_unit") == unit
    assert leaves.value("checkpoint.interval_steps") is None


def test_an_interval_below_one_is_a_share_of_the_run() -> None:
    leaves = read(CORE + "save_steps: 0.15\nlogging_steps: 0.001\nmax_steps: 1001\n")
    assert leaves.value("checkpoint.interval_steps") == 151
    assert leaves.value("telemetry.log_interval_steps") == 2
    assert leaves.note("checkpoint.interval_steps") == "0.15 of 1,001 steps"
    without = read(CORE + "save_steps: 0.5\n")
    assert without.status("checkpoint.interval_steps") == "unknown"


def test_warmup_steps_below_one_are_a_ratio() -> None:
    assert read(CORE + "warmup_steps: 0.1\n").value("optimizer.warmup_ratio") == 0.1
    assert read(CORE + "warmup_steps: 300\n").value("optimizer.warmup_steps") == 300


@pytest.mark.parametrize(
    ("lines", "role"),
    [
        ("num_generations: 16\nuse_peft: true\n", "rl"),
        ("use_peft: true\nlora_r: 16\nload_in_4bit: true\n", "lora"),
        ("beta: 0.1\nuse_peft: false\n", "rl"),
        ("assistant_only_loss: true\n", "sft"),
        ("do_train: true\n", None),
    ],
)
def test_roles(lines: str, role: str | None) -> None:
    assert read(CORE + lines).value("run.role") == role


def test_adapters_and_quantization() -> None:
    leaves = read(CORE + "use_peft: true\nload_in_4bit: true\n")
    assert leaves.value("model.adapter") == "qlora"
    assert leaves.value("model.quantized_bits") == 4
    assert read(CORE + "use_peft: true\n").value("model.adapter") == "lora"


def test_group_size_of_grpo() -> None:
    leaves = read(CORE + "num_generations: 12\n")
    assert leaves.value("run.generations_per_prompt") == 12
    assert leaves.line("run.generations_per_prompt") == 5


def test_fsdp_words_and_block() -> None:
    leaves = read(
        CORE
        + "fsdp: shard_grad_op auto_wrap offload\n"
        + "fsdp_config:\n"
        + "  fsdp_version: 1\n"
        + "  fsdp_state_dict_type: SHARDED_STATE_DICT\n"
        + "  activation_checkpointing: true\n"
        + "  backward_prefetch: backward_pre\n"
        + "gradient_checkpointing: false\n"
    )
    assert leaves.value("parallelism.engine") == "fsdp1"
    assert leaves.value("parallelism.sharding_stage") == 2
    assert leaves.value("memory.parameter_offload_device") == "cpu"
    assert leaves.value("memory.optimizer_offload_device") == "cpu"
    assert leaves.value("checkpoint.format") == "sharded"
    assert leaves.value("memory.recompute_mode") == "full"
    assert leaves.value("communication.overlap_parameter_gather") is True


def test_fsdp_without_a_version_may_be_either() -> None:
    leaves = read(CORE + "fsdp: true\n")
    assert leaves.value("parallelism.sharding_stage") == 3
    assert leaves.status("parallelism.engine") == "unknown"


def test_recomputation_that_is_off_keeps_its_place_and_yields() -> None:
    leaves = read(CORE + "gradient_checkpointing: false\n")
    assert leaves.value("memory.recompute_mode") == "none"
    assert leaves.status("memory.recompute_mode") == "default"
    assert leaves.line("memory.recompute_mode") == 5


@pytest.mark.parametrize(
    ("stated", "value"),
    [("latest", True), ("false", False), ("/ckpt/step-500", None), ("", None)],
)
def test_resuming(stated: str, value: bool | None) -> None:  # noqa: FBT001
    leaves = read(CORE + f"resume_from_checkpoint: {stated}\n")
    assert leaves.value("checkpoint.resume") is value


@pytest.mark.parametrize(
    ("stated", "sinks"),
    [("none", ()), ("wandb", ("wandb",)), ("[none]", ()), ("all", None)],
)
def test_sinks(stated: str, sinks: tuple[str, ...] | None) -> None:
    assert read(CORE + f"report_to: {stated}\n").value("telemetry.sinks") == sinks


def test_a_deepspeed_block_inside_the_file() -> None:
    leaves = read(
        CORE
        + "deepspeed:\n"
        + "  zero_optimization: {stage: 2, offload_optimizer: {device: cpu}}\n"
        + "  train_micro_batch_size_per_gpu: auto\n"
    )
    assert leaves.value("parallelism.sharding_stage") == 2
    assert leaves.line("parallelism.sharding_stage") == 6
    assert leaves.value("memory.optimizer_offload_device") == "cpu"
    assert leaves.value("batch.micro_batch_size") == 2
    assert leaves.reading.references == ()


def test_batch_defaults_hold_against_auto_in_deepspeeds_file() -> None:
    trainer = read(CORE + "deepspeed: zero2.json\n")
    content = json.dumps({"gradient_accumulation_steps": "auto", "bf16": {}})
    engine = read_text(deepspeed.READER, content, "zero2.json")
    both = merge([*trainer.reading.facts.facts, *engine.reading.facts.facts])
    assert both["batch.gradient_accumulation_steps"].value == 1
    assert both["run.framework"].value == "transformers"
    assert [name for name, leaf in both.items() if leaf.status == "conflict"] == []


def test_a_learning_rate_without_a_dot_is_a_text() -> None:
    leaves = read(CORE.replace("1.0e-05", "2e-5"))
    assert leaves.value("optimizer.learning_rate") == 2e-5
    assert keys_and_texts(leaves) == [("learning_rate", "2e-5", False)]


def test_the_parser_of_trl_converts_texts() -> None:
    leaves = read(CORE.replace("1.0e-05", "2e-5") + "use_peft: true\n")
    assert keys_and_texts(leaves) == []


def test_a_bare_no_is_false_and_stops_the_trainer() -> None:
    leaves = read(CORE + "eval_strategy: no\nsave_strategy: 'no'\n")
    assert keys_and_texts(leaves) == [("eval_strategy", "no", True)]


def test_the_env_block_of_trl_sets_variables() -> None:
    leaves = read(CORE + "env:\n  NCCL_DEBUG: WARN\n  NCCL_IB_TIMEOUT: 22\n")
    found = [(variable.name, variable.value) for variable in leaves.reading.variables]
    assert found == [("NCCL_DEBUG", "WARN"), ("NCCL_IB_TIMEOUT", "22")]
    assert leaves.reading.variables[0].place.key == "env.NCCL_DEBUG"


def test_open_instruct_has_a_loop_and_defaults_of_its_own() -> None:
    leaves = read(
        CORE
        + "use_slow_tokenizer: true\n"
        + "checkpointing_steps: epoch\n"
        + "keep_last_n_checkpoints: 2\n"
    )
    assert leaves.value("checkpoint.interval_unit") == "epoch"
    assert leaves.value("checkpoint.keep_last") == 2
    assert leaves.value("communication.timeout_seconds") is None
    assert leaves.value("data.workers") is None


def test_json_is_read_like_yaml() -> None:
    content = {"per_device_train_batch_size": 1, "learning_rate": 1e-4}
    leaves = read(json.dumps({**content, "output_dir": "out"}), "settings.json")
    assert leaves.value("batch.micro_batch_size") == 1
    assert READER.detect(leaves.document) >= 0.5


@pytest.mark.parametrize(
    "lines",
    [
        "fsdp: [1, {}]\nfsdp_config: full_shard\ndeepspeed: 3\n",
        "save_steps: .nan\nreport_to: {a: 1}\nlr_scheduler_kwargs: 5\n",
        "env: [a]\nwarmup_steps: soon\neval_strategy: 4\n",
        "seed:\nbf16: maybe\nmax_steps: ${steps}\n",
    ],
)
def test_odd_shapes_are_read_without_a_word(lines: str) -> None:
    assert read(CORE + lines).value("batch.micro_batch_size") == 2


def test_ms_swift_states_the_same_leaves_and_no_defaults_of_the_trainer() -> None:
    leaves = read(CORE + "tuner_type: lora")
    assert leaves.value("batch.micro_batch_size") == 2
    assert leaves.status("communication.timeout_seconds") is None


@pytest.mark.parametrize(
    "line",
    [
        "stage: sft",
        "template: llama3",
        "cutoff_len: 2048",
        "dist_config: {name: fsdp2}",
        "base_model: x",
        "distributed_type: FSDP",
        "trainer: {num_nodes: 1}",
    ],
)
def test_look_alikes_are_not_recognised(line: str) -> None:
    assert READER.detect(document_of(CORE, "a.yaml")) >= 0.5
    assert READER.detect(document_of(CORE + line, "a.yaml")) < 0.5


def test_common_keys_alone_are_not_enough() -> None:
    text = "learning_rate: 1.0\ngradient_accumulation_steps: 2\noutput_dir: x\n"
    assert READER.detect(document_of(text, "a.yaml")) < 0.5


# Files of other frameworks that lie in the folder: LLaMA-Factory's schema of version 1
# has a loader and keys of its own.
OF_OTHERS = ("LLaMA-Factory__examples_v1",)


@needs_corpus
def test_every_published_file_is_recognised_and_read() -> None:
    missed: list[str] = []
    for path in sorted(corpus_folder("configs/hf-trainer").iterdir()):
        document = document_of(path.read_text("utf-8"), "settings.yaml")
        if READER.detect(document) < 0.5:
            missed.append(path.name)
        assert READER.read(document).facts.facts
    assert [name for name in missed if not name.startswith(OF_OTHERS)] == []


@needs_corpus
def test_no_file_of_llama_factory_is_recognised() -> None:
    for path in sorted(corpus_folder("configs/llamafactory").iterdir()):
        document = document_of(path.read_text("utf-8"), "settings.yaml")
        assert READER.detect(document) < 0.5, path.name
