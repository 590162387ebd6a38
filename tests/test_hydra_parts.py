"""Parts of Hydra compositions and records of runs are no file of their framework."""

import json
from contextlib import chdir
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

ZERO = "zero_optimization:\n  stage: 2\nfp16:\n  enabled: true\n"
LEARNS = "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\ntemplate: x\n"
BERT = """max_seq_len: 128
model: {name: mosaic_bert, pretrained_model_name: bert-base-uncased, model_config: {}}
train_loader: {name: text, drop_last: true}
max_duration: 1000ba
optimizer: {name: decoupled_adamw, lr: 5.0e-4}
scheduler: {name: linear_decay_with_warmup}
global_train_batch_size: 4096
device_train_microbatch_size: 128
precision: amp_bf16
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"# @package recipes.strategy\n{ZERO}", id="a package"),
        pytest.param(
            f"# what it is\n\n#  @package _global_\n{ZERO}", id="below a comment"
        ),
        pytest.param(f"_target_: my.Trainer\n{LEARNS}", id="a class"),
        pytest.param(
            f"_wandb:\n  value:\n    cli_version: 0.23.1\n{LEARNS}",
            id="what Weights & Biases wrote of a run",
        ),
        pytest.param(
            f"global_num_gpus: 8\nuser_script: train.py\nnum_layers: 12\n"
            f"hidden_size: 768\npipe_parallel_size: 1\nlr: 6e-05\n{ZERO}",
            id="what GPT-NeoX wrote for its workers",
        ),
        pytest.param(
            f"includes:\n  - ../module_base.yaml\n{LEARNS}", id="a module of Primus"
        ),
        pytest.param(BERT, id="a trainer of BERT on Composer"),
    ],
)
def test_it_is_not_judged(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "part.yaml").write_text(text)
    with chdir(tmp_path):
        assert main(["part.yaml", "--output", "json"]) == 3
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert (file["status"], file["format"]) == ("unrecognised", None)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ZERO, id="DeepSpeed"),
        pytest.param(f"{ZERO}# @package is below\n", id="a comment elsewhere"),
        pytest.param(LEARNS, id="LLaMA-Factory"),
    ],
)
def test_the_same_keys_alone_are(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "whole.yaml").write_text(text)
    with chdir(tmp_path):
        main(["whole.yaml", "--output", "json"])
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert file["status"] == "judged"
