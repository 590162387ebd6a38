"""A key that the repository's own programs name is no slip of a framework's key."""

import json
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

_SETTINGS = """\
### model
model_name_or_path: meta-llama/Llama-3.1-8B
draws: true
stage: sft
do_train: true
finetuning_type: lora
dataset: alpaca
template: llama3
output_dir: out
bf16: true
"""
_ARGUMENTS = """\
from dataclasses import dataclass, field


@dataclass
class ModelArguments:
    draws: bool = field(default=False)
"""


def _outcomes(path: Path, capsys: pytest.CaptureFixture[str], rule: str) -> list[str]:
    main([str(path), "--full", "--output", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [item["outcome"] for item in found if item["rule"] == rule]


@pytest.mark.parametrize(
    ("key", "outcome"), [("draws", "unknown"), ("do_trains", "fail")]
)
def test_a_copy_of_the_framework_may_have_more_keys(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    key: str,
    outcome: str,
) -> None:
    package = tmp_path / "src" / "llamafactory"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "arguments.py").write_text(_ARGUMENTS)
    (tmp_path / "train.yaml").write_text(_SETTINGS.replace("draws", key))
    monkeypatch.chdir(tmp_path)
    assert _outcomes(tmp_path / "train.yaml", capsys, "key_refused") == [outcome]


@pytest.mark.parametrize(
    ("own", "outcome"), [("losstype", "unknown"), ("margin", "fail")]
)
def test_a_program_of_the_repository_may_have_more_flags(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    own: str,
    outcome: str,
) -> None:
    (tmp_path / "train_rm.py").write_text(
        "from transformers import HfArgumentParser, TrainingArguments\n"
        f"class Own(TrainingArguments):\n    {own}: str = 'log'\n"
    )
    script = tmp_path / "train.sh"
    script.write_text(
        "torchrun --nnodes 1 --nproc_per_node 8 train_rm.py --output_dir=out "
        "--num_train_epochs=5 --per_device_train_batch_size=2 --bf16 "
        "--gradient_accumulation_steps=1 --losstype=3\n"
    )
    monkeypatch.chdir(tmp_path)
    assert outcome in _outcomes(script, capsys, "key_refused")


@pytest.mark.parametrize(
    ("line", "outcome"),
    [("lora_target: {all: true}", "unknown"), ("lora_rank: eight", "fail")],
)
def test_a_copy_of_the_framework_may_take_other_shapes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    outcome: str,
) -> None:
    package = tmp_path / "src" / "llamafactory"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (tmp_path / "train.yaml").write_text(_SETTINGS.replace("draws: true", line))
    monkeypatch.chdir(tmp_path)
    assert outcome in _outcomes(tmp_path / "train.yaml", capsys, "value_refused")
