"""What differs between two reports: verdict, clauses, findings, numbers, files."""

import os
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.document_diff.compared import (
    Compared,
    Difference,
    Scalar,
    Side,
    in_both,
    of_tables,
)
from speccheck.validator.report.document_diff.numbers import Number, differing_numbers
from speccheck.validator.report.style import counted

Document = Mapping[str, Any]
# How a clause came out, the worst first, by what the counts of its rules are called.
_OUTCOMES = (
    ("broken", "error"),
    ("error", "fail"),
    ("warning", "fail"),
    ("info", "fail"),
    ("waived", "waived"),
    ("unknown", "unknown"),
    ("pass", "pass"),
    ("not_applicable", "not_applicable"),
)
_SHORT = 16  # digits of a digest
_NONE = "none"


def compare_reports(a: Document, b: Document, files: tuple[str, str]) -> Compared:
    """Everything that one says and the other does not, or says otherwise."""
    both = a, b
    not_compared = tuple(_not_compared(a, b))
    clauses = _clauses(a), _clauses(b)
    numbers = _numbers(a), _numbers(b)
    paths = [
        {os.path.normpath(one["path"]) for one in found["files"]} for found in both
    ]
    return Compared(
        "report",
        _side(a, files[0]),
        _side(b, files[1]),
        tuple(
            chain(
                of_tables("levels", _verdict(a), _verdict(b)),
                _flipped(a, b, *clauses),
                of_tables("coverage", _coverage(a), _coverage(b)),
                of_tables("judged_by", _judged_by(a), _judged_by(b)),
                of_tables("judged_by", _tailoring(a), _tailoring(b)),
                of_tables("waivers", _waivers(a), _waivers(b)),
                () if not_compared else differing_numbers(*numbers),
                of_tables("evidence", _files(a), _files(b)),
            )
        ),
        in_both(*clauses) + in_both(*numbers) + in_both(*paths),
        not_compared,
    )


def _side(found: Document, file: str) -> Side:
    synthetic = any(one["synthetic"] for one in found["plans"])
    profile = found["profile"]
    use = f"use {profile['use']}" if profile else "refused"
    told = "synthetic evidence" if synthetic else ""
    return Side(file, use, "", found["tool"]["version"], told)


def _verdict(found: Document) -> dict[str, Scalar]:
    return {"verdict": found["verdict"], "exit code": found["exit_code"]}


def _clauses(found: Document) -> dict[str, tuple[str, str]]:
    """Outcome and level of each clause, by the counts of its rules over all plans."""
    counts: dict[str, Counter[str]] = {}
    levels: dict[str, str] = {}
    for row in found["statistics"]:
        counts.setdefault(row["clause"], Counter()).update(row["counts"])
        levels.setdefault(row["clause"], row["clause_level"])
    return {
        clause: (_outcome(times), levels[clause]) for clause, times in counts.items()
    }


def _outcome(times: Counter[str]) -> str:
    known = (outcome for name, outcome in _OUTCOMES if times[name] > 0)
    return next(known, "not_applicable")


def _flipped(
    a: Document,
    b: Document,
    before: Mapping[str, tuple[str, str]],
    after: Mapping[str, tuple[str, str]],
) -> Iterator[Difference]:
    outcomes = [
        {name: one[0] for name, one in found.items()} for found in (before, after)
    ]
    for one in of_tables("clauses", *outcomes):
        yield one._replace(note=_reason(b, one.subject) or _reason(a, one.subject))
    for name in sorted({*before} & {*after}):
        if before[name][1] != after[name][1]:
            levels = before[name][1], after[name][1]
            yield Difference("clauses", f"{name} level", "changed", *levels)
    yield from _other_findings(a, b, {*before} & {*after}, outcomes)


def _other_findings(
    a: Document,
    b: Document,
    clauses: set[str],
    outcomes: Sequence[Mapping[str, str]],
) -> Iterator[Difference]:
    """Failures that came or went within clauses that come out as before."""
    same = {one for one in clauses if outcomes[0][one] == outcomes[1][one]}
    failed = [_failures(found, same) for found in (a, b)]
    for one in of_tables("clauses", *failed):
        if one.change != "changed":
            told = one.a if one.change == "went" else one.b
            a_, b_ = ("fail", None) if one.change == "went" else (None, "fail")
            yield one._replace(a=a_, b=b_, note=str(told))


def _failures(found: Document, clauses: set[str]) -> dict[str, Scalar]:
    """What fails and is not waived, by clause, subject and file."""
    told: dict[str, Scalar] = {}
    for one in found["findings"]:
        if one["outcome"] == "fail" and not one["waived"] and one["clause"] in clauses:
            files = [os.path.basename(name["file"]) for name in one["places"][:1]]
            subject = " ".join([one["clause"], one["subject"] or "", *files])
            told[" ".join(subject.split())] = one["message"]
    return told


def _reason(found: Document, clause: str) -> str:
    for one in found["findings"]:
        is_it = one["clause"] == clause and one["outcome"] in {"fail", "error"}
        if is_it and one["message"]:
            where = f"{one['subject']}: " if one["subject"] else ""
            return f"{where}{one['message']}"
    return ""


def _coverage(found: Document) -> dict[str, Scalar]:
    summary = found["summary"]
    share = summary["coverage"]
    told: dict[str, Scalar] = {
        "musts judged": None if share is None else f"{share:.1%}",
        "waived": summary["waived"],
    }
    for level, outcomes in summary["clauses"].items():
        told |= {f"{level} {name}": number for name, number in outcomes.items()}
    return told


def _judged_by(found: Document) -> dict[str, Scalar]:
    edition, profile = found["edition"], found["profile"]
    return {
        "edition": edition["id"] if edition else _NONE,
        "edition stage": edition["stage"] if edition else _NONE,
        "edition sha256": edition["sha256"][:_SHORT] if edition else _NONE,
        "speccheck": found["tool"]["version"],
        "use": profile["use"] if profile else _NONE,
    }


def _tailoring(found: Document) -> dict[str, Scalar]:
    edition = found["edition"]
    return {
        f"tailored {one['clause']} {one['number']}": (
            f"{one['own_value']} ({one['reason']}; {one['owner']}, "
            f"until {one['expires']})"
        )
        for one in (edition["tailoring"] if edition else ())
    }


def _waivers(found: Document) -> dict[str, Scalar]:
    told: dict[str, Scalar] = {}
    for one in found["findings"]:
        waiver = one["waiver"]
        if waiver:
            subject = f"{one['clause']} {one['subject'] or ''}".strip()
            until = waiver["until"] or "no day"
            told[subject] = f"{waiver['reason'] or 'no reason'}, until {until}"
    return told


def _numbers(found: Document) -> dict[Hashable, Number]:
    """What was measured, of each plan; the last where several say the same."""
    told: dict[Hashable, Number] = {}
    for plan in found["plans"]:
        for one in plan["rates"]:
            rate = Number(
                one["title"],
                one["unit"],
                one["parts"],
                *(one[name] for name in ("median", "least", "most")),
            )
            told[_place(found, plan), one["title"], one["unit"]] = rate
        for one in plan["measured"]:
            size, rate_of = one["peak_size_bytes"], one["peak_bus_bytes_per_second"]
            if size is None or rate_of is None:
                continue
            whom = one["collective"], one["ranks"], one["nodes"], size
            name = ", ".join(
                (
                    f"{one['collective'] or 'collective'} bus bandwidth",
                    shown_bytes(size),
                    counted(one["nodes"], "node") if one["nodes"] else "? nodes",
                    counted(one["ranks"], "rank") if one["ranks"] else "? ranks",
                )
            )
            told[_place(found, plan), *whom] = Number(
                name, "bytes_per_second", 1, rate_of, rate_of, rate_of
            )
    return told


def _place(found: Document, plan: Document) -> Hashable:
    """Which plan it is: the only one, or that of these files."""
    if len(found["plans"]) == 1:
        return ""
    return tuple(sorted(os.path.normpath(one) for one in plan["files"]))


def _files(found: Document) -> dict[str, Scalar]:
    return {
        os.path.normpath(one["path"]): f"{one['status']} ({one['format'] or 'unknown'})"
        for one in found["files"]
    }


def _not_compared(a: Document, b: Document) -> Iterator[str]:
    if (len(a["plans"]) == 1) != (len(b["plans"]) == 1):
        told = f"{len(a['plans'])} plans beside {len(b['plans'])}"
        yield f"numbers: {told}: which belong together is not known"
