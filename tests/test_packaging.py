"""What users install: sdist, the wheel built from it, and the command it gives."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from speccheck.validator import VERSION
from speccheck.validator.editions.edition import editions, load_edition
from speccheck.validator.report.coverage import coverage, coverage_text

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("validator", "rules", "schemas", "probes")
PREFIX = f"speccheck-{VERSION}"

pytestmark = pytest.mark.slow


def _run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run without the variables that would show the checkout to the command."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    environment = {k: v for k, v in os.environ.items() if k not in hidden}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sdist and the wheel that was built from that sdist."""
    folder = tmp_path_factory.mktemp("built")
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    ended = _run(*build, folder=folder)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return built / f"{PREFIX}-py3-none-any.whl"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the `bin` folder of a clean environment that holds the wheel.

    The dependencies are those of the running environment, by a path file: nothing is
    fetched.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    ended = _run(*pip, "--no-deps", "--no-index", wheel, folder=folder)
    assert ended.returncode == 0, ended.stderr
    (own,) = folder.glob("lib/python*/site-packages")
    dependencies = sysconfig.get_path("purelib")
    (own / "dependencies.pth").write_text(dependencies + "\n", encoding="utf-8")
    return folder / "bin"


def _source_files() -> set[str]:
    return {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_each_source_file_under_the_import_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {n for n in archive.namelist() if ".dist-info/" not in n}
    expected = {f"speccheck/{name}" for name in _source_files()}
    expected.remove("speccheck/validator/__main__.py")
    expected.add("speccheck/__main__.py")
    assert names == expected
    assert {
        "speccheck/schemas/FROZEN.yaml",
        *(f"speccheck/schemas/{name}/compiled.json" for name in editions()),
        *(f"speccheck/schemas/{name}/edition.yaml" for name in editions()),
        "speccheck/validator/py.typed",
        "speccheck/validator/cli/main.py",
        "speccheck/rules/__init__.py",
        "speccheck/probes/py.typed",
    } <= names


def test_the_wheel_says_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{PREFIX}.dist-info/METADATA").decode()
        entries = archive.read(f"{PREFIX}.dist-info/entry_points.txt").decode()
        licence = archive.read(f"{PREFIX}.dist-info/licenses/LICENSE").decode()
    head = metadata.partition("\n\n")[0].splitlines()
    needed = {
        line.removeprefix("Requires-Dist: ")
        for line in head
        if line.startswith("Requires-Dist: ") and "extra ==" not in line
    }
    assert needed == {
        "pydantic<3,>=2.11",
        "pyyaml<7,>=6",
        "rich<16,>=13.8",
        "nvidia-ml-py<14,>=12.535.77",
    }
    assert "Requires-Python: >=3.11" in head
    assert "License-Expression: Apache-2.0" in head
    assert "speccheck = speccheck.validator.cli.main:run" in entries
    assert "Apache License" in licence


def test_the_sdist_holds_sources_and_tests_and_no_links(built: Path) -> None:
    with tarfile.open(built / f"{PREFIX}.tar.gz") as archive:
        members = archive.getmembers()
    names = {member.name.removeprefix(f"{PREFIX}/") for member in members}
    assert _source_files() <= names
    assert {"pyproject.toml", "LICENSE", "Makefile", "tests/conftest.py"} <= names
    assert not [name for name in names if name.startswith(".imports")]
    assert not [member.name for member in members if member.issym()]


def test_the_installed_command_tells_its_version(
    installed: Path, tmp_path: Path
) -> None:
    ended = _run(installed / "speccheck", "--version", folder=tmp_path)
    assert ended.stdout == f"speccheck {VERSION}\n", ended.stderr
    assert ended.returncode == 0


def test_the_installed_module_judges_a_file(installed: Path, tmp_path: Path) -> None:
    """The edition, the catalogues and the rules are in the wheel, and are found."""
    (tmp_path / "ds_config.json").write_text(
        '{"train_batch_size": 64, "zero_optimization": {"stage": 3}}', encoding="utf-8"
    )
    command = (installed / "python", "-m", "speccheck", "ds_config.json")
    ended = _run(*command, "--fail-on", "never", folder=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "ds_config.json" in ended.stdout


def test_the_installed_command_knows_the_fixtures_that_it_does_not_have(
    installed: Path, tmp_path: Path
) -> None:
    ended = _run(installed / "speccheck", "spec", "coverage", folder=tmp_path)
    assert ended.stdout == coverage_text(coverage(load_edition())), ended.stderr
    assert " 0 fixtures" not in ended.stdout


def test_the_installed_command_judges_by_each_edition(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "ds_config.json").write_text(
        '{"train_batch_size": 64, "zero_optimization": {"stage": 3}}', encoding="utf-8"
    )
    for name in editions():
        command = (installed / "speccheck", "ds_config.json", "--spec", name)
        ended = _run(*command, "--fail-on", "never", folder=tmp_path)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert f"edition {name}" in ended.stdout
    compared = (installed / "speccheck", "spec", "diff", editions()[0], editions()[-1])
    ended = _run(*compared, folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"edition {editions()[-1]} ")


def test_the_installed_code_is_that_of_the_wheel(
    installed: Path, tmp_path: Path
) -> None:
    show = "import speccheck.rules as rules; print(rules.__file__)"
    ended = _run(installed / "python", "-c", show, folder=tmp_path)
    found = Path(ended.stdout.strip())
    assert found.is_relative_to(installed.parent), ended.stderr


def test_no_extra_changes_what_a_report_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(project["optional-dependencies"]) == {
        "bench",
        "certify",
        "dev",
        "docs",
        "fleet",
        "plot",
    }
