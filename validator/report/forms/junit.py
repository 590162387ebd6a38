"""JUnit XML: a suite a plan, a test case a rule, also for what holds.

There is no standard: this is the part that GitLab, Jenkins and the rest read alike. A
test case is a rule on a plan, and neither a clause nor a finding: a rule is what turns
green once it is mended, its name does not change with what it finds, and both readers
keep test cases apart by suite, class and name, so that findings of one rule would hide
each other. All that a rule finds on a plan stands in its one test case.

Who reads JUnit knows only red and green, so red is what ends the run:

    failure  a failure at or above --fail-on
    error    a rule that broke; a must without the evidence that the use requires; a
             file that could not be read; a run without a verdict
    skipped  a failure below --fail-on; what is waived; what could not be judged and
             need not be; with --full also what does not apply

Some test case is red exactly where the exit code is not 0, but for `--fail-on never`,
under which errors stay red. No times and no host: the same input gives the same bytes.
"""

from collections.abc import Iterable, Iterator
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.paths import project_root
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.edition_names import edition_names, edition_remarks
from speccheck.validator.report.problems import (
    MOST_PLACES,
    ORDER,
    advice,
    clean,
    place_name,
    unread_files,
    waiver_text,
)
from speccheck.validator.report.style import Style
from speccheck.validator.report.summary import is_unwritten
from speccheck.validator.run.identity import seen_from
from speccheck.validator.run.judging import JudgedPlan

_TOOL = "speccheck"
_VERDICT = "the run reaches a verdict"
_WITH_VERDICT = (0, 1)
State = Literal["failure", "error", "skipped", "passed"]
_STATES: tuple[State, ...] = ("error", "failure", "skipped", "passed")


class TestCase(Record):
    """One test case. kind: what sort of failure; text: all that is to be said."""

    name: str
    state: State = "passed"
    message: str = ""
    kind: str = ""
    text: tuple[str, ...] = ()
    file: str = ""
    line: int = 0


class TestSuite(Record):
    """Test cases of one plan, or of the run itself."""

    name: str
    class_name: str
    cases: tuple[TestCase, ...]
    properties: tuple[tuple[str, str], ...] = ()

    def count(self, state: State) -> int:
        """Return how many ended that way."""
        return sum(case.state == state for case in self.cases)


class _Part(Record):
    """What one finding makes of the test case of its rule."""

    state: State
    kind: str
    located: LocatedFinding


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """Yield the whole document, a test case a line."""
    root = project_root()
    names: dict[str, int] = {}
    suites = [_of_run(context)]
    suites += [_of_plan(plan, context, root, names) for plan in context.run.plans]
    yield from _document(suites)


def failure_report(message: str, code: int) -> str:
    """Return the document of a run that could not begin: one error."""
    text = (clean(message), f"exit code {code}")
    case = TestCase(_VERDICT, "error", clean(message), "no verdict", text)
    return "".join(_document([TestSuite(_TOOL, _TOOL, (case,))]))


def _of_run(context: ReportContext) -> TestSuite:
    """Return whether there is a verdict, and each file that stands in its way."""
    ending = context.ending
    verdict = TestCase(_VERDICT)
    if ending.code not in _WITH_VERDICT:
        text = (clean(ending.reason), f"exit code {ending.code}")
        verdict = TestCase(_VERDICT, "error", clean(ending.reason), "no verdict", text)
    cases = [verdict]
    for file in unread_files(context):
        name = clean(f"read {file.path}")
        message = clean(file.message)
        cases.append(TestCase(name, "error", message, file.state, (message,)))
    name = f"{_TOOL}.{context.run.use}"
    return TestSuite(_TOOL, name, tuple(cases), tuple(_properties(context)))


def _properties(context: ReportContext) -> Iterator[tuple[str, str]]:
    """Yield the verdict, and what is not the edition's: own numbers, a second one."""
    yield "verdict", clean(context.ending.reason)
    yield "exit code", str(context.ending.code)
    required = context.summary.required_clauses
    for name, number in required._asdict().items():
        yield f"required checks {name}", str(number)
    lines = edition_remarks(context.run, full=True)
    if lines:
        yield "edition", clean(", ".join(edition_names(context.run)))
        yield "tailoring", clean("; ".join(lines))


def _of_plan(
    plan: JudgedPlan, context: ReportContext, root: str, names: dict[str, int]
) -> TestSuite:
    path = clean(seen_from(plan.files[0].path, root))
    names[path] = names.get(path, 0) + 1
    number = f" #{names[path]}" if names[path] > 1 else ""
    # Jenkins takes what stands before the last dot of a class for its package.
    class_name = f"{_TOOL}.{context.run.use}.{path.replace('.', '_')}{number}"
    parts: dict[str, list[_Part]] = {}
    for located in plan.findings:
        part = _part(located, context)
        if part is not None:
            parts.setdefault(_name(located.finding), []).append(part)
    cases = [_case(name, part, plan, root) for name, part in parts.items()]
    return TestSuite(f"{path}{number}", class_name, tuple(cases))


def _name(finding: Finding) -> str:
    if finding.rule:
        return clean(f"{finding.clause} {finding.rule}")
    return clean(f"{finding.clause} {finding.title}")


def _part(located: LocatedFinding, context: ReportContext) -> _Part | None:
    """Return what a finding says to its test case; None for nothing."""
    finding = located.finding
    if finding.outcome == "fail":
        return _Part(*_failed(finding, context.fail_on), located)
    if finding.outcome == "unknown":
        is_wanted = _is_wanted(finding, context.run.use)
        return _Part("error" if is_wanted else "skipped", "not run", located)
    if finding.is_loosened:
        return _Part("skipped", "loosened", located)
    if finding.outcome == "not_applicable":
        return _Part("skipped", "does not apply", located) if context.full else None
    if finding.outcome == "error":
        return _Part("error", "broken rule", located)
    return _Part("passed", "", located)


def _failed(finding: Finding, fail_on: str) -> tuple[State, str]:
    if finding.waiver:
        return "skipped", "waived"
    if ORDER[finding.level] > ORDER.get(fail_on, ORDER["error"]):
        return "skipped", f"{finding.level}, below --fail-on"
    return "failure", finding.level


def _is_wanted(finding: Finding, use: str) -> bool:
    """Return whether the run cannot end well without the evidence for it."""
    if use == "ci" or finding.clause_level != "must":
        return False
    return use != "preflight" or not is_unwritten(finding)


def _case(name: str, parts: list[_Part], plan: JudgedPlan, root: str) -> TestCase:
    """Return a rule's gravest outcome, with all that is as grave or fails."""
    words = [part for part in parts if part.state != "passed"]
    if not words:
        return TestCase(name)
    words.sort(key=lambda part: _STATES.index(part.state))
    first = words[0]
    places = (at for part in words for at in part.located.locations if at.line)
    shown = next(places, None)
    file = shown.file if shown else plan.files[0].path
    return TestCase(
        name,
        first.state,
        _message(first),
        first.kind,
        tuple(line for part in words for line in _lines(part)),
        clean(seen_from(file, root)),
        shown.line if shown else 0,
    )


def _message(part: _Part) -> str:
    finding = part.located.finding
    text = finding.message or finding.title
    if finding.is_loosened:
        text = finding.note
    if finding.subject:
        text = f"{finding.subject}: {text}"
    if finding.waiver:
        return f"waived ({waiver_text(finding.waiver)}): {clean(text)}"
    return clean(f"{part.kind}: {text}" if part.state == "skipped" else text)


def _lines(part: _Part) -> Iterator[str]:
    finding = part.located.finding
    yield _message(part)
    if finding.outcome in {"fail", "error"}:
        where = ", ".join(map(place_name, part.located.locations[:MOST_PLACES]))
        if where:
            yield f"  at: {clean(where)}"
        yield from (f"  {line}" for line in advice(finding))


def _document(suites: Iterable[TestSuite]) -> Iterator[str]:
    suites = list(suites)
    counts = _counts(suites)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="{_TOOL}"{counts} time="0">\n'
    for suite in suites:
        yield f'<testsuite name={_quoted(suite.name)}{_counts([suite])} time="0">\n'
        if suite.properties:
            rows = (
                f"<property name={_quoted(name)} value={_quoted(text)}/>\n"
                for name, text in suite.properties
            )
            yield f"<properties>\n{''.join(rows)}</properties>\n"
        for case in suite.cases:
            yield _element(case, suite.class_name)
        yield "</testsuite>\n"
    yield "</testsuites>\n"


def _counts(suites: Iterable[TestSuite]) -> str:
    suites = list(suites)
    numbers = {
        "tests": sum(len(suite.cases) for suite in suites),
        "failures": sum(suite.count("failure") for suite in suites),
        "errors": sum(suite.count("error") for suite in suites),
        "skipped": sum(suite.count("skipped") for suite in suites),
    }
    return "".join(f' {name}="{number}"' for name, number in numbers.items())


def _element(case: TestCase, class_name: str) -> str:
    attributes = f"name={_quoted(case.name)} classname={_quoted(class_name)}"
    if case.file:
        attributes += f" file={_quoted(case.file)}"
    if case.line:
        attributes += f' line="{case.line}"'
    if case.state == "passed":
        return f'<testcase {attributes} time="0"/>\n'
    kind = f" type={_quoted(case.kind)}" if case.state != "skipped" else ""
    # GitLab shows the text, and only where there is one; Jenkins shows both.
    return (
        f'<testcase {attributes} time="0">'
        f"<{case.state} message={_quoted(case.message)}{kind}>"
        f"{escape(chr(10).join(case.text))}</{case.state}></testcase>\n"
    )


def _quoted(text: str) -> str:
    return quoteattr(text, {'"': "&quot;"})
