"""The page of a certificate: the verdict first, then all that it rests on.

It is made from the predicate alone and shows it; it is no certificate itself, and says
so. Whatever the predicate holds is escaped, and long lists are cut where they say so.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from speccheck.validator.certification.certificate_model import Certificate
from speccheck.validator.report.certificate_text import caveats, granted_words
from speccheck.validator.report.forms.html_certificate_clauses import clauses_html
from speccheck.validator.report.forms.html_certificate_facts import (
    evidence_html,
    identity_html,
    judged_by_html,
    silenced_html,
    specimens_html,
    validity_html,
)
from speccheck.validator.report.forms.html_certificate_measured import (
    quantities_html,
)
from speccheck.validator.report.forms.html_certificate_tracks import tracks_html
from speccheck.validator.report.forms.html_page import (
    contents,
    page_end,
    page_head,
    synthetic_html,
)
from speccheck.validator.report.forms.html_text import (
    code,
    escaped,
    listed,
    row,
    section,
    table,
)
from speccheck.validator.report.style import counted

_SHEETS = ("html_synthetic", "html_certificate", "html_topology")
_SCRIPTS = ("html_certificate",)
_VERIFIED = {"pass": "good", "fail": "error", "unknown": "unknown"}
_MARKS = {"good": "\u2713", "error": "\u2717", "unknown": "?"}
_MOST_STEPS = 60
_LONGEST = 1000  # characters of one text


def certificate_page(
    predicate: Mapping[str, Any],
    *,
    verified: Mapping[str, Any] | None = None,
    pictures: Sequence[str] = (),
) -> str:
    """The page as one text.

    Args:
        predicate: of the certificate, `speccheck-certificate/1`.
        verified: what `speccheck verify` found: `steps`, a list of objects with name,
            outcome (pass, fail or unknown) and message, and `at`, when that was. None
            where nobody verified it.
        pictures: of machines, by `topology_html`, where the evidence is at hand.

    Raises pydantic's ValidationError for what is no such predicate.
    """
    found = Certificate.model_validate(_bounded(dict(predicate)))
    sections = [
        ("tracks", "Tracks and levels", tracks_html(found)),
        ("verified", "Verification", _verified(verified)),
        ("limits", "What this does not say", _limits(found)),
        ("identity", "The instance type", identity_html(found)),
        ("specimens", "Specimens", specimens_html(found) + "".join(pictures)),
        ("measured", "Measured", quantities_html(found.measurements)),
        ("clauses", "Clauses by track", clauses_html(found)),
        ("silenced", "Waivers and tailoring", silenced_html(found)),
        ("judged-by", "Judged by", judged_by_html(found)),
        ("validity", "Validity", validity_html(found)),
        ("evidence", "Evidence", evidence_html(found)),
    ]
    title = f"{found.instance_type}: {granted_words(found)}"
    if found.synthetic is not None:
        title = f"SYNTHETIC {title}"
    links = [(anchor, name) for anchor, name, body in sections if body]
    body = "".join(section(anchor, name, text) for anchor, name, text in sections)
    return (
        page_head(title, sheets=_SHEETS, scripts=_SCRIPTS)
        + _synthetic(found)
        + _head(found, verified)
        + contents(links)
        + f"<main>\n{body}</main>\n{_foot(found)}"
        + page_end(_SCRIPTS)
    )


def _bounded(found: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The same with no text longer than a page can show."""
    if isinstance(found, str):
        more = len(found) - _LONGEST
        return f"{found[:_LONGEST]}... ({more:,} more)" if more > 0 else found
    if isinstance(found, dict):
        return {_bounded(key): _bounded(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_bounded(one) for one in found]
    return found


def _synthetic(found: Certificate) -> str:
    if found.synthetic is None:
        return ""
    one = found.synthetic
    return synthetic_html(
        f"made by {one.by}: {one.note.rstrip('.')}. It certifies nothing."
    )


def _head(found: Certificate, verified: Mapping[str, Any] | None) -> str:
    trust, words = _trust(verified)
    is_sure = trust == "good" and found.synthetic is None
    colour = "error" if trust == "error" else "good" if is_sure else "unknown"
    told = caveats(found)
    caveat = f'<p class="caveat">{escaped("; ".join(told))}</p>\n' if told else ""
    share = found.coverage.share
    judged = "none applies" if share is None else f"{share:.1%}"
    facts = [
        ("Provider", escaped(found.provider)),
        ("Edition", f"{escaped(found.edition.id)} ({escaped(found.edition.stage)})"),
        ("Verifier", escaped(found.verifier.id)),
        ("Specimens", f"{len(found.specimens):,}"),
        ("Judged", f"{judged} of what applies"),
        ("Valid", f"{_day(found.validity.not_before)} to {_until(found)}"),
    ]
    pairs = "".join(
        f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in facts
    )
    return (
        f'<header class="{colour}">\n<p class="tool">speccheck certificate</p>\n'
        f'<h1><span class="word">{escaped(found.instance_type)}</span> '
        f"{escaped(granted_words(found))}</h1>\n"
        f'<p class="trust"><span class="{trust}">{_MARKS[trust]} '
        f"{escaped(words)}</span></p>\n{caveat}"
        f'<p id="expired" class="expired" role="status"></p>\n'
        f'<dl class="facts">{pairs}</dl>\n</header>\n'
    )


def _day(time: str) -> str:
    return f'<time datetime="{escaped(time)}">{escaped(time[:10])}</time>'


def _until(found: Certificate) -> str:
    text = found.validity.not_after
    return (
        f'<time id="not-after" datetime="{escaped(text)}">{escaped(text[:10])}</time>'
    )


def _trust(verified: Mapping[str, Any] | None) -> tuple[str, str]:
    """Whether this is what was signed, as far as somebody looked: colour and words."""
    if verified is None:
        return "unknown", "not verified"
    steps = list(verified.get("steps") or ())
    outcomes = {
        word: [str(one.get("name", "")) for one in steps if one.get("outcome") == word]
        for word in ("pass", "fail")
    }
    if outcomes["fail"]:
        return "error", f"REJECTED: {', '.join(outcomes['fail'][:_MOST_STEPS])}"
    left = len(steps) - len(outcomes["pass"])
    if left or not steps:
        return "unknown", f"verified in part: {counted(left, 'step')} not done"
    return "good", f"verified: all of {counted(len(steps), 'step')}"


def _verified(found: Mapping[str, Any] | None) -> str:
    """What was verified; that nothing was, where nobody did."""
    if found is None:
        return (
            '<p class="silenced"><span class="unknown">? not verified</span> '
            "Whoever wrote this page did not verify the signature, nor judge the "
            "evidence again. The signed file is the certificate, not this page:</p>\n"
            "<pre>speccheck verify cert.json --key pub.pem --evidence DIR</pre>\n"
        )
    steps = found.get("steps") or ()
    rows = [_step(one) for one in list(steps)[:_MOST_STEPS]]
    at = (
        f'<p class="note">at {escaped(str(found["at"]))}</p>\n' if "at" in found else ""
    )
    heads = ("step", "outcome", "what was found")
    return table("Steps of the verification", heads, rows) + at


def _step(one: Mapping[str, Any]) -> str:
    name = _VERIFIED.get(str(one.get("outcome")), "unknown")
    words = {"good": "holds", "error": "fails", "unknown": "not done"}[name]
    return row(
        [
            escaped(str(one.get("name", ""))),
            f'<span class="{name}">{_MARKS[name]} {words}</span>',
            escaped(str(one.get("message", ""))),
        ]
    )


def _limits(found: Certificate) -> str:
    return listed((escaped(one) for one in found.limits), "limits")


def _foot(found: Certificate) -> str:
    return (
        "<footer>\n<p>This page shows a certificate and is none: anybody can change "
        "a page. The signed file is the certificate; "
        f"{code('speccheck verify')} judges it again from its evidence, offline. The "
        "edition is speccheck's own, and no standard of anybody else.</p>\n"
        f"<p>Run {code(found.run_id)}, written {escaped(found.validity.created)}.</p>\n"
        "</footer>\n"
    )
