"""The example of CONTRIBUTING.md works as it stands there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RULE = "warmup_fills_the_run"
COPIED = (
    *("validator", "rules", "schemas", "probes", "tools", "tests", ".imports"),
    "fixtures/rules",
)
_BLOCK = re.compile(
    r"^(?P<how>In|At the end of) `(?P<path>[^`]+)`:\n\n```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with the files of the page written into it."""
    folder = tmp_path_factory.mktemp("project")
    for name in COPIED:
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=without)
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = list(_BLOCK.finditer(page))
    assert len(blocks) == 5, "a clause, its reason, a rule and two fixtures"
    for block in blocks:
        target = folder / block["path"]
        if block["how"] == "In":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block["text"], encoding="utf-8")
        else:
            with target.open("a", encoding="utf-8") as file:
                file.write("\n" + block["text"])
    return folder


def _run(*arguments: str, project: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(project / ".imports")}
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_example_rule_passes_every_test_of_a_rule(project: Path) -> None:
    _run("tools/compile_edition.py", project=project)
    tests = ("tests/test_rules.py", "tests/test_house.py", "tests/test_house_rules.py")
    report = _run(
        "-m", "pytest", "-q", "-k", f"{RULE} or house", *tests, project=project
    )
    assert re.search(r"\d+ passed", report), report


def test_the_example_is_written_as_the_project_is(project: Path) -> None:
    path = f"rules/batching/{RULE}.py"
    _run("-m", "ruff", "check", path, project=project)
    _run("-m", "ruff", "format", "--check", path, project=project)
