"""Linters that somebody might run instead, and what each says of files.

Each tool is run as its users run it: a process over the files of one run, from the
folder in which they lie. A tool that takes one file at a time gets a process for each.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "schemas" / "json"
# What the installed command does; the checkout needs no install.
_ENTRY = "from speccheck.validator.cli.main import run; run()"
SPECCHECK = (sys.executable, "-c", _ENTRY)
_YAML = (".yaml", ".yml")
_DOCUMENTS = (*_YAML, ".json", ".toml")
_SECONDS = 120


class ToolFinding(NamedTuple):
    """One thing that a tool says of a file; rule: the name that it has for it."""

    file: str
    rule: str
    message: str
    is_error: bool


class Answer(NamedTuple):
    """What a tool says of the files of a run; read: it could read at least one."""

    read: bool
    findings: frozenset[ToolFinding]


class Job(NamedTuple):
    """Files of one run in a folder, and what else is known of it.

    flags: facts of the job for speccheck, which alone takes any. formats: what each
    file is, as far as somebody knows.
    """

    folder: Path
    files: tuple[str, ...]
    flags: tuple[str, ...] = ()
    formats: tuple[tuple[str, str], ...] = ()


def environment() -> dict[str, str]:
    """Return this process's environment, with the checkout and without colours."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / ".imports"),
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }


def _printed(words: Sequence[str], folder: Path) -> tuple[int, str]:
    ended = subprocess.run(
        words,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return ended.returncode, ended.stdout


class Speccheck:
    """This program."""

    name = "speccheck"
    _reports: ClassVar[dict[Job, dict[str, Any]]] = {}

    def ask(self, job: Job) -> Answer:
        """Judge the files as one run."""
        report = self.report(job)
        result = frozenset(
            ToolFinding(
                _file(item), item["rule"], item["message"], item["level"] == "error"
            )
            for item in report["findings"]
            if item["outcome"] == "fail" and not item["waived"]
        )
        return Answer(any(f["status"] == "judged" for f in report["files"]), result)

    def report(self, job: Job) -> dict[str, Any]:
        """Return the whole report; each job is judged once."""
        job = job._replace(formats=())
        if job not in self._reports:
            self._reports[job] = self._report(job)
        return self._reports[job]

    @staticmethod
    def _report(job: Job) -> dict[str, Any]:
        words = (*SPECCHECK, "--output", "json", *job.flags, *job.files)
        _, text = _printed(words, job.folder)
        result: dict[str, Any] = json.loads(text)
        return result


def _file(finding: Mapping[str, Any]) -> str:
    places = finding["places"]
    return str(places[0].get("file", "")) if places else ""


class Yamllint:
    """Form of YAML, by its default settings."""

    name = "yamllint"

    def __init__(self, tools: Path) -> None:
        """Take the folder of the commands."""
        self.program = str(tools / self.name)

    def ask(self, job: Job) -> Answer:
        """Return what the lint answers.

        It judges those that are YAML by their names.
        """
        files = [file for file in job.files if file.endswith(_YAML)]
        if not files:
            return Answer(read=False, findings=frozenset())
        _, text = _printed((self.program, "-f", "parsable", *files), job.folder)
        return Answer(read=True, findings=frozenset(self._findings(text)))

    @staticmethod
    def _findings(text: str) -> Iterator[ToolFinding]:
        for line in text.splitlines():
            file, _, rest = line.partition(":")
            level, _, message = rest.partition("[")[2].partition("] ")
            what, _, rule = message.rpartition(" (")
            yield ToolFinding(file, rule.rstrip(")"), what, level == "error")


class SchemaValidator:
    """Shape of documents, by our schemas of the frameworks."""

    name = "check-jsonschema"

    def __init__(self, tools: Path) -> None:
        """Take the folder of the commands."""
        self.program = str(tools / self.name)

    def ask(self, job: Job) -> Answer:
        """Validate each file by the schema of its format, where there is one."""
        outcome: list[ToolFinding] = []
        read = False
        for schema, files in self._by_schema(job).items():
            read = True
            words = (self.program, "-o", "json", "--schemafile", str(schema), *files)
            _, text = _printed(words, job.folder)
            result = json.loads(text)
            for item in (*result.get("errors", ()), *result.get("parse_errors", ())):
                place = item.get("path", "")
                outcome.append(
                    ToolFinding(item["filename"], place, item["message"], is_error=True)
                )
        return Answer(read, frozenset(outcome))

    @staticmethod
    def _by_schema(job: Job) -> dict[Path, list[str]]:
        result: dict[Path, list[str]] = {}
        formats = dict(job.formats)
        for file in job.files:
            schema = schema_of(formats.get(file, ""))
            if schema is not None and file.endswith(_DOCUMENTS):
                result.setdefault(schema, []).append(file)
        return result


def schema_of(name: str) -> Path | None:
    """Return the schema of a format that this project publishes."""
    for folder in (SCHEMAS, SCHEMAS / "frameworks"):
        path = folder / f"{name}.schema.json"
        if name and path.is_file():
            return path
    return None


class Traincheck:
    """Launchers of jobs; the package is traincheck-lint."""

    name = "traincheck"

    def __init__(self, tools: Path) -> None:
        """Take the folder of the commands."""
        self.program = str(tools / self.name)

    def ask(self, job: Job) -> Answer:
        """Ask of each file: it takes one at a time."""
        result: list[ToolFinding] = []
        read = False
        for file in job.files:
            words = (self.program, "check", "--json", file)
            code, text = _printed(words, job.folder)
            if code not in {0, 1} or not text.startswith("{"):
                continue
            read = True
            for item in json.loads(text)["violations"]:
                is_error = item["severity"].lower() == "error"
                result.append(ToolFinding(file, item["id"], item["message"], is_error))
        return Answer(read, frozenset(result))


Tool = Speccheck | Yamllint | SchemaValidator | Traincheck


def all_tools(folder: Path) -> tuple[Tool, ...]:
    """Return this program and its peers, whose commands lie in a folder."""
    peers = (Yamllint(folder), SchemaValidator(folder), Traincheck(folder))
    return (Speccheck(), *peers)


def versions(folder: Path) -> dict[str, str]:
    """Return the name and version of each package there."""
    words = (str(folder / "python"), "-m", "pip", "list", "--format", "json")
    code, text = _printed(words, ROOT)
    return (
        {load["name"]: load["version"] for load in json.loads(text)} if not code else {}
    )
