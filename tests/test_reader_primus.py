"""Experiments of Primus."""

from reader_text import read_text
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
