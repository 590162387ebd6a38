"""Faults that once passed: none ends with exit code 0 and a word of approval."""

from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

AXOLOTL = """\
base_model: meta-llama/Llama-3.1-8B
datasets:
  - {path: tatsu-lab/alpaca, type: alpaca}
sequence_len: 4096
micro_batch_size: MICRO
gradient_accumulation_steps: 4
learning_rate: 2.0e-5
optimizer: adamw_torch
num_epochs: 2
"""
DEEPSPEED = """\
{"train_batch_size": BATCH, "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}
"""  # noqa: E501 - as people write it
NEMO = """\
trainer:
  num_nodes: NODES
  devices: 8
  precision: bf16
model:
  micro_batch_size: 2
  global_batch_size: 101
  tensor_model_parallel_size: 8
  num_layers: 32
  hidden_size: 4096
  num_attention_heads: 32
exp_manager: {}
"""
NEMO_OF_FOUR = NEMO.replace("NODES", "4")
SCRIPT = "#!/bin/bash\nLINE\ntorchrun --nproc_per_node 8 train.py ARGS\n"
NEVER = '[tool.speccheck]\nexclude = ["*"]\nforce-exclude = true\n'
SKIP = "[tool.speccheck]\nskip-unknown = true\n"


def script(line: str = "", arguments: str = "") -> str:
    """Return a launch script with a line before, and arguments behind, its command."""
    return SCRIPT.replace("LINE", line).replace("ARGS", arguments)


# The fault: the file, what it holds, settings, options, exit code, what is said.
FAULTS: dict[str, tuple[str, str, str, list[str], int, str]] = {
    "no batch": ("c.yaml", AXOLOTL.replace("MICRO", "0"), "", [], 1, "CONF-010"),
    "batch below zero": (
        "c.yaml",
        AXOLOTL.replace("MICRO", "-1"),
        "",
        ["--nodes", "2", "--gpus-per-node", "8"],
        1,
        "CONF-010",
    ),
    "global batch of zero": (
        "ds.json",
        DEEPSPEED.replace("BATCH", "0"),
        "",
        [],
        1,
        "CONF-010",
    ),
    "batch is a list": (
        "ds.json",
        DEEPSPEED.replace("BATCH", "[500]"),
        "",
        [],
        1,
        "CONF-010",
    ),
    "batch is a switch": (
        "ds.json",
        DEEPSPEED.replace("BATCH", "true"),
        "",
        [],
        1,
        "CONF-010",
    ),
    "parent missing": (
        "c.yaml",
        f"defaults: [nope]\n{NEMO_OF_FOUR}",
        "",
        [],
        1,
        "nope",
    ),
    "circle": (
        "c.yaml",
        NEMO.replace("NODES", "${trainer.devices}").replace(
            "devices: 8", "devices: ${trainer.num_nodes}"
        ),
        "",
        [],
        1,
        "CONF-010",
    ),
    "empty reference": (
        "c.yaml",
        NEMO.replace("NODES", "${${${}}}"),
        "",
        [],
        1,
        "CONF-010",
    ),
    "format env": (
        "c.yaml",
        NEMO_OF_FOUR,
        "",
        ["--format", "env"],
        2,
        "looks like nemo1",
    ),
    "format native": (
        "c.yaml",
        NEMO_OF_FOUR,
        "",
        ["--format", "native"],
        2,
        "looks like nemo1",
    ),
    "all excluded": ("c.yaml", NEMO_OF_FOUR, NEVER, [], 3, "settings exclude"),
    "all skipped": ("x.yaml", "a: 1\n", SKIP, [], 3, "no file is a training"),
    "password of a database": (
        "r.sh",
        script("export DB_PASSWORD=Tr0ub4dor3"),
        "",
        [],
        1,
        "SEC-002",
    ),
    "password of MySQL": (
        "r.sh",
        script("export MYSQL_PWD=hunter2hunter2"),
        "",
        [],
        1,
        "SEC-002",
    ),
    "secret of a client": (
        "r.sh",
        script("export AZURE_CLIENT_SECRET=Q8k2plughfoobarbaz12"),
        "",
        [],
        1,
        "SEC-002",
    ),
    "key of a registry": (
        "r.sh",
        script("export NGC_API_KEY=Zm9vYmFyMTIzNDU2Nzg5"),
        "",
        [],
        1,
        "SEC-002",
    ),
    "flag with a password": (
        "r.sh",
        script(arguments="--password=Tr0ub4dor3"),
        "",
        [],
        1,
        "SEC-002",
    ),
    "flag with a key": (
        "r.sh",
        script(arguments="--api-key 0123456789abcdef0123456789abcdef"),
        "",
        [],
        1,
        "SEC-002",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_never_approved(
    fault: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, text, settings, options, code, said = FAULTS[fault]
    (tmp_path / name).write_text(text)
    if settings:
        (tmp_path / "pyproject.toml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    assert main([name, *options]) == code
    printed = capsys.readouterr()
    assert said in printed.out + printed.err
    assert "no problems" not in printed.out


@pytest.mark.parametrize(
    "line",
    [
        "export DB_PASSWORD=$(cat /run/secrets/db)",
        'export DB_PASSWORD="${DB_PASSWORD}"',
        "export OPENAI_API_KEY=EMPTY",
        "export API_KEY=your-api-key-1",
        "export MYSQL_PWD=/run/secrets/mysql1",
        "export PAD_TOKEN=reserved_token_250",
    ],
)
def test_a_reference_is_no_credential(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.sh"
    path.write_text(script(line))
    main([str(path)])
    assert "SEC-002" not in capsys.readouterr().out


def test_a_password_is_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.sh"
    path.write_text(script("export DB_PASSWORD=Tr0ub4dor3"))
    main([str(path), "--full"])
    assert "ub4dor3" not in capsys.readouterr().out
