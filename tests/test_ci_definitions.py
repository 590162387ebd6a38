"""The hooks for pre-commit, the GitHub Action and the GitLab component, run."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from ci_shell import (
    ROOT,
    commit_all,
    expression_values,
    git,
    input_values,
    offline_environment,
    run_shell,
    working_tree,
)

pytestmark = pytest.mark.slow
_ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
_COMPONENT = list(
    yaml.safe_load_all((ROOT / "templates" / "speccheck.yml").read_text("utf-8"))
)
GOOD = """\
speccheck: 1
parallelism:
  data_parallel_size: 16
batch:
  global_batch_size: 256
  micro_batch_size: 4
  gradient_accumulation_steps: 4
"""
BAD = GOOD.replace("256", "512")
FOUND = "BATCH-001 global_batch_differs_from_product"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the project as a repository that others can name."""
    return working_tree(tmp_path_factory.mktemp("project") / "speccheck")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a user's repository: two configurations, and a file of another tool."""
    folder = tmp_path / "repository"
    (folder / "configs").mkdir(parents=True)
    (folder / "configs" / "good.yaml").write_text(GOOD, "utf-8")
    (folder / "configs" / "bad one.yaml").write_text(BAD, "utf-8")
    (folder / "mkdocs.yml").write_text("site_name: a\nnav: [index.md]\n", "utf-8")
    commit_all(folder)
    return folder


def _commit(
    repository: Path, home: Path, *files: str
) -> subprocess.CompletedProcess[str]:
    """Return what the hook says of these files."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pre_commit",
            "run",
            "--color",
            "never",
            "--files",
            *files,
        ],
        cwd=repository,
        env=offline_environment({"PRE_COMMIT_HOME": str(home)}),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def pre_commit_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    return tmp_path_factory.mktemp("pre-commit")


def _hook(repository: Path, project: Path, name: str, **more: object) -> None:
    hook = {"id": name, **more}
    revision = git(project, "rev-parse", "HEAD")
    configuration = {
        "repos": [{"repo": str(project), "rev": revision, "hooks": [hook]}]
    }
    path = repository / ".pre-commit-config.yaml"
    path.write_text(yaml.safe_dump(configuration), "utf-8")
    git(repository, "add", "-A")


def test_pre_commit_judges_what_a_commit_changes(
    repository: Path, project: Path, pre_commit_home: Path
) -> None:
    _hook(repository, project, "speccheck")
    files = ("configs/good.yaml", "configs/bad one.yaml", "mkdocs.yml")
    done = _commit(repository, pre_commit_home, *files)
    assert done.returncode == 1, done.stdout + done.stderr
    assert FOUND in done.stdout
    assert "configs/bad one.yaml:5:22" in done.stdout
    assert "mkdocs" not in done.stdout

    done = _commit(repository, pre_commit_home, "configs/good.yaml", "mkdocs.yml")
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout

    # A batch may hold nothing but files of other tools.
    done = _commit(repository, pre_commit_home, "mkdocs.yml")
    assert done.returncode == 0, done.stdout


def test_pre_commit_judges_the_whole_project(
    repository: Path, project: Path, pre_commit_home: Path
) -> None:
    _hook(repository, project, "speccheck-project", args=["configs"])
    done = _commit(repository, pre_commit_home, "configs/good.yaml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert FOUND in done.stdout


def _variables(step: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, str]:
    result: dict[str, str] = step.get("env", {})
    return {name: expression_values(text, values) for name, text in result.items()}


def _act(
    repository: Path, project: Path, **inputs: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, str], str]:
    """Run the steps of the Action; returns the last, its outputs and the summary."""
    values: dict[str, str] = {
        f"inputs.{name}": str(inputs.get(name, item["default"]))
        for name, item in _ACTION["inputs"].items()
    }
    values["inputs.python"] = sys.executable
    values["github.action_path"] = str(project)
    output = repository.parent / "output"
    summary = repository.parent / "summary.md"
    output.touch()
    github = {
        "RUNNER_TEMP": str(repository.parent),
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(repository),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    shell = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
    done: subprocess.CompletedProcess[str] | None = None
    for step in _ACTION["runs"]["steps"]:
        if "run" not in step:
            continue
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an input could become a command"
        environment = offline_environment({**github, **_variables(step, values)})
        done = run_shell(step["run"], repository, environment, shell)
        if done.returncode:
            break
    assert done is not None
    result = dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())
    return done, result, summary.read_text("utf-8") if summary.exists() else ""


def test_the_action_fails_where_something_fails(
    repository: Path, project: Path
) -> None:
    done, outputs, summary = _act(repository, project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert outputs == {"exit-code": "1", "sarif": "speccheck.sarif"}
    sarif = json.loads((repository / "speccheck.sarif").read_text("utf-8"))
    (result,) = (
        item for item in sarif["runs"][0]["results"] if item["level"] == "error"
    )
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "configs/bad%20one.yaml"
    assert place["region"]["startLine"] == 5
    shown = done.stdout + done.stderr
    assert "\n::error file=configs/bad one.yaml,line=5," in shown
    assert "BATCH-001" in summary


def test_the_action_passes_options_and_files_as_they_are(
    repository: Path, project: Path
) -> None:
    done, outputs, summary = _act(
        repository,
        project,
        files="configs/good.yaml\n$(touch stolen)\n",
        arguments="--skip-unknown\n--fail-on\nnever",
        sarif="",
        summary="false",
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "$(touch stolen)" in done.stdout
    assert not (repository / "stolen").exists()
    assert outputs == {"exit-code": "2"}
    assert not summary
    done, outputs, _ = _act(
        repository, project, files="configs/bad one.yaml", arguments="--fail-on\nnever"
    )
    assert (done.returncode, outputs["exit-code"]) == (0, "0"), done.stderr


def _component(**inputs: str) -> dict[str, Any]:
    """Return the job of the component with inputs, as GitLab makes it."""
    header, jobs = _COMPONENT
    values: dict[str, str] = {
        name: str(inputs.get(name, item.get("default")))
        for name, item in header["spec"]["inputs"].items()
    }

    def filled(value: object) -> object:
        if isinstance(value, str):
            return input_values(value, values)
        if isinstance(value, dict):
            return {filled(key): filled(item) for key, item in value.items()}
        return [filled(item) for item in value] if isinstance(value, list) else value

    found = filled(jobs)
    assert isinstance(found, dict)
    ((_, job),) = found.items()
    assert isinstance(job, dict)
    return job


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ("configs/good.yaml", 0),
        (".", 1),
        ("mkdocs.yml\nconfigs/bad one.yaml", 2),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_the_component_leaves_its_reports(
    repository: Path, project: Path, tmp_path: Path, files: str, code: int, shell: str
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    job = _component(files=files, package=str(project))
    place = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    found = offline_environment(job["variables"])
    found["PATH"] = f"{place / 'bin'}:{found['PATH']}"
    text = "\n".join(job["script"])
    done = run_shell(text, repository, found, (shell, "-e"))
    assert done.returncode == code, done.stdout + done.stderr
    artifacts = job["artifacts"]
    assert artifacts["when"] == "always"
    quality = repository / artifacts["reports"]["codequality"]
    paths = {
        item["location"]["path"]
        for item in json.loads(quality.read_text("utf-8"))
        if item["check_name"] == "global_batch_differs_from_product"
    }
    assert paths == ({"configs/bad one.yaml"} if code else set())
    junit = ET.parse(  # noqa: S314 - our own
        repository / artifacts["reports"]["junit"]
    )
    assert bool(junit.findall(".//failure")) == bool(code)
