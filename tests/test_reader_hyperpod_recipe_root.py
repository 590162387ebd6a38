"""The launcher's file of SageMaker HyperPod, and the recipes that it wraps."""

from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.formats import nemo1
from speccheck.validator.sources.formats.hyperpod_recipe_root import READER
from speccheck.validator.sources.joining.merge import merge

RECIPE = """\
display_name: fine-tuning
run: {name: llama, model_type: llm_finetuning_aws, results_dir: /results}
trainer: {devices: 8, num_nodes: 4}
elastic_policy: {is_elastic: true, min_nodes: 2, max_nodes: 8}
training_config:
  model_config:
    model_name_or_path: meta-llama/Llama-3.1-8B-Instruct
    attn_implementation: flash_attention_2
    peft_config: {peft_type: lora, r: 16}
  training_args:
    trainer_type: sft
    train_batch_size: 64
    micro_train_batch_size: 2
    max_len: 4096
    ring_attn_size: 1
    gradient_checkpointing: true
    learning_rate: 1e-4
    adam_betas: [0.9, 0.95]
    lr_scheduler: cosine
    lr_warmup_ratio: 0.1
    max_norm: 1.0
    save_steps: 0
    max_ckpt_num: 3
    load_checkpoint: true
    max_epochs: 2
    seed: 42
    strategy:
      fsdp_config:
        sharding_strategy: HYBRID_SHARD
        state_dict_type: SHARDED_STATE_DICT
        cpu_offload: false
"""
ROOT = """\
cluster_type: k8s
instance_type: ml.p5.48xlarge
base_results_dir: /results
container: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
launcher_scripts_path: ./launcher_scripts/
git: {entry_script: /app/train.py}
env_vars: {NCCL_DEBUG: WARN, FI_PROVIDER: "${oc.env:PROVIDER}", NCCL_IB: null}
cluster: {restartPolicy: Never, namespace: default}
"""


def whole() -> str:
    inner = "".join(f"  {line}\n" for line in RECIPE.splitlines())
    return f"{ROOT}recipes:\n{inner}"


def read(text: str) -> ReadText:
    return read_text(READER, text, "config.yaml")


def detect(text: str) -> float:
    return READER.detect(document_of(text, "config.yaml"))


def test_a_recipe_states_the_arguments_inside() -> None:
    found = read_text(nemo1.READER, RECIPE, "recipe.yaml")
    assert found.values("stated") == {
        "cluster.nodes": 4,
        "cluster.gpus_per_node": 8,
        "recovery.minimum_nodes": 2,
        "recovery.maximum_nodes": 8,
        "model.name_of_model": "meta-llama/Llama-3.1-8B-Instruct",
        "model.adapter": "lora",
        "kernels.attention_backend": "flash",
        "batch.global_batch_size": 64,
        "batch.micro_batch_size": 2,
        "batch.sequence_length": 4096,
        "parallelism.context_parallel_size": 1,
        "memory.recompute_mode": "full",
        "memory.parameter_offload_device": "none",
        "optimizer.learning_rate": 1e-4,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.schedule": "cosine",
        "optimizer.warmup_ratio": 0.1,
        "optimizer.clip_norm": 1.0,
        "checkpoint.keep_last": 3,
        "checkpoint.resume": True,
        "checkpoint.format": "sharded",
        "run.epochs": 2.0,
        "run.seed": 42,
    }
    assert found.values("derived") == {
        "run.framework": "hyperpod",
        "run.role": "lora",
        "parallelism.engine": "fsdp1",
        "parallelism.sharding_stage": 3,
    }
    assert found.line("batch.global_batch_size") == 12


def test_the_whole_file_adds_machines_image_and_environment() -> None:
    found = read(whole())
    assert detect(whole()) >= 0.9
    assert found.value("cluster.instance_type") == "aws-p5"
    assert found.value("cluster.nodes") == 4
    assert found.leaves["cluster.nodes"].places[0].key == "recipes.trainer.num_nodes"
    assert found.line("cluster.nodes") == 12
    assert found.value("recovery.restart_policy") == "never"
    reading = found.reading
    assert [(variable.name, variable.value) for variable in reading.variables] == [
        ("NCCL_DEBUG", "WARN"),
        ("FI_PROVIDER", None),
    ]
    assert [(item.package, item.text) for item in reading.versions] == [
        ("torch", "2.6.0")
    ]


def test_the_primary_file_reads_the_recipe_of_its_defaults(tmp_path: Path) -> None:
    defaults = """\
defaults:
  - _self_
  - cluster: k8s
  - recipes: fine-tuning/llama
  - override hydra/job_logging: stdout
"""
    (tmp_path / "config.yaml").write_text(defaults + ROOT)
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "k8s.yaml").write_text("restartPolicy: OnFailure\n")
    recipe = tmp_path / "recipes" / "fine-tuning" / "llama.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text(RECIPE)
    status, (file,) = read_file(str(tmp_path / "config.yaml"))
    assert status.format == "hyperpod-recipe-root"
    leaves = merge(file.readings[0].facts.facts)
    assert leaves["batch.global_batch_size"].value == 64
    assert Path(leaves["batch.global_batch_size"].places[0].file) == recipe
    # `_self_` stands first: the group's file wins.
    assert leaves["recovery.restart_policy"].value == "onfailure"


def test_settings_of_verl_are_read_by_its_reader() -> None:
    text = """\
run: {name: grpo, model_type: verl}
trainer: {devices: 8, num_nodes: 2}
training_config:
  actor_rollout_ref:
    actor: {strategy: fsdp2}
    model: {path: Qwen/Qwen2.5-7B}
  data: {train_batch_size: 128}
  trainer: {nnodes: 2, n_gpus_per_node: 8}
  algorithm: {adv_estimator: grpo}
"""
    found = read_text(nemo1.READER, text, "recipe.yaml")
    assert nemo1.READER.detect(document_of(text, "recipe.yaml")) >= 0.8
    assert found.value("run.framework") == "verl"
    assert found.value("run.role") == "rl"
    assert found.value("cluster.nodes") == 2
    assert found.reading.keyed is not None
    assert found.reading.keyed.format == "nemo1"


def test_placeholders_and_unknown_machines_stay_unknown() -> None:
    text = whole().replace("ml.p5.48xlarge", "ml.imaginary")
    found = read(text.replace("train_batch_size: 64", "train_batch_size: '{{size}}'"))
    assert found.status("cluster.instance_type") == "unknown"
    assert found.status("batch.global_batch_size") == "unknown"


@pytest.mark.parametrize(
    "text",
    [
        "recipes: [a, b]\ncluster_type: k8s\ninstance_type: x\ngit: {}\n",
        "recipes: {soup: salt}\n",
        "cluster_type: k8s\ninstance_type: p5\ngit: {}\nenv_vars: {}\n",
        "defaults: [{training: a}]\ncluster_type: bcm\ngit: {}\nenv_vars: {}\n",
    ],
)
def test_look_alikes_are_left_alone(text: str) -> None:
    assert detect(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "recipes: {trainer: 3}\ncluster: [1]\nenv_vars: [A]\ncontainer: {a: 1}\n",
        "recipes: {trainer: {}, training_config: {training_args: [1]}}\n",
        (
            "recipes: {trainer: {}, run: 3, elastic_policy: x, training_config: {\n"
            "  training_args: {strategy: {fsdp_config: 3}, adam_betas: 1, seed: []},\n"
            "  model_config: {peft_config: lora}}}\ninstance_type: [p5]\n"
        ),
        "recipes: {trainer: {}, run: {model_type: verl}, training_config: {a: 1}}\n",
        "defaults: [{recipes: 3}]\n",
    ],
)
def test_odd_shapes_do_not_stop_the_reader(text: str) -> None:
    detect(text)
    read(text)


@needs_corpus
def test_the_published_file() -> None:
    for path in corpus_folder("configs/hyperpod-recipe-root").iterdir():
        text = path.read_text("utf-8")
        assert detect(text) >= 0.9
        found = read(text)
        assert found.value("cluster.nodes") == 1
        assert found.value("model.adapter") == "lora"
