"""Experiments of Primus."""

from pathlib import Path

from reader_text import read_text
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.run.run import read_plans
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.formats.primus import READER

EXPERIMENT = """\
work_group: ${PRIMUS_TEAM:amd}
modules:
  pre_trainer:
    framework: FRAMEWORK
    config: pre_trainer.yaml
    model: ${PRIMUS_MODEL:deepseek_v3}.yaml
    overrides:
      micro_batch_size: 4
      global_batch_size: 256
      seq_length: ${PRIMUS_SEQ_LENGTH:4096}
      tensor_model_parallel_size: ${PRIMUS_TP:1}
      expert_model_parallel_size: ${PRIMUS_EP}
      train_data_path: ${PRIMUS_TOKENIZED_DATA_PATH:null}
      save: null
      overlap_grad_reduce: true
"""


def test_overrides_are_read_as_the_flags_of_megatron() -> None:
    leaves = read_text(READER, EXPERIMENT.replace("FRAMEWORK", "megatron"), "e.yaml")
    assert leaves.values("stated") == {
        "batch.global_batch_size": 256,
        "batch.micro_batch_size": 4,
        "communication.overlap_gradient_reduce": True,
    }
    assert leaves.values("fallback") == {
        "batch.sequence_length": 4096,
        "parallelism.tensor_parallel_size": 1,
    }
    tensor = leaves.leaves["parallelism.tensor_parallel_size"]
    assert tensor.only_if == "PRIMUS_TP is not set"
    expert = "parallelism.expert_parallel_size"
    assert leaves.note(expert) == "${PRIMUS_EP} is known only when Primus starts"
    context = "parallelism.context_parallel_size"
    assert leaves.note(context) == "may be given in the presets of Primus"


def test_of_another_framework_only_its_name() -> None:
    leaves = read_text(READER, EXPERIMENT.replace("FRAMEWORK", "maxtext"), "e.yaml")
    assert leaves.values("stated", "fallback", "derived") == {
        "run.framework": "maxtext"
    }


def test_a_fallback_is_no_placeholder() -> None:
    keyed = read_text(
        READER, EXPERIMENT.replace("FRAMEWORK", "megatron"), "e.yaml"
    ).reading.keyed
    assert keyed is not None
    written = [
        key.value for key in keyed.keys if not key.is_block and "${" in str(key.value)
    ]
    assert written == ["${PRIMUS_EP}"]


def plan_in(folder: Path, name: str, **texts: str) -> TrainingPlan:
    (folder / ".git").mkdir()
    for path, text in texts.items():
        file = folder / path.replace("__", "/").replace("_yaml", ".yaml")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    ((_, (group,)),) = read_plans(Request(arguments=(str(folder / name),)))
    return assemble(group.files, Context()).plan


PRESETS = {
    "primus__configs__models__megatron__base_yaml": (
        "num_layers: 4\nhidden_size: 512\nsequence_parallel: true\n"
    ),
    "primus__configs__models__megatron__deepseek_v3_yaml": (
        "extends:\n  - base.yaml\nnum_layers: 61\nexpert_model_parallel_size: 2\n"
    ),
    "primus__configs__modules__megatron__pre_trainer_yaml": (
        "micro_batch_size: 2\ncontext_parallel_size: 1\n"
    ),
}


def test_presets_are_read_where_they_lie(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("FRAMEWORK", "megatron")
    plan = plan_in(tmp_path, "examples/a/e.yaml", **PRESETS, examples__a__e_yaml=text)
    found = {
        leaf: (plan.value(leaf).value, plan.value(leaf).status)
        for leaf in (
            "model.layers",
            "model.hidden_size",
            "batch.micro_batch_size",
            "parallelism.context_parallel_size",
            "parallelism.sequence_parallel",
            "parallelism.expert_parallel_size",
        )
    }
    assert found == {
        "model.layers": (61, "stated"),
        "model.hidden_size": (512, "stated"),
        "batch.micro_batch_size": (4, "stated"),
        "parallelism.context_parallel_size": (1, "default"),
        "parallelism.sequence_parallel": (True, "default"),
        "parallelism.expert_parallel_size": (None, "unknown"),
    }


def test_an_experiment_extends_another(tmp_path: Path) -> None:
    plan = plan_in(
        tmp_path,
        "more.yaml",
        base_yaml=EXPERIMENT.replace("FRAMEWORK", "megatron"),
        more_yaml=(
            "extends:\n  - base.yaml\n"
            "modules:\n  pre_trainer:\n    overrides:\n      micro_batch_size: 8\n"
        ),
    )
    assert plan.value("batch.micro_batch_size").value == 8
    assert plan.value("batch.global_batch_size").value == 256


def test_overrides_of_torchtitan_are_its_settings(tmp_path: Path) -> None:
    plan = plan_in(
        tmp_path,
        "e.yaml",
        e_yaml="""\
modules:
  pre_trainer:
    framework: torchtitan
    config: pre_trainer.yaml
    model: llama.yaml
    overrides:
      training:
        local_batch_size: ${PRIMUS_BATCH:6}
        seq_len: 4096
      parallelism:
        tensor_parallel_degree: 2
        pipeline_parallel_degree: 1
        context_parallel_degree: ${PRIMUS_CP}
""",
    )
    leaves = {
        name: plan.value(name)
        for name in (
            "batch.micro_batch_size",
            "batch.sequence_length",
            "parallelism.tensor_parallel_size",
            "parallelism.context_parallel_size",
            "run.framework",
        )
    }
    assert [leaf.value for leaf in leaves.values()] == [6, 4096, 2, None, "torchtitan"]
    assert leaves["batch.micro_batch_size"].status == "fallback"
