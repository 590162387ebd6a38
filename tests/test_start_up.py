"""A run imports what its files need, and no more."""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from speccheck.validator.sources.reader import Reader
from speccheck.validator.sources.registry import (
    INDEX,
    Readers,
    built_in_readers,
    index_text,
)

ROOT = Path(__file__).resolve().parents[1]
FORMATS = ROOT / "validator" / "sources" / "formats"
DEEPSPEED = '{"train_batch_size": 64, "zero_optimization": {"stage": 3}}'
_RUN = """
import sys
from speccheck.validator.cli.main import main
code = main(sys.argv[1:])
sys.stderr.write("\\n".join(sys.modules))
sys.exit(code)
"""
SHELL = "speccheck.validator.sources.shell.interpreter"
YAML = "yaml"
TOML = "tomllib"
HARDWARE = "speccheck.validator.catalogue.hardware"


def modules(path: Path, *options: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", _RUN, str(path), "--output", "json", *options],
        env={"PYTHONPATH": str(ROOT / ".imports")},
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(ended.stdout)
    assert [file["status"] for file in report["files"]] == ["judged"]
    return set(ended.stderr.split())


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_json_needs_neither_yaml_nor_toml_nor_the_shell(tmp_path: Path) -> None:
    loaded = modules(written(tmp_path, "ds_config.json", DEEPSPEED))
    assert loaded.isdisjoint({YAML, TOML, SHELL, HARDWARE, "dataclasses", "inspect"})


def test_yaml_needs_no_shell(tmp_path: Path) -> None:
    text = "output_dir: out\nper_device_train_batch_size: 4\nreport_to: wandb\n"
    loaded = modules(written(tmp_path, "train.yaml", text + "bf16: true\n"))
    assert YAML in loaded
    assert loaded.isdisjoint({TOML, SHELL, HARDWARE, "dataclasses"})


def test_a_script_needs_no_yaml(tmp_path: Path) -> None:
    text = "#!/bin/bash\nexport NCCL_DEBUG=WARN\ntorchrun --nnodes 2 train.py\n"
    loaded = modules(written(tmp_path, "run.sh", text))
    assert SHELL in loaded
    assert loaded.isdisjoint({YAML, TOML, HARDWARE})


def test_a_gpu_needs_the_hardware_catalogue(tmp_path: Path) -> None:
    path = written(tmp_path, "ds_config.json", DEEPSPEED)
    assert HARDWARE in modules(path, "--gpu", "H100")


RING_RULE = "speccheck.rules.communication.ring_forced_at_scale"


def test_rules_of_clauses_that_do_not_apply_are_not_imported(tmp_path: Path) -> None:
    path = written(tmp_path, "job.env", "NCCL_ALGO=Ring\n")
    assert RING_RULE not in modules(path, "--nodes", "1", "--gpus-per-node", "8")
    assert RING_RULE in modules(path, "--nodes", "64", "--gpus-per-node", "8")


def test_rules_about_what_a_plan_does_not_set_are_not_imported(tmp_path: Path) -> None:
    path = written(tmp_path, "job.env", "NCCL_DEBUG=WARN\n")
    assert RING_RULE not in modules(path, "--nodes", "64", "--gpus-per-node", "8")


def test_the_index_of_readers_is_the_one_that_the_readers_give() -> None:
    assert Path(INDEX).read_text(encoding="utf-8") == index_text()


def test_every_module_of_formats_has_a_reader() -> None:
    modules = {path.stem for path in FORMATS.glob("[!_]*.py")}
    assert modules
    wrong = [
        f"{name}: {reader.format}"
        for name in sorted(modules)
        for reader in _readers_in(name)
        if reader not in built_in_readers()
        or Readers().find(reader.format) is not reader
    ]
    assert not wrong, "\n".join(wrong)


def _readers_in(name: str) -> Sequence[Reader]:
    module = import_module(f"speccheck.validator.sources.formats.{name}")
    readers: Sequence[Reader] = getattr(module, "READERS", None) or (module.READER,)
    return readers


def test_only_readers_with_a_chance_are_imported(tmp_path: Path) -> None:
    path = written(tmp_path, "ds_config.json", DEEPSPEED)
    read = modules(path)
    assert "speccheck.validator.sources.formats.deepspeed" in read
    assert "speccheck.validator.sources.formats.nemo1" not in read
    assert "speccheck.validator.sources.formats.slurm" not in read


def test_a_report_is_imported_where_it_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "ds_config.json", DEEPSPEED)
    loaded = modules(path)
    package = "speccheck.validator"
    assert not [item for item in loaded if item.startswith(f"{package}.report.forms.")]
    assert loaded.isdisjoint(
        {
            f"{package}.run.plan_dump",
            f"{package}.run.plan_view",
            f"{package}.forecast.all",
            f"{package}.report.waived_text",
            f"{package}.report.statistics_text",
            *("csv", "html", "base64"),
        }
    )


NATIVE = "speccheck: 1\noptimizer:\n  warmup_steps: 2000{}\nrun:\n  steps: 1000\n"
WAIVERS = "speccheck.validator.run.waivers"


def test_a_run_without_waivers_reads_none(tmp_path: Path) -> None:
    """The marker of the native format is no comment."""
    text = NATIVE.format("  # measured by speccheck")
    loaded = modules(written(tmp_path, "config.yaml", text))
    assert not [item for item in loaded if item.startswith(WAIVERS)]


def test_a_comment_needs_no_file_of_waivers(tmp_path: Path) -> None:
    text = NATIVE.format("  # speccheck: ignore[CONF-011] resumed")
    loaded = modules(written(tmp_path, "config.yaml", text))
    assert f"{WAIVERS}.yaml_comments" in loaded
    others = ("file", "baseline", "shell_comments")
    assert loaded.isdisjoint({f"{WAIVERS}.{item}" for item in others})
    assert loaded.isdisjoint({SHELL, "pydantic"})


def test_settings_are_read_only_where_there_are_some(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    path = written(tmp_path, "ds_config.json", DEEPSPEED)
    written(tmp_path, "pyproject.toml", '[project]\nname = "no-settings"\n')
    plain = modules(path)
    settings = "speccheck.validator.cli.settings."
    found = {item for item in plain if item.startswith(settings)}
    assert found == {
        "speccheck.validator.cli.settings.files",
    }
    assert TOML not in plain
    written(tmp_path, "speccheck.toml", "[facts]\nnodes = 2\n")
    settled = modules(path)
    assert {TOML, "speccheck.validator.cli.settings.load"} <= settled
    assert settled.isdisjoint({YAML, SHELL, HARDWARE, "dataclasses", "pydantic"})
