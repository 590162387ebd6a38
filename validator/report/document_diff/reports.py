"""What differs between two reports: verdict, clauses, findings, numbers, files."""

import os
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.document_diff.compared import (
    ComparedDocuments,
    Difference,
    Scalar,
    Side,
    in_both,
    of_tables,
)
from speccheck.validator.report.document_diff.numbers import (
    ComparedNumber,
    differing_numbers,
)
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


def compare_reports(
    a: Document, b: Document, files: tuple[str, str]
) -> ComparedDocuments:
    """Compare all that one says and the other does not, or says otherwise."""
    both = a, b
    not_compared = tuple(_not_compared(a, b))
    clauses = _clauses(a), _clauses(b)
    numbers = _numbers(a), _numbers(b)
    paths = [
        {os.path.normpath(entry["path"]) for entry in item["files"]} for item in both
    ]
    return ComparedDocuments(
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


def _side(result: Document, file: str) -> Side:
    synthetic = any(item["synthetic"] for item in result["plans"])
    profile = result["profile"]
    use = f"use {profile['use']}" if profile else "refused"
    text = "synthetic evidence" if synthetic else ""
    return Side(file, use, "", result["tool"]["version"], text)


def _verdict(result: Document) -> dict[str, Scalar]:
    return {"verdict": result["verdict"], "exit code": result["exit_code"]}


def _clauses(result: Document) -> dict[str, tuple[str, str]]:
    """Return each clause's outcome and level, by its rules' counts over all plans."""
    counts: dict[str, Counter[str]] = {}
    levels: dict[str, str] = {}
    for row in result["statistics"]:
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
        {name: texts[0] for name, texts in item.items()} for item in (before, after)
    ]
    for of_table in of_tables("clauses", *outcomes):
        yield of_table._replace(
            note=_reason(b, of_table.subject) or _reason(a, of_table.subject)
        )
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
    """Yield the failures that came or went within clauses that come out as before."""
    same = {clause for clause in clauses if outcomes[0][clause] == outcomes[1][clause]}
    failed = [_failures(item, same) for item in (a, b)]
    for of_table in of_tables("clauses", *failed):
        if of_table.change != "changed":
            result = of_table.a if of_table.change == "went" else of_table.b
            a_, b_ = ("fail", None) if of_table.change == "went" else (None, "fail")
            yield of_table._replace(a=a_, b=b_, note=str(result))


def _failures(result: Document, clauses: set[str]) -> dict[str, Scalar]:
    """Return what fails and is not waived, by clause, subject and file."""
    outcome: dict[str, Scalar] = {}
    for item in result["findings"]:
        if (
            item["outcome"] == "fail"
            and not item["waived"]
            and item["clause"] in clauses
        ):
            files = [os.path.basename(name["file"]) for name in item["places"][:1]]
            subject = " ".join([item["clause"], item["subject"] or "", *files])
            outcome[" ".join(subject.split())] = item["message"]
    return outcome


def _reason(result: Document, clause: str) -> str:
    for item in result["findings"]:
        is_it = item["clause"] == clause and item["outcome"] in {"fail", "error"}
        if is_it and item["message"]:
            where = f"{item['subject']}: " if item["subject"] else ""
            return f"{where}{item['message']}"
    return ""


def _coverage(result: Document) -> dict[str, Scalar]:
    summary = result["summary"]
    share = summary["coverage"]
    outcome: dict[str, Scalar] = {
        "musts judged": None if share is None else f"{share:.1%}",
        "waived": summary["waived"],
    }
    for level, outcomes in summary["clauses"].items():
        outcome |= {f"{level} {name}": number for name, number in outcomes.items()}
    return outcome


def _judged_by(result: Document) -> dict[str, Scalar]:
    edition, profile = result["edition"], result["profile"]
    return {
        "edition": edition["id"] if edition else _NONE,
        "edition stage": edition["stage"] if edition else _NONE,
        "edition sha256": edition["sha256"][:_SHORT] if edition else _NONE,
        "speccheck": result["tool"]["version"],
        "use": profile["use"] if profile else _NONE,
    }


def _tailoring(result: Document) -> dict[str, Scalar]:
    edition = result["edition"]
    return {
        f"tailored {item['clause']} {item['number']}": (
            f"{item['own_value']} ({item['reason']}; {item['owner']}, "
            f"until {item['expires']})"
        )
        for item in (edition["tailoring"] if edition else ())
    }


def _waivers(result: Document) -> dict[str, Scalar]:
    outcome: dict[str, Scalar] = {}
    for item in result["findings"]:
        waiver = item["waiver"]
        if waiver:
            subject = f"{item['clause']} {item['subject'] or ''}".strip()
            until = waiver["until"] or "no day"
            outcome[subject] = f"{waiver['reason'] or 'no reason'}, until {until}"
    return outcome


def _numbers(result: Document) -> dict[Hashable, ComparedNumber]:
    """Return what was measured, of each plan; the last where several say the same."""
    outcome: dict[Hashable, ComparedNumber] = {}
    for plan in result["plans"]:
        for item in plan["rates"]:
            rate = ComparedNumber(
                item["title"],
                item["unit"],
                item["parts"],
                *(item[name] for name in ("median", "least", "most")),
            )
            outcome[_place(result, plan), item["title"], item["unit"]] = rate
        for item in plan["measured"]:
            size, rate_of = item["peak_size_bytes"], item["peak_bus_bytes_per_second"]
            if size is None or rate_of is None:
                continue
            whom = item["collective"], item["ranks"], item["nodes"], size
            name = ", ".join(
                (
                    f"{item['collective'] or 'collective'} bus bandwidth",
                    shown_bytes(size),
                    counted(item["nodes"], "node") if item["nodes"] else "? nodes",
                    counted(item["ranks"], "rank") if item["ranks"] else "? ranks",
                )
            )
            outcome[_place(result, plan), *whom] = ComparedNumber(
                name, "bytes_per_second", 1, rate_of, rate_of, rate_of
            )
    return outcome


def _place(result: Document, plan: Document) -> Hashable:
    """Return which plan it is: the only one, or that of these files."""
    if len(result["plans"]) == 1:
        return ""
    return tuple(sorted(os.path.normpath(item) for item in plan["files"]))


def _files(result: Document) -> dict[str, Scalar]:
    return {
        os.path.normpath(
            item["path"]
        ): f"{item['status']} ({item['format'] or 'unknown'})"
        for item in result["files"]
    }


def _not_compared(a: Document, b: Document) -> Iterator[str]:
    if (len(a["plans"]) == 1) != (len(b["plans"]) == 1):
        text = f"{len(a['plans'])} plans beside {len(b['plans'])}"
        yield f"numbers: {text}: which belong together is not known"
