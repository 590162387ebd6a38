"""JUnit: read by a parser of others, and held to what GitLab and Jenkins read alike."""

from pathlib import Path
from xml.etree import ElementTree as ET

import junitparser
import pytest

from machine_reports import (
    BATCH,
    COMMENT,
    DEEPSPEED,
    FAULTY_NODE,
    HELD_RULE,
    HOLDS,
    JOB,
    NOT_SET,
    UNREAD_KEY,
    judged,
    printed,
    repository,
    told_in,
    waived,
    with_findings,
)
from speccheck.validator.engine.locate import LocatedFinding

# The attributes that both readers know, and the one of the three that may stand inside.
_ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "file", "line", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "properties": set(),
    "property": {"name", "value"},
}
_INSIDE = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"failure", "error", "skipped"},
}
NO_MULTIPLE = (
    "global batch 500 is not a multiple of micro-batch 2 x accumulation 8 = 16: it "
    "holds for no number of ranks"
)
NOT_DURING = "gradients are reduced after the backward pass instead of during it"
Cases = dict[tuple[str, str], tuple[str, str]]  # suite, name: state, message


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository(tmp_path, monkeypatch)
    (tmp_path / "ds.json").write_text(DEEPSPEED, "utf-8")
    return tmp_path


def cases(text: str) -> Cases:
    """Return the test cases of a document that both readers can read."""
    root = ET.fromstring(text)  # noqa: S314 - what we have just written
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) <= _ATTRIBUTES[element.tag], element.tag
        assert {item.tag for item in element} <= _INSIDE.get(element.tag, set())
    found: Cases = {}
    classes: set[tuple[str, str]] = set()
    for suite in root:
        for case in suite.iter("testcase"):
            key = case.attrib["classname"], case.attrib["name"]
            assert key not in classes  # GitLab would show one of the two
            classes.add(key)
            states = [(item.tag, item.attrib["message"]) for item in case]
            assert len(states) <= 1
            assert all(item.text for item in case)  # what GitLab shows
            state = states[0] if states else ("passed", "")
            found[suite.attrib["name"], case.attrib["name"]] = state
    _assert_counts(text)
    return found


def _assert_counts(text: str) -> None:
    """Assert the counts by a parser that has nothing to do with ours."""
    parsed = junitparser.JUnitXml.fromstring(text.encode())
    stated = [parsed.tests, parsed.failures, parsed.errors]
    sums = [0, 0, 0]
    for suite in parsed:
        results = [case.result[0] if case.result else None for case in suite]
        numbers = [
            len(results),
            sum(isinstance(result, junitparser.Failure) for result in results),
            sum(isinstance(result, junitparser.Error) for result in results),
        ]
        assert [suite.tests, suite.failures, suite.errors] == numbers
        skipped = sum(isinstance(result, junitparser.Skipped) for result in results)
        assert suite.skipped == skipped
        sums = [sum(pair) for pair in zip(sums, numbers, strict=True)]
    assert sums == stated


def is_red(found: Cases) -> bool:
    return any(state in {"failure", "error"} for state, _ in found.values())


@pytest.mark.usefixtures("folder")
def test_a_test_case_is_a_rule_on_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, "junit", "ds.json", *JOB)
    assert code == 1
    assert cases(out) == {
        ("speccheck", "the run reaches a verdict"): ("passed", ""),
        ("ds.json", f"BATCH-001 {BATCH}"): (
            "failure",
            NO_MULTIPLE,
        ),
        ("ds.json", f"COMM-006 {NOT_SET}"): (
            "skipped",
            f"warning, below --fail-on: {NOT_DURING}",
        ),
        ("ds.json", f"CONF-002 {UNREAD_KEY}"): (
            "skipped",
            "warning, below --fail-on: größe is no key that deepspeed reads",
        ),
    }


def test_what_holds_is_a_passed_test_case(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "job.env").write_text(HOLDS)
    code, out = printed(capsys, "junit", "job.env", "--select", HELD_RULE)
    assert code == 0
    assert cases(out) == {
        ("speccheck", "the run reaches a verdict"): ("passed", ""),
        ("job.env", f"FT-003 {HELD_RULE}"): ("passed", ""),
    }


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("fail_on", ["error", "warning", "info"])
@pytest.mark.parametrize(
    "words",
    [
        ("ds.json", *JOB),
        ("ds.json", "--select", UNREAD_KEY),
        ("ds.json", "--select", NOT_SET),
        ("ds.json", "--select", "MEM-001"),
        ("ds.json", "--select", "FT", "--profile", "preflight"),
        ("ds.json", "gone.json", *JOB),
        ("empty",),
        ("job.env", "--select", HELD_RULE),
        ("ds.json", "--gpu", "Voodoo2"),
        (str(FAULTY_NODE),),
        (str(FAULTY_NODE), "--profile", "preflight"),
    ],
    ids=" ".join,
)
def test_it_is_red_exactly_where_the_exit_code_is_not_zero(
    words: tuple[str, ...],
    fail_on: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "empty").mkdir()
    (folder / "job.env").write_text(HOLDS)
    code, out = printed(capsys, "junit", *words, "--fail-on", fail_on)
    assert is_red(cases(out)) == (code != 0)


def test_files_that_could_not_be_read_are_errors(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.json").write_text('{"train_batch_size": ')
    (folder / "pets.yaml").write_text("cats: 2\n")
    words = ("ds.json", "broken.json", "pets.yaml", *JOB)
    found = cases(printed(capsys, "junit", *words)[1])
    of_run = {
        name: state for (suite, name), state in found.items() if suite == "speccheck"
    }
    assert {name: state for name, (state, _) in of_run.items()} == {
        "the run reaches a verdict": "error",
        "read broken.json": "error",
        "read pets.yaml": "error",
    }
    assert of_run["the run reaches a verdict"][1] == (
        "2 files could not be judged; 1 error, 2 warnings; "
        "1 of 1 required checks could run"
    )
    (folder / "broken.json").unlink()
    words = ("ds.json", "pets.yaml", *JOB, "--skip-unknown")
    found = cases(printed(capsys, "junit", *words)[1])
    assert ("speccheck", "read pets.yaml") not in found


def test_a_must_without_evidence_is_an_error_only_where_it_is_required(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "job.env").write_text(HOLDS)
    words = ("ds.json", "job.env", "--select", f"MEM-001,{HELD_RULE}", "--gpu", "H100")
    name = ("ds.json", "MEM-001 model_states_exceed_memory")
    code, out = printed(capsys, "junit", *words)
    assert code == 0
    state, message = cases(out)[name]
    assert state == "skipped"
    assert message.startswith("not run: needs ")
    code, out = printed(capsys, "junit", *words, "--profile", "preflight")
    assert code == 3
    assert cases(out)[name][0] == "error"


@pytest.mark.usefixtures("folder")
def test_what_is_waived_is_skipped_with_the_reason() -> None:
    found = waived(judged("ds.json"), BATCH, COMMENT)
    state, message = cases(told_in("junit", found))["ds.json", f"BATCH-001 {BATCH}"]
    assert state == "skipped"
    why = "read by our fork, until 2031-01-31, owner infra, ticket OPS-7"
    assert message == f"waived ({why}): {NO_MULTIPLE}"


@pytest.mark.usefixtures("folder")
def test_full_adds_what_does_not_apply() -> None:
    found = judged("ds.json", rules=("CONF",))
    some = cases(told_in("junit", found))
    every = cases(told_in("junit", found, full=True))
    added = {message for name, (_, message) in every.items() if name not in some}
    assert added
    assert all(message.startswith("does not apply: ") for message in added)
    assert {name: every[name] for name in some} == some


@pytest.mark.usefixtures("folder")
def test_a_rule_that_broke_is_an_error() -> None:
    def broken(item: LocatedFinding) -> LocatedFinding:
        finding = item.finding._replace(outcome="error", message="ValueError: no")
        return item._replace(finding=finding)

    found = with_findings(judged("ds.json", rules=(UNREAD_KEY,)), broken)
    assert cases(told_in("junit", found)) == {
        ("speccheck", "the run reaches a verdict"): (
            "error",
            "1 check hit a bug of speccheck; no required check applies",
        ),
        ("ds.json", f"CONF-002 {UNREAD_KEY}"): ("error", "ValueError: no"),
    }


def test_the_parts_of_a_machine_share_the_test_case_of_their_rule(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A GPU more or less makes no test case come or go."""
    found = cases(printed(capsys, "junit", str(FAULTY_NODE))[1])
    assert found[str(FAULTY_NODE), "HW-002 memory_fault_pending"] == (
        "failure",
        "GPU 3: a memory row waits to be remapped",
    )
    assert sum(state == "failure" for state, _ in found.values()) == 2
    assert sum(state == "passed" for state, _ in found.values()) > 80
    assert not list(folder.glob("*.xml"))


def test_plans_of_one_name_have_suites_of_their_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "two.yaml").write_text(
        "output_dir: a\nper_device_train_batch_size: 4\nbf16: true\n---\n"
        "output_dir: b\nper_device_train_batch_size: 4\nbf16: true\n"
    )
    (folder / "two_yaml").mkdir()
    (folder / "two_yaml" / "ds.json").write_text(DEEPSPEED, "utf-8")
    cases(printed(capsys, "junit", "two.yaml", "two_yaml")[1])


@pytest.mark.usefixtures("folder")
def test_characters_that_xml_forbids_do_not_reach_it() -> None:
    hostile = "\x00\x08\x1b]0;x\x07 \ud800 \ufffe <b a='\"'>&]]> \r\nnext"

    def changed(item: LocatedFinding) -> LocatedFinding:
        return item._replace(finding=item.finding._replace(message=hostile))

    found = with_findings(judged("ds.json", rules=(BATCH,)), changed)
    text = told_in("junit", found).encode().decode()
    _, message = cases(text)["ds.json", f"BATCH-001 {BATCH}"]
    assert message == (
        r"\x00\x08\x1b]0;x\x07 \xd800 \xfffe <b a='" + '"' + r"'>&]]> \x0d\x0anext"
    )


@pytest.mark.usefixtures("folder")
def test_the_same_input_gives_the_same_bytes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("ds.json", *JOB)
    assert printed(capsys, "junit", *words) == printed(capsys, "junit", *words)
