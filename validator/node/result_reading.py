"""Reads lines of `speccheck-node-result/1`, be they broken or hostile."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from speccheck.validator.evidence.node.launch import ENGINES, MOST_NUMBER, NAME
from speccheck.validator.node.result import (
    CODES,
    COUNTED,
    LEVELS,
    MADE_UP,
    MOST_BYTES,
    SCHEMA,
    JudgedBy,
    KeptSnapshot,
    NodeResult,
    ResultFinding,
    Scalar,
    shown_text,
)

_FAMILY, _, _VERSION = SCHEMA.partition("/")
_MOST_SHOWN = 60
_MOST_SECONDS = 1e9


class ResultLineError(ValueError):
    """A line that is no result of a node; the message says why."""


def read_result(line: str) -> NodeResult:
    """The result that a line holds; raises ResultLineError."""
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
    """Whether an object says that it is one, of any version."""
    told = data.get("schema") if isinstance(data, dict) else None
    return isinstance(told, str) and told.startswith(f"{_FAMILY}/")


def _verify_schema(told: object) -> None:
    family, _, version = told.partition("/") if isinstance(told, str) else ("", "", "")
    if family != _FAMILY or not version.isdecimal():
        _refuse(f"no result of a node: schema is {_said(str(told))}, not {SCHEMA}")
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
            missing=tuple(shown_text(str(one)) for one in self.listed("missing")),
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
        """The edition that was judged by, and how many numbers are not its own."""
        tailored = self.count("tailored") or 0
        return JudgedBy(self.text("version"), self.text("sha256"), tailored)

    def node(self) -> str:
        """The name: it ends up in commands that drain nodes."""
        found = self.text("node")
        if not NAME.fullmatch(found):
            _refuse(f"node must be the name of a host, not {_said(found)}")
        return found

    def text(self, name: str, default: str | None = None) -> str:
        found = self.data.get(name, default)
        if not isinstance(found, str) or (not found and default is None):
            _refuse(f"{name} must be a text")
        return shown_text(found)

    def one_of(self, name: str, known: Iterable[str]) -> str:
        found = self.data.get(name)
        if found not in [*known]:
            _refuse(f"{name} must be one of {', '.join(known)}")
        return str(found)

    def count(self, name: str) -> int | None:
        found = self.data.get(name)
        if found is not None and (
            type(found) is not int or not 0 <= found <= MOST_NUMBER
        ):
            _refuse(f"{name} must be a whole number from 0")
        return found

    def seconds(self) -> float:
        found = self.data.get("seconds", 0.0)
        if type(found) not in (int, float) or not 0 <= found < _MOST_SECONDS:
            _refuse("seconds must be a number from 0")
        return float(found)

    def counts(self) -> dict[str, int]:
        counts = self.nested("counts") or _Reading({})
        return {name: counts.count(name) or 0 for name in COUNTED}

    def facts(self) -> dict[str, Scalar]:
        facts = self.nested("facts")
        found = facts.data if facts else {}
        for leaf, value in found.items():
            if not isinstance(value, str | int | float):
                _refuse(
                    f"facts: {_said(leaf)} must be a text, a number or true or false"
                )
        return {
            shown_text(leaf): shown_text(value) if isinstance(value, str) else value
            for leaf, value in found.items()
        }

    def synthetic(self) -> dict[str, Scalar]:
        """What it says of having been made up: whatever that is, it counts."""
        told = self.data.get("synthetic")
        if told is None or told is False:
            return {}
        found = told if isinstance(told, dict) else {}
        texts = {
            name: shown_text(value) if isinstance(value, str) else value
            for name, value in found.items()
            if name in MADE_UP and isinstance(value, str | int)
        }
        return {"by": "unnamed", **texts}

    def nested(self, name: str) -> "_Reading | None":
        found = self.data.get(name)
        if found is None:
            return None
        if not isinstance(found, dict):
            _refuse(f"{name} must be an object")
        return _Reading(found)

    def listed(self, name: str) -> list[Any]:
        found = self.data.get(name, [])
        if not isinstance(found, list):
            _refuse(f"{name} must be a list")
        return found


def _read_finding(data: object) -> ResultFinding:
    if not isinstance(data, dict):
        _refuse("findings must be objects")
    one = _Reading(data)
    action = data.get("action")
    return ResultFinding(
        one.text("clause"),
        one.text("rule", ""),
        one.one_of("level", LEVELS),
        one.text("subject", ""),
        one.text("message", ""),
        None if action is None else one.text("action"),
    )


def _no_number(text: str) -> NoReturn:
    message = f"{text} is no number of JSON"
    raise ValueError(message)


def _said(text: str) -> str:
    short = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
    return shown_text(short)


def _refuse(problem: str) -> NoReturn:
    raise ResultLineError(problem)
