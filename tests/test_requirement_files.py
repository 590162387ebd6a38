"""Exact pins in requirement, lock and environment files."""

import time
from pathlib import Path

import pytest

from speccheck.validator.sources.pinned_versions import (
    is_requirement_file,
    normalized,
    pinned_versions,
)


def pins(folder: Path) -> dict[str, str]:
    """Return the package and release, of a folder with one file."""
    return {item.package: item.text for item in pinned_versions(str(folder))}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "requirements.txt",
            (
                "torch==2.6.0+cu124 \\\n    --hash=sha256:0\n"
                "nemo_toolkit[all]==2.0.0\nAI2.OLMo===0.6.0\n"
                "trl==0.19.1 ; platform_system == 'Linux'\nverl==0.5.0 --no-deps\n"
                "accelerate==1.0.1; sys_platform != 'linux'\nlitgpt<0.6\n"
            ),
            {
                "torch": "2.6.0",
                "nemo-toolkit": "2.0.0",
                "ai2-olmo": "0.6.0",
                "trl": "0.19.1",
                "verl": "0.5.0",
            },
        ),
        (
            "constraints.txt",
            "deepspeed==0.15.4\r\nnumpy==1.0\r\n",
            {"deepspeed": "0.15.4"},
        ),
        ("notes.txt", "deepspeed==0.15.4\n", {}),
        (
            "uv.lock",
            (
                'version = 1\n\n[[package]]\nname = "torch"\nversion = "2.6.0"\n'
                'source = { registry = "x" }\n\n[[package]]\nname = "axolotl"\n'
                'version = "0.9.0.dev0"\nsource = { editable = "." }\n\n'
                '[[package]]\nname = "trl"\nversion = "0.19.1"\n\n'
                '[[package]]\nname = "trl"\nversion = "0.20.0"\n'
            ),
            {"torch": "2.6.0"},
        ),
        (
            "Pipfile.lock",
            (
                '{"default": {\n "torch": {\n  "hashes": [],\n  "version": "==2.6.0"}'
                ',\n "numpy": {"version": "==1.0"}}}\n'
            ),
            {"torch": "2.6.0"},
        ),
        (
            "environment.yaml",
            (
                "dependencies:\n  - python=3.11\n  - pytorch=2.3.0=py3.11_cuda12.1\n"
                "  - conda-forge::nccl==2.21.5.1\n  - accelerate=1.0\n  - pip:\n"
                '    - "trl==0.9.6"\n    - transformers>=4.40\n'
            ),
            {"torch": "2.3.0", "nvidia-nccl-cu12": "2.21.5.1", "trl": "0.9.6"},
        ),
        (
            "pyproject.toml",
            (
                '[project]\nname = "x"\ndependencies = [\n  "torch==2.6.0",\n'
                "  \"transformers[torch]==4.44.2; sys_platform == 'linux'\",\n"
                '  "trl>=0.9",\n]\n[project.optional-dependencies]\n'
                'ds = ["deepspeed==0.14.0"]\n[tool.poetry.dependencies]\n'
                'accelerate = "1.0.1"\nverl = "^0.5"\n'
                'litgpt = {version = "0.5.3", extras = ["all"]}\n'
                '[tool.poetry.group.dev.dependencies]\ntorchtune = "0.6.1"\n'
            ),
            {
                "torch": "2.6.0",
                "transformers": "4.44.2",
                "accelerate": "1.0.1",
                "litgpt": "0.5.3",
            },
        ),
        ("pyproject.toml", 'dependencies = ["torch==2.6.0"]\n', {}),
        ("pyproject.toml", '[project]\ndependencies = ["torch==2.6.0', {}),
    ],
)
def test_exact_pins(
    tmp_path: Path, name: str, text: str, expected: dict[str, str]
) -> None:
    (tmp_path / name).write_text(text, newline="")
    assert pins(tmp_path) == expected


def test_folders_that_are_not_there_pin_nothing() -> None:
    assert pinned_versions("no such folder") == ()
    assert pinned_versions("a\0b") == ()


def test_a_pin_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("# a\n  torch == 2.6.0 # b\n")
    (item,) = pinned_versions(str(tmp_path))
    assert item.place.file == str(tmp_path / "requirements.txt")
    assert item.place.span is not None
    assert tuple(item.place.span) == (2, 3, len("torch == 2.6.0"))


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    assert pins(tmp_path) == {}
    path.write_text("torch==2.6.0\n")
    assert pins(tmp_path) == {"torch": "2.6.0"}
    path.write_text("torch==2.6.0.post1\n")
    assert pins(tmp_path) == {"torch": "2.6.0.post1"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("requirements.txt", True),
        ("dev-requirements.txt", True),
        ("constraints.txt", True),
        ("uv.lock", True),
        ("environment.yml", True),
        ("pyproject.toml", True),
        ("train.yaml", False),
        ("train.toml", False),
        ("notes.txt", False),
    ],
)
def test_requirement_files(name: str, expected: bool) -> None:  # noqa: FBT001
    assert is_requirement_file(name) is expected


def test_names_are_normalized() -> None:
    assert normalized("NeMo_Toolkit") == normalized("nemo.toolkit") == "nemo-toolkit"


@pytest.mark.parametrize("name", ["uv.lock", "requirements.txt", "Pipfile.lock"])
def test_long_files_of_nothing_take_no_long_time(tmp_path: Path, name: str) -> None:
    """Twice the text takes about twice the time, not four times."""
    seconds = []
    for repeat in (20_000, 40_000):
        folder = tmp_path / str(repeat)
        folder.mkdir()
        (folder / name).write_text('"torch": { "a" ==' * repeat)
        start = time.perf_counter()
        assert pins(folder) == {}
        seconds.append(time.perf_counter() - start)
    assert seconds[1] < 3.5 * seconds[0] + 0.05
