"""What machines that do not exist leave behind: an evidence kit, or lines of results.

A kit is a folder with all that a certificate rests on. A line is what the pre-flight of
a node would have said.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from speccheck.validator.cli.command_line import UsageError
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.node.node import read_launch
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.fleet.node_judge import NodeJudge
from speccheck.validator.fleet.shared_values import result_facts
from speccheck.validator.node.result import (
    COUNTED,
    JudgedBy,
    ResultFinding,
    result_line,
)
from speccheck.validator.node.result import SCHEMA as RESULT_SCHEMA
from speccheck.validator.report.node_outcome import NodeOutcome, Situation
from speccheck.validator.report.write import write_bytes
from speccheck.validator.rule import by_clause
from speccheck.validator.run.judging import RunState
from speccheck.validator.simulation.fleet import BY, SimulatedFleet
from speccheck.validator.simulation.fleet_files import MANIFEST, SCHEMA
from speccheck.validator.simulation.kit.builder import (
    Ordered,
    SimulatedKitError,
    kit_files,
    manifest,
    texts,
)
from speccheck.validator.simulation.kit.corruption import SPOILS, Spoil
from speccheck.validator.simulation.planting import Planting
from speccheck.validator.sources.documents.document import ReadError

_MOST_MANIFEST = 10_000_000


class KitOrder(Record):
    """What is to be written where; spoils: names of what is wrong with it."""

    fleet: SimulatedFleet
    planting: Planting
    out: str
    spoils: tuple[str, ...] = ()


def write_kit(order: KitOrder) -> int:
    """Write all files of a kit; returns how many.

    Raises UsageError for a kit that cannot be made, or a place where it may not be
    written, and WriteError.
    """
    ordered = Ordered(order.fleet, order.planting)
    spoiled = {name: _spoil(name).text for name in order.spoils}
    try:
        files = kit_files(ordered)
        for name in order.spoils:
            SPOILS[name].change(files)
    except SimulatedKitError as error:
        raise UsageError(str(error)) from error
    except (LookupError, TypeError) as error:
        result = ", ".join(order.spoils)
        message = f"--spoil {result}: such a kit cannot have it: {error}"
        raise UsageError(message) from error
    written = texts(files)
    _empty(order.out)
    # It comes first: who is interrupted may write to this folder again.
    text = manifest(ordered, written, spoiled)
    write_bytes(text.encode(), os.path.join(order.out, MANIFEST))
    for path, content in written.items():
        whole = os.path.join(order.out, *path.split("/"))
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        write_bytes(content.encode(), whole)
    return len(written) + 1


def _spoil(name: str) -> Spoil:
    if name not in SPOILS:
        close = nearest(name, SPOILS)
        hint = f"did you mean {close}?" if close else f"known are {', '.join(SPOILS)}"
        message = f"--spoil {name}: no such spoil: {hint}"
        raise UsageError(message)
    return SPOILS[name]


def _empty(folder: str) -> None:
    """Make a folder, or take away what simulate wrote there, and nothing else."""
    try:
        os.makedirs(folder, exist_ok=True)
        result = sorted(_files(folder))
    except OSError as error:
        message = f"--out {folder}: {error.strerror}"
        raise UsageError(message) from error
    ours = _written_before(folder)
    others = [path for path in result if path not in ours]
    if others:
        message = (
            f"--out {folder}: has files that simulate did not write, such as "
            f"{others[0]}; name a folder that is new or empty"
        )
        raise UsageError(message)
    for path in result:
        os.unlink(os.path.join(folder, path))


def _files(folder: str) -> list[str]:
    return [
        os.path.relpath(os.path.join(where, name), folder)
        for where, _, names in os.walk(folder)
        for name in names
    ]


def _written_before(folder: str) -> set[str]:
    """Return the files that a manifest says were written with it, and itself."""
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, encoding="utf-8") as file:
            result = json.loads(file.read(_MOST_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return set()
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        return set()
    made_up = result.get("synthetic")
    is_ours = isinstance(made_up, dict) and made_up.get("by") == BY
    listed = result.get("kit")
    paths = listed if is_ours and isinstance(listed, list) else []
    names = {os.path.normpath(path) for path in paths if isinstance(path, str)}
    return {MANIFEST, *names} if paths else set()


_USE, _FAIL_ON = "preflight", "error"
_FAMILY = RESULT_SCHEMA.partition("/")[0]


class ResultTeller:
    """Judges snapshots as a pre-flight of the node would, and tells its line.

    Rules are asked again only about what differs from nodes before (NodeJudge).
    """

    def __init__(self) -> None:
        """Load the edition and its rules."""
        request = Request(arguments=(), use=_USE)
        self._verdict = NodeOutcome(_USE, _FAIL_ON)
        self._judge = NodeJudge(RunState(request).judges, self._word)
        edition = load_edition()
        self._edition = JudgedBy(edition.id, edition.sha256)

    def __call__(self, node: Mapping[str, Any]) -> str:
        """Return the line of a node, without its end."""
        launch = read_launch(node["launch"])
        situation = Situation(launch, launch.node or "", node["taken"])
        result = situation.result("usage", node["seconds"], "")._replace(
            edition=self._edition, synthetic=node["synthetic"]
        )
        version = node["schema"].partition("/")[2]
        try:
            judged = self._judge(node)
        except ReadError:  # a later version, which a later program has judged
            line = result_line(result._replace(verdict="go")).rstrip()
            return line.replace(RESULT_SCHEMA, f"{_FAMILY}/{version}", 1)
        verdict, _, counts = judged.verdict.partition(" ")
        findings = tuple(_failed(judged.findings))
        node_result = result._replace(
            verdict=verdict,
            reason="",
            counts=json.loads(counts),
            findings=findings,
            missing=tuple(_missing(judged.findings)),
            facts=result_facts(node),
        )
        return result_line(node_result).rstrip()

    def _word(self, findings: Sequence[Finding]) -> str:
        """Return the verdict with the counts of clauses, which stay where it stays."""
        counts = Counter(
            clause_outcome.outcome for clause_outcome in by_clause(findings)
        )
        rows = {name: counts[name] for name in COUNTED}
        return f"{self._verdict(findings)} {json.dumps(rows)}"


def _failed(findings: Iterable[Finding]) -> Iterable[ResultFinding]:
    for finding in findings:
        if finding.outcome in {"fail", "error"}:
            yield ResultFinding(
                finding.clause,
                finding.rule,
                finding.level,
                finding.subject,
                finding.message,
                finding.action,
            )


def _missing(findings: Iterable[Finding]) -> list[str]:
    """Return what musts lack that could not be judged; the most wanted first."""
    result = Counter(
        leaf
        for finding in findings
        if finding.outcome == "unknown" and finding.clause_level == "must"
        for leaf in finding.missing
    )
    return [leaf for leaf, _ in result.most_common()]
