"""Ask the frameworks' own validators whether they agree, and write docs/oracles.md.

    make oracles                                             relations alone
    make oracles ORACLE_ARGUMENTS='--files FOLDER'           published files as well
    make oracles ORACLE_ARGUMENTS='--only litgpt --print'    a quick look

FOLDER has a folder of files for each format (accelerate/, axolotl/, ...). An oracle
whose environment cannot be built is passed over, and the page says so. Answers are kept
in build/oracles/answers: a case is asked again where its driver or packages change.

Exit code: 0, also where sides disagree: the page is to be read.
"""

import argparse
import ast
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from constraints_page import constraints
from oracles.asking import Answer, Case, NoOracle, kept_answers
from oracles.edited import (
    TextResult,
    edits,
    published,
    text_cases,
    text_results,
)
from oracles.environments import FOLDER, NotBuilt, python_of
from oracles.examples import example_cases, example_results, examples
from oracles.ledger import draws, ledger_lines
from oracles.page import OracleReport, page
from oracles.registry import HERE, ROOT, Oracle, Registry, registry

PAGE = ROOT / "docs" / "oracles.md"
ARGUED = HERE / "argued.yaml"
_SHARED = ("serving", "machine", "tiny")  # modules of drivers


def main() -> int:
    """Ask, and write the page."""
    parser = argparse.ArgumentParser(description="Ask the frameworks themselves.")
    parser.add_argument("--files", type=Path, help="folder of published files")
    parser.add_argument("--only", nargs="+", default=(), help="names of oracles")
    parser.add_argument("--each", type=int, default=6, help="edits of a file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="of a case")
    parser.add_argument("--print", action="store_true", help="instead of writing")
    options = parser.parse_args()
    known = registry()
    reports = [
        report_of(oracle, known, options)
        for oracle in known.oracles
        if not options.only or oracle.name in options.only
    ]
    argued = yaml.safe_load(ARGUED.read_text(encoding="utf-8")) or {}
    results = [row for report in reports for row in report.examples]
    ledger = ledger_lines(constraints(), results, draws())
    text = page(reports, argued) + "\n" + "\n".join(ledger) + "\n"
    if options.print or options.only:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
    return 0


def report_of(
    oracle: Oracle, known: Registry, options: argparse.Namespace
) -> OracleReport:
    """Ask one oracle about all; one that does not start is passed over."""
    asks = _first_line(oracle.driver)
    try:
        python = python_of(oracle.environment, known)
        return _report(oracle, str(python), known, options)._replace(asks=asks)
    except (NotBuilt, NoOracle) as reason:
        print(f"oracles: {oracle.name} is passed over: {reason}", file=sys.stderr)
        return OracleReport(oracle.name, oracle.release, asks, skipped=str(reason))


def _question(oracle: Oracle, known: Registry) -> str:
    """Return all that an answer depends on beside the case."""
    environment = known.environments[oracle.environment]
    names = (oracle.environment, *environment.base)
    files = [known.environments[name].requirements for name in names]
    text = oracle.driver.read_text(encoding="utf-8")
    used = [name for name in _SHARED if name in text]
    files += [oracle.driver, *(oracle.driver.with_name(f"{name}.py") for name in used)]
    return "".join(file.read_text(encoding="utf-8") for file in files)


def _report(
    oracle: Oracle, python: str, known: Registry, options: argparse.Namespace
) -> OracleReport:
    command = (python, "-P", "-m", f"oracles.drivers.{oracle.driver.stem}")
    seconds = options.seconds
    rows = examples(oracle)
    plain = published(options.files / oracle.format) if options.files else []
    base = Case("base", {}, oracle.base)
    cases = (*example_cases(rows), *text_cases(plain))
    with_files = [
        case._replace(beside={**oracle.files, **case.beside}) for case in (base, *cases)
    ]

    def answers_of(cases: Sequence[Case]) -> list[Answer]:
        kept = FOLDER / "answers" / f"{oracle.name}.jsonl"
        return kept_answers(command, cases, seconds, kept, _question(oracle, known))

    first, *given = answers_of(with_files)
    if not first.accepted:
        message = f"it does not accept its base configuration: {first.message}"
        raise NoOracle(message)
    own, rest = given[: len(given) - len(plain)], given[len(given) - len(plain) :]
    as_is = [*text_results(oracle, plain, rest, {})]
    before = {each.text.file: each.errors for each in as_is}
    sound = [each.text for each in as_is if each.answer.accepted]
    changed = [
        edit for text in sound for edit in edits(text, options.each, options.seed)
    ]
    print(
        f"oracles: {oracle.name}: {len(rows)} relations, {len(sound)} of {len(plain)} "
        f"files, {len(changed)} edits",
        file=sys.stderr,
    )
    edited: Sequence[TextResult] = ()
    if changed:
        said = answers_of([*text_cases(changed)])
        edited = [*text_results(oracle, changed, said, before)]
    return OracleReport(
        oracle.name,
        oracle.release,
        "",
        [*example_results(oracle, rows, own)],
        as_is,
        edited,
    )


def _first_line(driver: Path) -> str:
    text = ast.get_docstring(ast.parse(driver.read_text(encoding="utf-8"))) or ""
    line = text.partition("\n")[0].partition(": ")[2]
    return line.rstrip(".")


if __name__ == "__main__":
    sys.exit(main())
