"""Who and what a certificate is about: type, specimens, evidence, terms."""

from collections.abc import Mapping, Sequence

from speccheck.validator.certification.certificate_model import (
    Certificate,
    Scalar,
    Specimen,
)
from speccheck.validator.report.forms.html_text import (
    breakable,
    code,
    escaped,
    folded,
    listed,
    row,
    table,
)
from speccheck.validator.report.style import counted

_MOST_FIELDS = 400
_MOST_SPECIMENS = 200
_MOST_FILES = 1000
_MOST_ROWS = 200
_LONGEST = 400  # characters of a value


def _value(found: Scalar | Sequence[Scalar]) -> str:
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, int | float):
        return f"{found:,}" if isinstance(found, int) else f"{found:g}"
    if isinstance(found, str):
        return code(found[:_LONGEST])
    return ", ".join(_value(one) for one in found[:64])


def _fields(caption: str, found: Mapping[str, Scalar | list[Scalar]]) -> str:
    rows = [
        row([breakable(name), _value(value)])
        for name, value in list(found.items())[:_MOST_FIELDS]
    ]
    body = table(caption, ("field", "value"), rows, name="long")
    return body + _more(len(found) - _MOST_FIELDS, "field")


def _more(count: int, noun: str) -> str:
    return f'<p class="note">and {counted(count, noun)} more</p>\n' if count > 0 else ""


def identity_html(found: Certificate) -> str:
    """What all machines of the type share."""
    return (
        f"<p>{escaped(found.instance_type)} of {escaped(found.provider)}. All machines "
        f"of the type share these; sha256 of them {_digest(found.type.sha256)}</p>\n"
        + _fields("Identity of the type", found.type.fields)
    )


def _digest(text: str) -> str:
    return code(text, "digest")


def specimens_html(found: Certificate) -> str:
    """The machines that were looked at, under salted names."""
    shown = found.specimens[:_MOST_SPECIMENS]
    rows = (_specimen(number, one) for number, one in enumerate(shown, start=1))
    heads = ("specimen", "name", "taken", ">files", "identity")
    expected = found.expected_machines
    many = "" if expected is None else f"<p>{expected:,} machines were expected.</p>\n"
    note = (
        '<p class="note">Serial numbers and addresses are salted digests: equal within '
        "a site, and telling nobody else anything.</p>\n"
    )
    body = table("Specimens", heads, rows)
    return many + note + body + _more(len(found.specimens) - len(shown), "specimen")


def _specimen(number: int, one: Specimen) -> str:
    count = counted(len(one.identity), "field")
    identity = _fields(f"Identity of specimen {number}", one.identity)
    return row(
        [
            str(number),
            code(one.name),
            escaped(one.taken),
            f"{len(one.evidence):,}",
            folded(count, identity) if one.identity else "",
        ],
        numbers=(3,),
    )


def judged_by_html(found: Certificate) -> str:
    """Edition, profiles, program and verifier, with their digests."""
    verifier, edition = found.verifier, found.edition
    tool = verifier.tool
    attests = (
        " (self-attested: nobody else answers for the key)"
        if verifier.self_attested
        else ""
    )
    asked = ", ".join(code(one) for one in found.asked_profiles[:_MOST_ROWS])
    pinned = "named by the user" if edition.is_pinned else "the newest that there was"
    rows = [
        ("edition", f"{escaped(edition.id)} ({escaped(edition.stage)}), {pinned}"),
        ("edition, sha256", _digest(edition.sha256)),
        ("profiles", ", ".join(code(one) for one in found.profiles[:_MOST_ROWS])),
        ("profiles asked for", asked or "none beside the instance type"),
        ("program", f"{escaped(tool.name)} {escaped(tool.version)}"),
        ("rules", f"{tool.rules:,}"),
        ("rules, sha256", _digest(tool.rules_sha256)),
        ("plugins", ", ".join(map(code, tool.plugins[:_MOST_ROWS])) or "none"),
        ("verifier", escaped(verifier.id + attests)),
        ("key, sha256", _digest(verifier.key_id)),
    ]
    return table("Judged by", ("what", ""), (row([*one]) for one in rows), name="long")


def silenced_html(found: Certificate) -> str:
    """Waivers and numbers of the user's own; that there are none, where that is so."""
    parts = []
    if found.waivers:
        rows = (
            row(
                [
                    f'<span class="id">{escaped(one.clause)}</span>',
                    escaped(one.subject),
                    escaped(one.reason),
                    escaped(one.owner),
                    f'<span class="id">{escaped(one.expires)}</span>',
                ]
            )
            for one in found.waivers[:_MOST_ROWS]
        )
        heads = ("clause", "what fails", "reason", "owner", "until")
        parts.append(f"<h3>Waived</h3>\n{table('Waivers', heads, rows)}")
        parts.append(_more(len(found.waivers) - _MOST_ROWS, "waiver"))
    if found.edition.tailoring:
        parts.append(f"<h3>Own numbers</h3>\n{_tailoring(found)}")
    if not parts:
        return '<p class="note">Nothing is waived, and no number is replaced.</p>\n'
    return "".join(parts)


def _tailoring(found: Certificate) -> str:
    rows = (
        row(
            [
                f'<span class="id">{escaped(one.clause)}</span>',
                breakable(one.number),
                "" if one.edition_value is None else _value(one.edition_value),
                _value(one.own_value),
                escaped(one.reason),
                escaped(one.owner),
                f'<span class="id">{escaped(one.expires)}</span>',
            ],
            numbers=(2, 3),
        )
        for one in found.edition.tailoring[:_MOST_ROWS]
    )
    heads = ("clause", "number", ">edition", ">here", "reason", "owner", "until")
    rest = len(found.edition.tailoring) - _MOST_ROWS
    return table("Own numbers", heads, rows) + _more(rest, "number")


def validity_html(found: Certificate) -> str:
    """From when to when, and what ends it before."""
    one = found.validity
    rows = [
        ("written", escaped(one.created)),
        ("valid from", escaped(one.not_before)),
        ("valid until", escaped(one.not_after)),
        ("revoked at", escaped(one.revocation) or "nowhere is told of revocations"),
    ]
    body = table("Validity", ("what", ""), (row([*each]) for each in rows))
    ends = listed(
        f"{breakable(each.name)} is no more {code(each.value[:_LONGEST])}"
        for each in one.invalidators[:_MOST_ROWS]
    )
    if not ends:
        return body
    return f"{body}<p>It ends at once on a machine where</p>\n{ends}"


def evidence_html(found: Certificate) -> str:
    """The files that were judged, with their digests."""
    numbers = {one.name: at for at, one in enumerate(found.specimens, start=1)}
    seen: set[str] = set()
    rows = []
    for one in found.evidence[:_MOST_FILES]:
        anchor = "" if one.sha256 in seen else f' id="file-{escaped(one.sha256)}"'
        seen.add(one.sha256)
        rows.append(
            row(
                [
                    f"<span{anchor}>{code(one.path)}</span>",
                    escaped(one.kind),
                    f"{one.size_bytes:,}",
                    str(numbers.get(one.specimen, "")),
                    _digest(one.sha256),
                ],
                numbers=(2,),
            )
        )
    heads = ("file", "kind", ">bytes", "specimen", "sha256")
    body = table("Evidence", heads, rows, name="long")
    return body + _more(len(found.evidence) - _MOST_FILES, "file")
