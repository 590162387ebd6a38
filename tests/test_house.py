"""The house rules, held: imports run one way, names are whole, nothing is to do."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slow_cases import EVERYDAY_CASES

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("validator", "rules", "schemas", "probes")
LINKS = {name: f"../../{name}" for name in PACKAGES} | {
    "__main__.py": "../../validator/__main__.py"
}

# Evidence that a rule sees is all that it may use: no file, clock, process or chance.
_NOT_FOR_RULES = frozenset(
    {
        "glob",
        "importlib",
        "io",
        "os",
        "pathlib",
        "random",
        "shutil",
        "socket",
        "subprocess",
        "sys",
        "time",
    }
)
# Each costs more start-up time than judging a file (docs/decisions/0002).
_NOT_ON_THE_PLAIN_PATH = (
    "asyncio",
    "click",
    "cryptography",
    "importlib.metadata",
    "jsonschema",
    "logging",
    "pydantic",
    "pynvml",
    "rich",
    "speccheck.validator.signing",
    "speccheck.validator.simulation",
    "subprocess",
    "typer",
)
_FORBIDDEN_WORDS = frozenset(
    {"helper", "helpers", "manager", "managers", "misc", "util", "utils"}
)
# As a noun: a class, a module, a variable. A function may check something.
_FORBIDDEN_NOUNS = _FORBIDDEN_WORDS | {"check", "checks"}
# Daemons that the field has given such names.
_NAMES_OF_THE_FIELD = ("fabric_manager", "subnet_manager")
# Only files with such a text are parsed for their names.
_SUSPECT = re.compile(r"helper|manager|misc|util|(?<!spec)check", re.IGNORECASE)
_UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")


def python_files(*folders: str) -> list[Path]:
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if "__pycache__" not in path.parts
    )


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


PROGRAM = python_files(*PACKAGES)
ALL = PROGRAM + python_files("tests", "bench", "tools")


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and dotted module of each import, those in functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert not node.level, f"{_name(path)}:{node.lineno} imports relatively"
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield node.lineno, inner if _is_module(inner) else module


def _is_module(name: str) -> bool:
    path = ROOT / ".imports" / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_a_rule_imports_nothing_that_reads() -> None:
    """Nor another rule: what two of them share is a private module of their area."""
    wrong = [
        f"{_name(path)}:{line} imports {name}"
        for path in python_files("rules")
        for line, name in _imports(path)
        if not _is_for_rules(name, area=path.parent.name)
    ]
    assert not wrong, "\n".join(wrong)


def _is_for_rules(name: str, *, area: str) -> bool:
    top = name.partition(".")[0]
    known = top == "speccheck" or top in sys.stdlib_module_names
    private = f"speccheck.rules.{area}._"
    of_rules = name.startswith("speccheck.rules") and not name.startswith(private)
    return known and not of_rules and top not in _NOT_FOR_RULES


_LIST_MODULES = """
import json, sys
try:
    from speccheck.validator.cli.main import main
    code = main(sys.argv[2:])
except SystemExit as ending:
    code = ending.code
with open(sys.argv[1], "w") as file:
    json.dump({"code": code, "modules": sorted(sys.modules)}, file)
"""


@pytest.mark.parametrize("has_settings", [False, True])
@pytest.mark.parametrize("output", ["text", "json"])
def test_the_plain_path_imports_only_what_it_needs(
    tmp_path: Path, output: str, *, has_settings: bool
) -> None:
    """One file of each kind of parser: YAML, JSON, TOML, shell."""
    if has_settings:
        settings = 'ignore = ["MEM"]\n[facts]\nnodes = 2\n[levels]\nCOMM = "error"\n'
        (tmp_path / "speccheck.toml").write_text(settings, encoding="utf-8")
    texts = {
        "train.yaml": "output_dir: out\nper_device_train_batch_size: 4\nbf16: true\n",
        "ds_config.json": '{"train_batch_size": 64, "zero_optimization": {"stage": 3}}',
        "torchtitan.toml": (
            '[model]\nname = "llama3"\nflavor = "70B"\n'
            "[training]\nlocal_batch_size = 1\nseq_len = 4096\n"
            "[parallelism]\ntensor_parallel_degree = 8\n"
            "[metrics]\nlog_freq = 10\n"
        ),
        "run.sh": "#!/bin/bash\n#SBATCH --nodes=2\nexport NCCL_DEBUG=WARN\nsrun t.py\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    listing = tmp_path / "modules"
    ended = subprocess.run(
        [sys.executable, "-c", _LIST_MODULES, listing, *texts, "--output", output],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / ".imports")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    seen = json.loads(listing.read_text(encoding="utf-8"))
    assert seen["code"] in {0, 1, 3}, ended.stdout + ended.stderr
    loaded = [
        name
        for name in seen["modules"]
        if name in _NOT_ON_THE_PLAIN_PATH
        or name.startswith(tuple(f"{item}." for item in _NOT_ON_THE_PLAIN_PATH))
    ]
    assert not loaded


def test_names_are_of_the_field() -> None:
    wrong = [
        f"{_name(path)}:{line} {name}"
        for path in ALL
        for line, name, forbidden in _names(path)
        if forbidden & set(_words(name))
    ]
    assert not wrong, "\n".join(wrong)


def _names(path: Path) -> Iterator[tuple[int, str, frozenset[str]]]:
    """Yield the line and text of each name, and the words that it must not have."""
    for part in path.relative_to(ROOT).with_suffix("").parts:
        yield 0, part, _FORBIDDEN_NOUNS
    text = path.read_text(encoding="utf-8")
    if not _SUSPECT.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name, _FORBIDDEN_NOUNS
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name, _FORBIDDEN_WORDS
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg, _FORBIDDEN_NOUNS
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id, _FORBIDDEN_NOUNS


def _words(name: str) -> list[str]:
    for known in _NAMES_OF_THE_FIELD:
        name = name.replace(known, "")
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word.lower() for word in spaced.split("_")]


def test_nothing_is_left_unfinished() -> None:
    wrong = [
        f"{_name(path)}:{number} {line.strip()}"
        for path in ALL
        if path != Path(__file__).resolve()  # which has to name the words
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if _UNFINISHED.search(line)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_links_give_the_import_name() -> None:
    folder = ROOT / ".imports" / "speccheck"
    found = {path.name: path for path in folder.iterdir()}
    found.pop("__pycache__", None)
    assert found.pop("pyrightconfig.json").is_file()
    assert {name: str(path.readlink()) for name, path in found.items()} == LINKS
    assert all(path.exists() for path in found.values())


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_typed(package: str) -> None:
    assert (ROOT / package / "__init__.py").is_file()
    assert (ROOT / package / "py.typed").is_file()


def test_costly_tests_with_few_everyday_cases_are_there() -> None:
    missing = [
        f"{module}.{name}"
        for module, counts in EVERYDAY_CASES.items()
        for name in counts
        if f"def {name}(" not in (ROOT / "tests" / f"{module}.py").read_text("utf-8")
    ]
    assert not missing, "\n".join(missing)
