"""The result of one node in one line: `speccheck-node-result/1`.

A line is a JSON object of at most 4,096 bytes with its end. That is PIPE_BUF of Linux:
a pipe takes so much in one piece, so that the lines of many processes that write to one
pipe do not mix (pipe(7)). What does not fit is omitted, and how much is counted. It is
ASCII: no terminal escape of a hostile name is in it.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from speccheck.validator import VERSION
from speccheck.validator.evidence.node.node import ENGINES, MOST_NUMBER, NAME
from speccheck.validator.evidence.record import Record

SCHEMA = "speccheck-node-result/1"
MOST_BYTES = 4096
CODES = {"go": 0, "no-go": 1, "usage": 2, "inconclusive": 3, "bug": 4}
VERDICTS = {code: verdict for verdict, code in CODES.items()}
COUNTED = ("pass", "fail", "unknown", "not_applicable", "waived", "error")
LEVELS = ("error", "warning", "info")
MADE_UP = ("by", "seed", "profile", "day")  # of what is synthetic
Scalar = str | int | float | bool
# Bytes that a text may take in the line, quoted.
_MOST = {
    "node": 260,
    "engine": 20,
    "job": 150,
    "node_list": 400,
    "taken": 40,
    "reason": 300,
    "path": 500,
    "message": 240,
    "subject": 60,
    "rule": 80,
    "clause": 30,
    "action": 20,
    "leaf": 80,
    "value": 120,
    "short message": 110,
}
_MOST_MISSING = 8
_DIGEST_DIGITS = 12


class ResultFinding(Record):
    """One requirement that failed."""

    clause: str
    rule: str
    level: str
    subject: str
    message: str
    action: str | None = None


class KeptSnapshot(Record):
    """The snapshot that was judged, where it was kept."""

    path: str
    sha256: str


class JudgedBy(Record):
    """An edition or a program; tailored: numbers of it that are not its own."""

    name: str
    of: str  # the hash of an edition, the version of a program
    tailored: int = 0


class NodeResult(Record):
    """The result of one node.

    reason: why it ended so, in a line. counts: of clauses. missing: evidence without
    which musts could not be judged. facts: what should be the same on all nodes.
    synthetic: what made it up, where there is no such node; empty for a real one. The
    numbers of what the line omits are those of findings and facts.
    """

    node: str
    verdict: str
    engine: str = "none"
    job: str | None = None
    rank: int | None = None
    ranks: int | None = None
    nodes: int | None = None
    node_list: str | None = None
    attempt: int | None = None
    taken: str = ""
    seconds: float = 0.0
    tier: int = 0
    reason: str = ""
    counts: Mapping[str, int] = MappingProxyType({})
    findings: tuple[ResultFinding, ...] = ()
    findings_left_out: int = 0
    missing: tuple[str, ...] = ()
    facts: Mapping[str, Scalar] = MappingProxyType({})
    facts_left_out: int = 0
    snapshot: KeptSnapshot | None = None
    edition: JudgedBy | None = None
    tool: JudgedBy = JudgedBy("speccheck", VERSION)
    synthetic: Mapping[str, Scalar] = MappingProxyType({})

    @property
    def exit_code(self) -> int:
        """The code of the verdict."""
        return CODES[self.verdict]


def result_line(result: NodeResult) -> str:
    """Return the line, with its end.

    What does not fit into it is omitted and counted.
    """
    head = _head(result)
    room = MOST_BYTES - len(_text({**head, **_rest(result, [], {})})) - 1
    facts = {
        _cut(leaf, _MOST["leaf"]): _fact(value) for leaf, value in result.facts.items()
    }
    of_facts = sum(len(_text({leaf: value})) for leaf, value in facts.items())
    ordered = in_order(result.findings)
    findings, used = _fitting(ordered, max(room // 2, room - of_facts))
    kept: dict[str, Scalar] = {}
    for leaf, value in facts.items():
        used += len(_text({leaf: value}))
        if used > room:
            break
        kept[leaf] = value
    return _text({**head, **_rest(result, findings, kept)}) + "\n"


def in_order(findings: Sequence[ResultFinding]) -> list[ResultFinding]:
    """Return errors first; of each level one of each rule before the others of it."""
    seen: set[tuple[str, str]] = set()
    ranked: list[tuple[int, bool, int]] = []
    for number, finding in enumerate(findings):
        name = finding.clause, finding.rule
        level = LEVELS.index(finding.level) if finding.level in LEVELS else len(LEVELS)
        ranked.append((level, name in seen, number))
        seen.add(name)
    return [findings[number] for _, _, number in sorted(ranked)]


def _fitting(
    ordered: Sequence[ResultFinding], room: int
) -> tuple[list[dict[str, object]], int]:
    """Return as many of the first as there is room for, and what they take.

    Messages are cut shorter before findings are omitted.
    """
    result: list[dict[str, object]] = []
    used = 0
    for message in (_MOST["message"], _MOST["short message"]):
        result, used = [], 0
        for result_finding in ordered:
            content = _finding(result_finding, message)
            size = len(_text(content)) + 1
            if used + size > room:
                break
            result.append(content)
            used += size
        if len(result) == len(ordered):
            break
    return result, used


def _head(result: NodeResult) -> dict[str, object]:
    """Return all that every line holds, cut to its limits."""
    edition, snapshot = result.edition, result.snapshot
    launch = {
        "job": result.job and _cut(result.job, _MOST["job"]),
        "rank": result.rank,
        "ranks": result.ranks,
        "nodes": result.nodes,
        "node_list": _whole(result.node_list, _MOST["node_list"]),
        "attempt": result.attempt,
    }
    return {
        "schema": SCHEMA,
        "node": _cut(result.node, _MOST["node"]),
        "engine": _cut(result.engine, _MOST["engine"]),
        **{name: value for name, value in launch.items() if value is not None},
        "taken": _cut(result.taken, _MOST["taken"]),
        "seconds": round(float(result.seconds), 3),
        "tier": result.tier,
        "verdict": result.verdict,
        "exit_code": result.exit_code,
        "reason": _cut(result.reason, _MOST["reason"]),
        "counts": {name: int(result.counts.get(name, 0)) for name in COUNTED},
        "missing": [
            _cut(text, _MOST["leaf"]) for text in result.missing[:_MOST_MISSING]
        ],
        "snapshot": snapshot and _kept(snapshot),
        "edition": edition and _edition(edition),
        "tool": {"name": result.tool.name, "version": _cut(result.tool.of, 40)},
        **({"synthetic": _made_up(result.synthetic)} if result.synthetic else {}),
    }


def _edition(edition: JudgedBy) -> dict[str, object]:
    result: dict[str, object] = {
        "version": _cut(edition.name, 40),
        "sha256": _cut(edition.of, 80),
    }
    return {**result, "tailored": edition.tailored} if edition.tailored else result


def _made_up(synthetic: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {
        name: _cut(value, _MOST["value"]) if isinstance(value, str) else value
        for name, value in synthetic.items()
        if name in MADE_UP
    }


def _kept(snapshot: KeptSnapshot) -> dict[str, str]:
    """Give the name of the file in place of a path that is too long."""
    path = _whole(snapshot.path, _MOST["path"])
    path = path or _cut(snapshot.path.rpartition("/")[2], _MOST["path"])
    return {"path": path, "sha256": snapshot.sha256}


def _rest(
    result: NodeResult, findings: list[dict[str, object]], facts: dict[str, Scalar]
) -> dict[str, object]:
    left_out = len(result.findings) - len(findings) + result.findings_left_out
    facts_left_out = len(result.facts) - len(facts) + result.facts_left_out
    return {
        "findings": findings,
        "findings_left_out": left_out,
        "facts": facts,
        **({"facts_left_out": facts_left_out} if facts_left_out else {}),
    }


def _finding(result_finding: ResultFinding, most: int) -> dict[str, object]:
    return {
        "clause": _cut(result_finding.clause, _MOST["clause"]),
        "rule": _cut(result_finding.rule, _MOST["rule"]),
        "level": result_finding.level if result_finding.level in LEVELS else LEVELS[0],
        "subject": _cut(result_finding.subject, _MOST["subject"]),
        "message": _cut(result_finding.message, most),
        "action": result_finding.action
        and _cut(result_finding.action, _MOST["action"]),
    }


def _fact(value: Scalar) -> Scalar:
    """Replace a value that is too long by its digest, which tells it from others."""
    if not isinstance(value, str):
        return value
    short = _whole(value, _MOST["value"])
    if short is not None:
        return short
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_cut(value, _MOST['value'] - 30)} sha256:{digest[:_DIGEST_DIGITS]}"


def _whole(text: str | None, most: int) -> str | None:
    """Return the text as it is shown, or None where it would not be whole."""
    if text is None:
        return None
    shown = shown_text(text)
    return shown if _size(shown) <= most else None


def _cut(text: str, most: int) -> str:
    """Return as much of a text as takes at most so many bytes in the line."""
    shown = shown_text(text[:most])
    if len(shown) == len(text) and _size(shown) <= most:
        return shown
    while shown and _size(shown) > most - 3:
        shown = shown[: min(len(shown) - 1, most)]
    return f"{shown}..."


def shown_text(text: str) -> str:
    """Return the text without control characters and halves of characters."""
    if text.isprintable():
        return text
    return "".join(item if item.isprintable() else "?" for item in text)


def _size(text: str) -> int:
    return len(_text(text))


def _text(content: object) -> str:
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


_FAMILY, _, _VERSION = SCHEMA.partition("/")
_MOST_SHOWN = 60
_MOST_SECONDS = 1e9


class ResultLineError(ValueError):
    """A line that is no result of a node; the message says why."""


def read_result(line: str) -> NodeResult:
    """Return the result that a line holds; raises ResultLineError."""
    size = len(line) if line.isascii() else len(line.encode("utf-8", "replace"))
    if size > MOST_BYTES:
        _refuse(f"{size:,} bytes, more than the {MOST_BYTES:,} of a result line")
    try:
        data = json.loads(line, parse_constant=_no_number)
    except RecursionError:
        _refuse("no JSON: too deeply nested")
    except ValueError as error:
        is_cut = line.lstrip().startswith("{") and not line.rstrip().endswith("}")
        _refuse("no JSON: " + ("it breaks off" if is_cut else _said(str(error))))
    if not isinstance(data, dict):
        _refuse("no result of a node: must be a JSON object")
    _verify_schema(data.get("schema"))
    return _Reading(data).result()


def is_result(data: object) -> bool:
    """Return whether an object says that it is one, of any version."""
    text = data.get("schema") if isinstance(data, dict) else None
    return isinstance(text, str) and text.startswith(f"{_FAMILY}/")


def _verify_schema(result: object) -> None:
    family, _, version = (
        result.partition("/") if isinstance(result, str) else ("", "", "")
    )
    if family != _FAMILY or not version.isdecimal():
        _refuse(f"no result of a node: schema is {_said(str(result))}, not {SCHEMA}")
    if version != _VERSION:
        _refuse(
            f"a result of version {_said(version)}; this speccheck reads {_VERSION}"
        )


class _Reading:
    """One object, read field by field."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def result(self) -> NodeResult:
        verdict = self.one_of("verdict", CODES)
        if self.data.get("exit_code") != CODES[verdict]:
            _refuse(f"exit_code must be {CODES[verdict]} for the verdict {verdict}")
        edition, snapshot = self.nested("edition"), self.nested("snapshot")
        tool = self.nested("tool") or _Reading({})
        return NodeResult(
            node=self.node(),
            verdict=verdict,
            engine=self.one_of("engine", ENGINES),
            job=self.text("job") if "job" in self.data else None,
            rank=self.count("rank"),
            ranks=self.count("ranks"),
            nodes=self.count("nodes"),
            node_list=self.text("node_list") if "node_list" in self.data else None,
            attempt=self.count("attempt"),
            taken=self.text("taken"),
            seconds=self.seconds(),
            tier=self.count("tier") or 0,
            reason=self.text("reason", ""),
            counts=self.counts(),
            findings=tuple(map(_read_finding, self.listed("findings"))),
            findings_left_out=self.count("findings_left_out") or 0,
            missing=tuple(shown_text(str(item)) for item in self.listed("missing")),
            facts=self.facts(),
            facts_left_out=self.count("facts_left_out") or 0,
            snapshot=KeptSnapshot(snapshot.text("path"), snapshot.text("sha256"))
            if snapshot
            else None,
            edition=edition.edition() if edition else None,
            tool=JudgedBy(tool.text("name", "speccheck"), tool.text("version", "")),
            synthetic=self.synthetic(),
        )

    def edition(self) -> JudgedBy:
        """Return the edition, and how many numbers are not its own."""
        tailored = self.count("tailored") or 0
        return JudgedBy(self.text("version"), self.text("sha256"), tailored)

    def node(self) -> str:
        """Return the name: it ends up in commands that drain nodes."""
        result = self.text("node")
        if not NAME.fullmatch(result):
            _refuse(f"node must be the name of a host, not {_said(result)}")
        return result

    def text(self, name: str, default: str | None = None) -> str:
        text = self.data.get(name, default)
        if not isinstance(text, str) or (not text and default is None):
            _refuse(f"{name} must be a text")
        return shown_text(text)

    def one_of(self, name: str, known: Iterable[str]) -> str:
        result = self.data.get(name)
        if result not in [*known]:
            _refuse(f"{name} must be one of {', '.join(known)}")
        return str(result)

    def count(self, name: str) -> int | None:
        result = self.data.get(name)
        if result is not None and (
            type(result) is not int or not 0 <= result <= MOST_NUMBER
        ):
            _refuse(f"{name} must be a whole number from 0")
        return result

    def seconds(self) -> float:
        result = self.data.get("seconds", 0.0)
        if type(result) not in (int, float) or not 0 <= result < _MOST_SECONDS:
            _refuse("seconds must be a number from 0")
        return float(result)

    def counts(self) -> dict[str, int]:
        counts = self.nested("counts") or _Reading({})
        return {name: counts.count(name) or 0 for name in COUNTED}

    def facts(self) -> dict[str, Scalar]:
        facts = self.nested("facts")
        result = facts.data if facts else {}
        for leaf, value in result.items():
            if not isinstance(value, str | int | float):
                _refuse(
                    f"facts: {_said(leaf)} must be a text, a number or true or false"
                )
        return {
            shown_text(leaf): shown_text(value) if isinstance(value, str) else value
            for leaf, value in result.items()
        }

    def synthetic(self) -> dict[str, Scalar]:
        """Return what the line says of having been made up."""
        outcome = self.data.get("synthetic")
        if outcome is None or outcome is False:
            return {}
        result = outcome if isinstance(outcome, dict) else {}
        texts = {
            name: shown_text(value) if isinstance(value, str) else value
            for name, value in result.items()
            if name in MADE_UP and isinstance(value, str | int)
        }
        return {"by": "unnamed", **texts}

    def nested(self, name: str) -> "_Reading | None":
        result = self.data.get(name)
        if result is None:
            return None
        if not isinstance(result, dict):
            _refuse(f"{name} must be an object")
        return _Reading(result)

    def listed(self, name: str) -> list[Any]:
        result = self.data.get(name, [])
        if not isinstance(result, list):
            _refuse(f"{name} must be a list")
        return result


def _read_finding(data: object) -> ResultFinding:
    if not isinstance(data, dict):
        _refuse("findings must be objects")
    reading = _Reading(data)
    action = data.get("action")
    return ResultFinding(
        reading.text("clause"),
        reading.text("rule", ""),
        reading.one_of("level", LEVELS),
        reading.text("subject", ""),
        reading.text("message", ""),
        None if action is None else reading.text("action"),
    )


def _no_number(text: str) -> NoReturn:
    message = f"{text} is no number of JSON"
    raise ValueError(message)


def _said(text: str) -> str:
    short = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
    return shown_text(short)


def _refuse(problem: str) -> NoReturn:
    raise ResultLineError(problem)
