"""The comparison with other linters counts what it says that it counts."""

import json
from pathlib import Path

import pytest

from peer_tools import Answer, Job, SchemaValidator, ToolFinding, Traincheck, Yamllint
from peers import Pair, case_pairs, fixture_pairs, score, with_formats

BAD, GOOD = Path("bad"), Path("good")
_CASE = "files: [job.yaml]\ncommand_context: {nodes: 8, instance_type: p5.48xlarge}\n"


class Says(Yamllint):
    """A tool that says what a test tells it to say."""

    def __init__(self, of_bad: set[ToolFinding], of_good: set[ToolFinding]) -> None:
        super().__init__(Path())
        self.told = {BAD: of_bad, GOOD: of_good}

    def ask(self, job: Job) -> Answer:
        return Answer(read=True, findings=frozenset(self.told[job.folder]))


def told(rule: str, *, is_error: bool = True) -> ToolFinding:
    return ToolFinding("a.yaml", rule, "message", is_error)


def pair() -> Pair:
    return Pair("one", Job(BAD, ("a.yaml",)), Job(GOOD, ("a.yaml",)))


def test_what_is_said_of_both_tells_nothing_apart() -> None:
    found = score(Says({told("x")}, {told("x")}), [pair()], lambda item: item)
    assert found.apart == 0
    assert found.good_errors == 1


def test_what_is_said_of_the_bad_one_alone_tells_them_apart() -> None:
    warning = told("y", is_error=False)
    found = score(Says({told("x"), warning}, {warning}), [pair()], lambda item: item)
    assert (found.read, found.apart, found.good_errors, found.good_findings) == (
        1,
        1,
        0,
        1,
    )


def test_a_trap_counts_among_the_good_ones_only() -> None:
    trap = pair()._replace(bad=None)
    found = score(Says(set(), {told("x")}), [trap], lambda item: item)
    assert (found.read, found.apart, found.good_errors, found.good_findings) == (
        0,
        0,
        1,
        1,
    )


def test_cases_give_their_facts_as_options(tmp_path: Path) -> None:
    case = tmp_path / "one"
    case.mkdir()
    (case / "case.yaml").write_text(_CASE, "utf-8")
    (found,) = case_pairs(tmp_path)
    assert found.bad is not None
    assert found.bad.folder == case / "bad"
    assert found.bad.flags == ("--nodes", "8", "--instance", "p5.48xlarge")


@pytest.mark.slow
def test_fixtures_are_pairs_of_configurations(tmp_path: Path) -> None:
    found = {item.name: item for item in fixture_pairs(tmp_path)}
    assert len(found) > 200
    pairs = found["global_batch_differs_from_product"]
    for job in (pairs.bad, pairs.good):
        assert job is not None
        assert all((job.folder / name).is_file() for name in job.files)


def test_a_file_is_validated_by_the_schema_of_its_format(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "speccheck: 1\ncluster: {nodes: 2}\n", "utf-8"
    )
    job = Job(tmp_path, ("config.yaml",))
    known = with_formats(Pair("one", None, job)).good
    assert known.formats == (("config.yaml", "native"),)


def program(folder: Path, name: str, text: str, code: int) -> Path:
    """Return a tool that prints a text and ends with a code."""
    path = folder / name
    (folder / f"{name}.txt").write_text(text, "utf-8")
    path.write_text(f"#!/bin/sh\ncat '{folder}/{name}.txt'\nexit {code}\n", "utf-8")
    path.chmod(0o755)
    return folder


def test_each_tool_is_read_in_its_own_form(tmp_path: Path) -> None:
    job = Job(tmp_path, ("a.yaml",), (), (("a.yaml", "native"),))
    line = "a.yaml:2:1: [warning] missing start (document-start)\n"
    found = Yamllint(program(tmp_path, "yamllint", line, 0)).ask(job)
    expected = ToolFinding("a.yaml", "document-start", "missing start", is_error=False)
    assert found == Answer(read=True, findings=frozenset({expected}))

    error = {"filename": "a.yaml", "path": "$.x", "message": "not a number"}
    text = json.dumps({"status": "fail", "errors": [error], "parse_errors": []})
    found = SchemaValidator(program(tmp_path, "check-jsonschema", text, 1)).ask(job)
    expected = ToolFinding("a.yaml", "$.x", "not a number", is_error=True)
    assert found == Answer(read=True, findings=frozenset({expected}))

    violation = {"id": "NCCL-IB-001", "severity": "error", "message": "disabled"}
    text = json.dumps({"passed": False, "violations": [violation]})
    found = Traincheck(program(tmp_path, "traincheck", text, 1)).ask(job)
    expected = ToolFinding("a.yaml", "NCCL-IB-001", "disabled", is_error=True)
    assert found == Answer(read=True, findings=frozenset({expected}))


@pytest.mark.parametrize("name", ["a.sh", "b.toml"])
def test_a_tool_that_cannot_read_a_file_has_not_read_it(
    name: str, tmp_path: Path
) -> None:
    job = Job(tmp_path, (name,))
    refusing = program(tmp_path, "traincheck", "", 2)
    for tool in (Yamllint(tmp_path), SchemaValidator(tmp_path), Traincheck(refusing)):
        assert tool.ask(job) == Answer(read=False, findings=frozenset())
