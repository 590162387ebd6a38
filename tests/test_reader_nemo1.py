"""NeMo 1's YAML, bare, below the Launcher's keys, and composed by Hydra."""

from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from nemo1_files import PRETRAINING, SPEECH, TUNING
from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.formats.nemo1 import READER
from speccheck.validator.sources.joining.merge import merge


def read(text: str) -> ReadText:
    return read_text(READER, text, "gpt.yaml")


def detect(text: str) -> float:
    return READER.detect(document_of(text, "gpt.yaml"))


def test_a_pretraining_file_states_the_whole_plan() -> None:
    found = read(PRETRAINING)
    stated = found.values("stated")
    assert stated == {
        "cluster.nodes": 16,
        "cluster.gpus_per_node": 8,
        "recovery.walltime_seconds": 86_400.0,
        "parallelism.tensor_parallel_size": 4,
        "parallelism.pipeline_parallel_size": 2,
        "parallelism.virtual_stages": 3,
        "parallelism.sequence_parallel": True,
        "batch.micro_batch_size": 2,
        "batch.sequence_length": 4096,
        "model.maximum_positions": 4096,
        "precision.fp8": True,
        "precision.gradient_reduce_dtype": "bf16",
        "memory.recompute_mode": "selective",
        "optimizer.name_of_optimizer": "mcore_distributed_optim",
        "optimizer.learning_rate": 1e-4,
        "optimizer.minimum_learning_rate": 1e-5,
        "optimizer.weight_decay": 0.1,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.clip_norm": 1.0,
        "optimizer.schedule": "cosineannealing",
        "optimizer.warmup_steps": 500,
        "communication.overlap_gradient_reduce": True,
        "communication.overlap_parameter_gather": True,
        "communication.overlap_tensor_parallel": True,
        "checkpoint.interval_steps": 250,
        "checkpoint.resume": True,
        "checkpoint.asynchronous": True,
        "checkpoint.format": "sharded",
        "data.workers": 2,
        "telemetry.log_interval_steps": 10,
        "telemetry.profiler": False,
        "model.layers": 48,
        "model.hidden_size": 6144,
        "model.feed_forward_size": 24576,
        "model.attention_heads": 48,
        "model.key_value_heads": 8,
        "model.tied_embeddings": False,
        "run.steps": 90_000,
        "run.seed": 1234,
    }


def test_what_follows_from_a_pretraining_file() -> None:
    found = read(PRETRAINING)
    derived = found.values("derived")
    assert derived == {
        "run.framework": "nemo1",
        "batch.global_batch_size": 1024,
        "model.gated_feed_forward": True,
        "parallelism.sharding_stage": 1,
        "optimizer.is_distributed": True,
        "kernels.fused_optimizer": True,
        "precision.bf16": True,
        "precision.gradient_accumulate_dtype": "bf16",
        "checkpoint.directory": "/ckpt/gpt_22b/checkpoints",
        "checkpoint.interval_unit": "steps",
        "checkpoint.keep_last": 5,
        "recovery.exit_before_walltime": True,
        "telemetry.sinks": ("tensorboard", "wandb"),
        "telemetry.throughput": True,
    }
    assert found.line("batch.global_batch_size") == 34
    assert found.line("cluster.nodes") == 6
    assert found.line("optimizer.learning_rate") == 57


def test_what_nemo_does_where_nothing_is_stated() -> None:
    found = read(PRETRAINING)
    assert found.values("default") == {
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.engine": "megatron",
        "batch.mode": "fixed",
        "precision.fp16": False,
        "precision.fp8_recipe": "delayed",
        "checkpoint.enabled": True,
        "checkpoint.save_optimizer": True,
        "model.family": "transformer",
        "run.uses_torch": True,
    }
    assert found.values("unknown") == {}


def test_fine_tuning_takes_the_batch_of_its_training_set() -> None:
    found = read(TUNING)
    stated = found.values("stated")
    assert stated["batch.global_batch_size"] == 64
    assert stated["batch.micro_batch_size"] == 1
    assert stated["batch.sequence_length"] == 8192
    assert stated["batch.packing"] is True
    assert stated["data.workers"] == 4
    assert stated["data.drop_last"] is True
    assert stated["checkpoint.enabled"] is False
    assert found.value("model.adapter") == "lora"
    assert found.value("run.role") == "lora"
    assert found.value("memory.recompute_mode") == "none"
    assert found.value("parallelism.sharding_stage") == 0
    assert found.value("telemetry.sinks") == ()
    # The checkpoint that is restored may have been cut along the sequence.
    assert found.status("parallelism.context_parallel_size") is None
    assert found.status("checkpoint.interval_steps") is None


@pytest.mark.parametrize(
    ("scheme", "adapter", "role"),
    [("null", "none", "sft"), ("ptuning", "ptuning", "lora"), ("LoRA", "lora", "lora")],
)
def test_roles_of_fine_tuning(scheme: str, adapter: str, role: str) -> None:
    found = read(TUNING.replace("peft_scheme: lora", f"peft_scheme: {scheme}"))
    assert (found.value("model.adapter"), found.value("run.role")) == (adapter, role)


def test_a_speech_model_is_read_without_facts_of_language_models() -> None:
    found = read(SPEECH)
    assert detect(SPEECH) >= 0.7
    assert found.values("stated", "derived") == {
        "run.framework": "nemo1",
        "cluster.nodes": 2,
        "precision.compute_dtype": "fp32",
        "batch.gradient_accumulation_steps": 4,
        "parallelism.engine": "ddp",
        "parallelism.sharding_stage": 0,
        "run.epochs": 100.0,
        "checkpoint.enabled": True,
        "telemetry.log_interval_steps": 10,
    }
    assert found.value("telemetry.sinks") == ("tensorboard",)
    assert found.note("cluster.gpus_per_node") == "-1: all GPUs of the node"
    assert found.reading.keyed is not None
    tops = {key.path[0] for key in found.reading.keyed.keys}
    assert tops == {"trainer", "exp_manager"}


def test_torch_fsdp_in_place_of_the_distributed_optimizer() -> None:
    fsdp = (
        "  fsdp: true\n  fsdp_sharding_strategy: grad\n  fsdp_grad_reduce_dtype: 32\n"
    )
    found = read(PRETRAINING.replace("  seed: 1234\n", fsdp))
    assert found.value("parallelism.engine") == "fsdp1"
    assert found.value("parallelism.sharding_stage") == 2
    assert found.value("precision.gradient_reduce_dtype") == "fp32"


@pytest.mark.parametrize(
    ("line", "family"),
    [
        ("pipeline_model_parallel_split_rank: 1", "encoder-decoder"),
        ("mm_cfg: {llm: {freeze: true}}", "multimodal"),
        ("hybrid_override_pattern: M-M*", "hybrid"),
    ],
)
def test_models_that_are_no_plain_transformer(line: str, family: str) -> None:
    found = read(PRETRAINING.replace("  mcore_gpt: true\n", f"  {line}\n"))
    assert found.value("model.family") == family
    has_depth = found.status("model.layers") == "stated"
    assert has_depth is (family != "encoder-decoder")


def test_an_evaluation_states_where_it_runs_and_nothing_of_training() -> None:
    text = """\
trainer: {devices: 8, num_nodes: 2, precision: bf16}
exp_manager: {create_checkpoint_callback: false}
model:
  tensor_model_parallel_size: 8
  pipeline_model_parallel_size: 2
  global_batch_size: 32
  micro_batch_size: 4
  data: {test_ds: {file_names: [a.jsonl]}}
"""
    found = read(text)
    assert found.values("stated") == {
        "cluster.nodes": 2,
        "cluster.gpus_per_node": 8,
        "parallelism.tensor_parallel_size": 8,
        "parallelism.pipeline_parallel_size": 2,
    }


def test_degrees_at_the_top_of_an_evaluation() -> None:
    text = (
        "trainer: {devices: 1, num_nodes: 1}\n"
        "tensor_model_parallel_size: 2\ngpt_model_file: /a.nemo\n"
    )
    assert detect(text) >= 0.6
    assert read(text).value("parallelism.tensor_parallel_size") == 2


def test_a_recipe_below_its_stage() -> None:
    inner = "".join(f"  {line}\n" for line in PRETRAINING.splitlines())
    text = f"training:\n{inner}"
    text = text.replace("${trainer.", "${training.trainer.")
    found = read(text.replace("${model.", "${training.model."))
    assert detect(text) >= 0.9
    assert found.value("batch.global_batch_size") == 1024
    assert found.line("cluster.nodes") == 7
    place = found.leaves["cluster.nodes"].places[0]
    assert place.key == "training.trainer.num_nodes"


LAUNCHER = """\
defaults:
  - _self_
  - cluster: bcm
  - training: gpt
  - override hydra/job_logging: stdout
stages: [training]
cluster_type: bcm
launcher_scripts_path: /opt/launcher_scripts
base_results_dir: /results
container: nvcr.io/nvidia/nemo:24.05
env_vars:
  NCCL_DEBUG: WARN
  NCCL_TOPO_FILE: null
"""


def test_the_launchers_file_reads_the_recipe_that_it_chooses(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(LAUNCHER)
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "bcm.yaml").write_text("partition: a\n")
    recipe = tmp_path / "training" / "gpt.yaml"
    recipe.parent.mkdir()
    text = PRETRAINING.replace("${trainer.", "${training.trainer.")
    text = text.replace("/ckpt/gpt_22b", "${base_results_dir}/gpt")
    recipe.write_text(text.replace("${model.", "${training.model."))
    status, (file,) = read_file(str(tmp_path / "config.yaml"))
    assert status.format == "nemo1"
    (reading,) = file.readings
    leaves = merge(reading.facts.facts)
    assert leaves["batch.global_batch_size"].value == 1024
    assert leaves["checkpoint.directory"].value == "/results/gpt/checkpoints"
    place = leaves["cluster.nodes"].places[0]
    assert (Path(place.file), place.key) == (recipe, "trainer.num_nodes")
    assert [(variable.name, variable.value) for variable in reading.variables] == [
        ("NCCL_DEBUG", "WARN")
    ]


def test_a_few_keys_state_a_few_facts() -> None:
    text = "trainer: {num_nodes: 8}\nmodel: {tensor_model_parallel_size: 4}\n"
    found = read(text)
    assert detect(text) >= 0.5
    assert found.values("stated") == {
        "cluster.nodes": 8,
        "parallelism.tensor_parallel_size": 4,
    }


@pytest.mark.parametrize(
    "text",
    [
        "trainer: {devices: 8, num_nodes: 2, precision: 16}\nmodel: {class_path: a}\n",
        "trainer: {nnodes: 2, n_gpus_per_node: 8}\nactor_rollout_ref: {model: {}}\n",
        "trainer: {devices: 8, num_nodes: 2, precision: bf16}\nseed: 1\n",
        "model: {tensor_model_parallel_size: 2}\ntrain: {micro_batch_size: 1}\n",
        "training: {steps: 10, seq_len: 2048}\nmodel: {name: llama3}\n",
        "trainer: {max_epochs: 3}\n",
        "exp_manager: 3\ntrainer: [1]\n",
    ],
)
def test_look_alikes_are_left_alone(text: str) -> None:
    assert detect(text) < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "trainer: null\nexp_manager: {}\nmodel: null\n",
        "trainer: [1]\nexp_manager: []\nmodel: text\n",
        (
            "trainer: {devices: {a: 1}, num_nodes: [2], precision: [16], max_time: 5}\n"
            "exp_manager: {checkpoint_callback_params: 3, fault_tolerance: 1}\n"
            "model: {optim: [adam], data: {train_ds: 1}, micro_batch_size: a}\n"
        ),
        (
            "exp_manager: {create_fault_tolerance_callback: true, exp_dir: [a]}\n"
            "trainer: {val_check_interval: {}, limit_val_batches: a, strategy: {}}\n"
            "model: {optim: {name: {}, betas: 1}, fsdp: 1, peft: 3}\n"
        ),
        "training: {trainer: 3, run: {}}\nlauncher_scripts_path: a\nstages: 3\n",
        "run: {time_limit: '1:2:x'}\ntrainer: {}\nexp_manager: {}\nmodel: {seed: a}\n",
    ],
)
def test_odd_shapes_do_not_stop_the_reader(text: str) -> None:
    detect(text)
    read(text)


@needs_corpus
def test_published_files_are_detected_and_their_keys_known() -> None:
    unknown: set[str] = set()
    for path in sorted(corpus_folder("configs/nemo1").iterdir()):
        text = path.read_text("utf-8")
        assert detect(text) >= 0.6, path.name
        keyed = read(text).reading.keyed
        assert keyed is not None
        assert keyed.catalogue is not None
        table = keyed.catalogue
        unknown |= {str(key.path) for key in keyed.keys if not table.is_known(key.path)}
    assert unknown == set()


def test_a_part_of_a_warm_up_step_is_no_fault() -> None:
    """Its schedule compares steps with it."""
    found = read(PRETRAINING.replace("warmup_steps: 500", "warmup_steps: 132.5"))
    assert found.values("stated")["optimizer.warmup_steps"] == 132
