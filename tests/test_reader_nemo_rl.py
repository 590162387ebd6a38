"""NeMo-RL's YAML, with the files that it inherits."""

from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.files import ReadFile, read_file
from speccheck.validator.sources.formats.nemo_rl import READER
from speccheck.validator.sources.joining.merge import derive, merge

BASE = """\
sft:
  max_num_epochs: 1
  max_num_steps: 60
policy:
  model_name: org/base-1b
  train_global_batch_size: 32
  train_micro_batch_size: 1
  max_total_sequence_length: 1024
  precision: bfloat16
  max_grad_norm: 1.0
  dtensor_cfg:
    enabled: true
    tensor_parallel_size: 1
    context_parallel_size: 1
    cpu_offload: false
    sequence_parallel: false
    activation_checkpointing: false
    lora_cfg: {enabled: false}
  megatron_cfg:
    enabled: false
    tensor_model_parallel_size: 2
    optimizer: {clip_grad: "${policy.max_grad_norm}"}
  sequence_packing: {enabled: false}
  dynamic_batching: {enabled: false}
  optimizer:
    name: torch.optim.AdamW
    kwargs: {lr: 5.0e-6, weight_decay: 0.1, betas: [0.9, 0.98]}
checkpointing:
  enabled: true
  save_period: 10
cluster:
  gpus_per_node: 1
  num_nodes: 1
"""
GENERATING = """\
grpo: {max_num_steps: 10}
policy:
  train_global_batch_size: 64
  megatron_cfg: {enabled: true, tensor_model_parallel_size: 8}
  generation:
    colocated:
      enabled: false
      resources: {num_nodes: NODES, gpus_per_node: GPUS}
cluster: {num_nodes: 8, gpus_per_node: 8}
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "run.yaml")


def leaves_of(path: Path) -> tuple[dict[str, Value[object]], ReadFile]:
    """Return the leaves of a file with those that it inherits."""
    status, (found,) = read_file(str(path))
    assert status.format == "nemo-rl"
    return derive(merge(found.readings[0].facts.facts)), found


def test_dtensor_takes_its_own_block() -> None:
    leaves = read(BASE)
    assert leaves.value("parallelism.engine") == "fsdp2"
    assert leaves.value("parallelism.sharding_stage") == 3
    assert leaves.value("parallelism.tensor_parallel_size") == 1
    assert leaves.value("parallelism.pipeline_parallel_size") == 1
    assert leaves.value("parallelism.expert_parallel_size") == 1
    assert leaves.value("precision.gradient_reduce_dtype") == "fp32"
    assert leaves.value("memory.recompute_mode") == "none"
    assert leaves.value("memory.parameter_offload_device") == "none"
    assert leaves.value("optimizer.name_of_optimizer") == "adamw"
    assert leaves.value("optimizer.learning_rate") == 5e-6
    assert leaves.value("optimizer.beta2") == 0.98
    assert leaves.value("optimizer.clip_norm") == 1.0
    assert leaves.value("run.role") == "sft"
    assert leaves.value("cluster.nodes") == 1


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_both_backends_or_none_say_nothing(enabled: str) -> None:
    text = BASE.replace("    enabled: true\n", f"    enabled: {enabled}\n")
    text = text.replace("    enabled: false\n", f"    enabled: {enabled}\n")
    leaves = read(text)
    assert leaves.status("parallelism.tensor_parallel_size") is None
    assert leaves.status("parallelism.engine") is None


@pytest.mark.parametrize("name", ["sequence_packing", "dynamic_batching"])
def test_tokens_may_fill_the_micro_batches(name: str) -> None:
    text = BASE.replace(f"{name}: {{enabled: false}}", f"{name}: {{enabled: true}}")
    leaves = read(text)
    assert leaves.value("batch.micro_batch_size") is None
    assert leaves.note("batch.micro_batch_size") == (
        "micro-batches are filled with tokens"
    )


@pytest.mark.parametrize(
    ("nodes", "gpus", "local", "world", "note"),
    [
        ("2", "8", 8, 48, "8 nodes - 2 that generate = 6, x 8 GPUs"),
        ("null", "null", None, None, "the share is not stated"),
        ("8", "8", None, None, "the share is not stated"),
    ],
)
def test_nodes_that_generate_do_not_train(
    nodes: str, gpus: str, local: int | None, world: int | None, note: str
) -> None:
    leaves = read(GENERATING.replace("NODES", nodes).replace("GPUS", gpus))
    assert leaves.value("cluster.gpus_per_node") == local
    assert leaves.value("cluster.world_size") == world
    assert leaves.value("cluster.nodes") is None
    assert note in leaves.note("cluster.world_size")


def test_on_one_node_some_gpus_generate() -> None:
    text = GENERATING.replace("NODES", "null").replace("GPUS", "2")
    leaves = read(text.replace("num_nodes: 8", "num_nodes: 1"))
    assert leaves.value("cluster.nodes") == 1
    assert leaves.value("cluster.world_size") == 6
    assert leaves.note("cluster.world_size") == "8 GPUs - 2 that generate = 6"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("env: {reward_model: {resources: {num_nodes: 1}}}", "a reward model"),
        ("env: {nemo_gym: {num_gpu_nodes: 2}}", "NeMo Gym"),
        (
            "on_policy_distillation: {non_colocated_teachers: {enabled: true}}",
            "teachers",
        ),
    ],
)
def test_others_may_take_nodes_too(lines: str, reason: str) -> None:
    colocated = "policy: {generation: {colocated: {enabled: true}}}\n"
    cluster = "grpo: {}\ncluster: {num_nodes: 4, gpus_per_node: 8}\n"
    assert read(colocated + cluster).value("cluster.nodes") == 4
    leaves = read(colocated + cluster + lines + "\n")
    assert leaves.status("cluster.nodes") == "unknown"
    assert leaves.status("cluster.world_size") == "unknown"
    assert reason in leaves.note("cluster.nodes")


def test_whether_generation_is_colocated_must_be_known() -> None:
    leaves = read("grpo: {}\ncluster: {num_nodes: 2, gpus_per_node: 8}\n")
    assert leaves.status("cluster.nodes") == "unknown"
    assert "colocated.enabled is not known" in leaves.note("cluster.world_size")
    leaves = read("dpo: {}\ncluster: {num_nodes: 2, gpus_per_node: 8}\n")
    assert leaves.value("cluster.nodes") == 2


@pytest.mark.parametrize(
    ("lines", "interval", "keep"),
    [
        ("save_period: 10, keep_top_k: 3", 10, 3),
        ("save_period: 10, keep_top_k: null", 10, 0),
        ("save_period: 10", 10, None),
        (
            "save_period: 100, ft_save_period: 5, keep_top_k: 1, ft_keep_latest_k: 2",
            5,
            2,
        ),
    ],
)
def test_checkpoints(lines: str, interval: int, keep: int | None) -> None:
    leaves = read(f"sft: {{}}\npolicy: {{}}\ncheckpointing: {{{lines}}}\n")
    assert leaves.value("checkpoint.interval_steps") == interval
    assert leaves.value("checkpoint.keep_last") == keep


@pytest.mark.parametrize(
    ("algorithm", "adapter", "role"),
    [
        ("grpo", "true", "rl"),
        ("ppo", "false", "rl"),
        ("dpo", "false", "rl"),
        ("dpo", "true", "lora"),
        ("sft", "true", "lora"),
        ("distillation", "false", None),
    ],
)
def test_roles(algorithm: str, adapter: str, role: str | None) -> None:
    lora = f"lora_cfg: {{enabled: {adapter}}}"
    text = BASE.replace("lora_cfg: {enabled: false}", lora)
    assert read(text.replace("sft:", f"{algorithm}:")).value("run.role") == role


def test_a_child_inherits_from_the_files_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE, "utf-8")
    folder = tmp_path / "recipes"
    folder.mkdir()
    child = folder / "child.yaml"
    child.write_text(
        "defaults: ../base.yaml\n"
        "policy:\n"
        "  dtensor_cfg: {enabled: false}\n"
        "  megatron_cfg:\n"
        "    enabled: true\n"
        "    pipeline_model_parallel_size: 1\n"
        "    context_parallel_size: 1\n"
        "  optimizer: null\n"
        "cluster: {gpus_per_node: 8}\n",
        "utf-8",
    )
    leaves, found = leaves_of(child)
    assert leaves["parallelism.tensor_parallel_size"].value == 2
    assert leaves["parallelism.data_parallel_size"].value == 4
    assert leaves["batch.gradient_accumulation_steps"].value == 8
    assert leaves["optimizer.clip_norm"].value == 1.0
    assert leaves["optimizer.clip_norm"].status == "stated"
    assert leaves["cluster.gpus_per_node"].places[0].file == str(child)
    inherited = leaves["parallelism.tensor_parallel_size"].places[0]
    assert inherited.file.endswith("base.yaml")
    assert [Path(item.name).name for item in found.parents] == ["base.yaml"]


def test_the_last_of_several_files_wins_and_a_section_may_be_replaced(
    tmp_path: Path,
) -> None:
    (tmp_path / "base.yaml").write_text(BASE, "utf-8")
    (tmp_path / "wide.yaml").write_text("cluster: {gpus_per_node: 4}\n", "utf-8")
    child = tmp_path / "child.yaml"
    child.write_text(
        "defaults: [base.yaml, wide.yaml]\n"
        "checkpointing: {_override_: true, enabled: false}\n",
        "utf-8",
    )
    leaves, _ = leaves_of(child)
    assert leaves["cluster.gpus_per_node"].value == 4
    assert leaves["cluster.nodes"].value == 1
    assert leaves["checkpoint.enabled"].value is False
    assert "checkpoint.interval_steps" not in leaves


def test_without_the_file_that_it_inherits_little_is_known(tmp_path: Path) -> None:
    child = tmp_path / "child.yaml"
    child.write_text(
        "defaults: base.yaml\n"
        "policy: {train_micro_batch_size: 2}\n"
        "cluster: {num_nodes: 4, gpus_per_node: 8}\n",
        "utf-8",
    )
    leaves, _ = leaves_of(child)
    for name in ("cluster.nodes", "cluster.world_size", "batch.micro_batch_size"):
        assert leaves[name].status == "unknown"


@pytest.mark.parametrize(
    "lines",
    [
        "policy: [1]\ncluster: x\ncheckpointing: 3\ngrpo: null\nlogger: [a]\n",
        (
            "policy: {megatron_cfg: [1], dtensor_cfg: x, precision: {}}\n"
            "cluster: {num_nodes: many, gpus_per_node: [8]}\nsft: {seed: [1]}\n"
        ),
        (
            "policy: {megatron_cfg: {enabled: true, optimizer: 3, fp8_cfg: []"
            ", env_vars: [1], activation_checkpointing: [1]}}\nenv: 3\n"
        ),
        (
            "policy: {dtensor_cfg: {enabled: true, lora_cfg: 1}, optimizer: [1]}\n"
            "defaults: {a: 1}\non_policy_distillation: [1]\n"
        ),
    ],
)
def test_odd_shapes_are_read_without_a_word(lines: str) -> None:
    assert read(lines).value("run.framework") == "nemo-rl"


@pytest.mark.parametrize(
    "text",
    [
        BASE,
        "defaults: ../../grpo_math_1B.yaml\ncluster: {num_nodes: 2}\n",
        "defaults: [a.yaml, b.yml]\nloss_fn: {ratio_clip_max: 0.2}\n",
        "defaults: base.yaml\npolicy: {generation: {}}\n",
    ],
)
def test_children_that_state_little_are_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) >= 0.5


@pytest.mark.parametrize(
    "text",
    [
        # Hydra: groups without suffix
        "defaults: [ppo_trainer, _self_]\nloss_fn: {a: 1}\ncluster: {nodes: 2}\n",
        "defaults: [base.yaml, {model: big}]\npolicy: {train_global_batch_size: 1}\n",
        "defaults: base.yaml\nmodel: {}\n",
        "policy: {name: restart}\ncluster: {num_nodes: 2}\n",
        "cluster: {num_nodes: 2, gpus_per_node: 8}\nsft: {lr: 1}\n",
        "- policy\n",
    ],
)
def test_look_alikes_are_not_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) < 0.5


@needs_corpus
def test_every_published_file_is_recognised_and_read() -> None:
    missed: list[str] = []
    for path in sorted(corpus_folder("configs/nemo-rl").iterdir()):
        document = document_of(path.read_text("utf-8"), "settings.yaml")
        if READER.detect(document) < 0.5:
            missed.append(path.name)
        assert READER.read(document).facts.facts
    assert missed == []
