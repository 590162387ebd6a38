"""The page of a certificate: the verdict first, then all that it rests on.

It is made from the predicate alone and shows it; it is no certificate itself, and says
so. Whatever the predicate holds is escaped, and long lists are cut where they say so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from speccheck.validator.certification.certificate_model import (
    Certificate,
    ClauseResult,
    Judgement,
    Measured,
    Scalar,
    Specimen,
    Track,
)
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.certificate_text import (
    LEVEL_WORDS,
    LEVELS,
    OUTCOMES,
    caveats,
    cell_of,
    conditions_of,
    granted_words,
    held,
    highest_of,
    scale_of,
    shown,
)
from speccheck.validator.report.document import (
    Break,
    Code,
    Division,
    Figure,
    Fold,
    Heading,
    Items,
    Link,
    Name,
    Paragraph,
    Parts,
    ReportSection,
    Small,
    Table,
    Terms,
    Time,
    Verbatim,
    Word,
    joined,
    note,
)
from speccheck.validator.report.forms.html_page import header, page, synthetic_html
from speccheck.validator.report.forms.html_plot import PlotLine, plot_html
from speccheck.validator.report.forms.html_text import escaped
from speccheck.validator.report.style import counted
from speccheck.validator.report.wording import folded_subjects, ranges, written

_SHEETS = ("html_synthetic", "html_certificate", "html_topology")
_SCRIPTS = ("html_certificate",)
_COLOURS = {
    "pass": "good",
    "fail": "error",
    "error": "error",
    "unknown": "unknown",
    "waived": "warning",
}
_MARKS = {"good": "\u2713", "error": "\u2717", "unknown": "?"}
_VERIFIED = {"pass": "good", "fail": "error"}
_STEPS = {"good": "holds", "error": "fails", "unknown": "not done"}
_FOOT = (
    "This page shows a certificate and is none: anybody can change a page. The signed "
    "file is the certificate; speccheck verify judges it again from its evidence, "
    "offline. The edition is speccheck's own, and no standard of anybody else."
)
_MOST_STEPS = 60
_LONGEST = 1000  # characters of one text
_MOST_REASONS = 12
_MOST_FIELDS = 400
_MOST_SPECIMENS = 200
_MOST_FILES = 1000
_MOST_ROWS = 200
_LONGEST_VALUE = 400  # characters
_FEW = 2  # judgements that are read without a click
_MOST_JUDGEMENTS, _FEWEST_JUDGEMENTS = 40, 4  # of a clause
_MOST_OF_ALL = 4000  # judgements of all clauses together
_MOST_SUBJECTS = 64
_MOST_CLAUSES = 800
Cells = Sequence[Parts]


def certificate_page(
    predicate: Mapping[str, Any],
    *,
    verified: Mapping[str, Any] | None = None,
    pictures: Sequence[str] = (),
) -> str:
    """Return the page as one text.

    Args:
        predicate: of the certificate, `speccheck-certificate/1`.
        verified: what `speccheck verify` found: `steps`, a list of objects with name,
            outcome (pass, fail or unknown) and message, and `at`, when that was. None
            where nobody verified it.
        pictures: of machines, by `topology_html`, where the evidence is at hand.

    Raises pydantic's ValidationError for what is no such predicate.
    """
    certificate = Certificate.model_validate(_bounded(dict(predicate)))
    specimens = (_specimens(certificate), map(Figure, pictures))
    sections = (
        ReportSection("tracks", "Tracks and levels", _tracks(certificate)),
        ReportSection("verified", "Verification", _verified(verified)),
        ReportSection(
            "limits", "What this does not say", Items(certificate.limits, "limits")
        ),
        ReportSection("identity", "The instance type", _identity(certificate)),
        ReportSection("specimens", "Specimens", specimens),
        ReportSection("measured", "Measured", _quantities(certificate.measurements)),
        ReportSection("clauses", "Clauses by track", _clauses(certificate)),
        ReportSection("silenced", "Waivers and tailoring", _silenced(certificate)),
        ReportSection("judged-by", "Judged by", _judged_by(certificate)),
        ReportSection("validity", "Validity", _validity(certificate)),
        ReportSection("evidence", "Evidence", _evidence(certificate)),
    )
    title = f"{certificate.instance_type}: {granted_words(certificate)}"
    top: list[Parts] = [_head(certificate, verified)]
    if certificate.synthetic is not None:
        title = f"SYNTHETIC {title}"
        by, text = certificate.synthetic.by, certificate.synthetic.note.rstrip(".")
        top.insert(0, synthetic_html(f"made by {by}: {text}. It certifies nothing."))
    about, command, rest = _FOOT.partition("speccheck verify")
    foot = (
        Figure("<footer>\n"),
        Paragraph((about, Code(command), rest)),
        Paragraph(
            (
                "Run ",
                Code(certificate.run_id),
                f", written {certificate.validity.created}.",
            )
        ),
        Figure("</footer>\n"),
    )
    return "".join(
        page(title, top, sections, sheets=_SHEETS, scripts=_SCRIPTS, foot=foot)
    )


def _bounded(text: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the same with no text longer than a page can show."""
    if isinstance(text, str):
        more = len(text) - _LONGEST
        return f"{text[:_LONGEST]}... ({more:,} more)" if more > 0 else text
    if isinstance(text, dict):
        return {_bounded(key): _bounded(value) for key, value in text.items()}
    if isinstance(text, list):
        return [_bounded(item) for item in text]
    return text


def _more(count: int, noun: str) -> Parts:
    return note(f"and {counted(count, noun)} more") if count > 0 else ""


# --- Verdict, verification, tracks ----------------------------------------------------


def _head(certificate: Certificate, verified: Mapping[str, Any] | None) -> Figure:
    trust, words = _trust(verified)
    is_sure = trust == "good" and certificate.synthetic is None
    colour = "error" if trust == "error" else "good" if is_sure else "unknown"
    share, validity = certificate.coverage.share, certificate.validity
    judged = "none applies" if share is None else f"{share:.1%}"
    begins, ends = validity.not_before, validity.not_after
    until = Time(ends, ends[:10], "not-after")
    doubts = "; ".join(caveats(certificate))
    return header(
        colour,
        "speccheck certificate",
        certificate.instance_type,
        granted_words(certificate),
        (
            ("Provider", certificate.provider),
            ("Edition", f"{certificate.edition.id} ({certificate.edition.stage})"),
            ("Verifier", certificate.verifier.id),
            ("Specimens", f"{len(certificate.specimens):,}"),
            ("Judged", f"{judged} of what applies"),
            ("Valid", (Time(begins, begins[:10]), " to ", until)),
        ),
        above=(
            Paragraph(Word(f"{_MARKS[trust]} {words}", trust), "trust"),
            Paragraph(doubts, "caveat") if doubts else "",
            Figure('<p id="expired" class="expired" role="status"></p>\n'),
        ),
    )


def _trust(verified: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return whether this is what was signed, as far as verified: colour and words."""
    if verified is None:
        return "unknown", "not verified"
    steps = list(verified.get("steps") or ())
    outcomes = {
        word: [
            str(step.get("name", "")) for step in steps if step.get("outcome") == word
        ]
        for word in ("pass", "fail")
    }
    if outcomes["fail"]:
        return "error", f"REJECTED: {', '.join(outcomes['fail'][:_MOST_STEPS])}"
    left = len(steps) - len(outcomes["pass"])
    if left or not steps:
        return "unknown", f"verified in part: {counted(left, 'step')} not done"
    return "good", f"verified: all of {counted(len(steps), 'step')}"


def _verified(result: Mapping[str, Any] | None) -> Iterator[Parts]:
    """Yield what was verified; that nothing was, where nobody did."""
    if result is None:
        words = (
            " Whoever wrote this page did not verify the signature, nor judge the "
            "evidence again. The signed file is the certificate, not this page:"
        )
        yield Paragraph((Word("? not verified", "unknown"), words), "silenced")
        yield Verbatim("speccheck verify cert.json --key pub.pem --evidence DIR")
        return
    rows: list[Cells] = []
    for step in list(result.get("steps") or ())[:_MOST_STEPS]:
        colour = _VERIFIED.get(str(step.get("outcome")), "unknown")
        outcome = Word(f"{_MARKS[colour]} {_STEPS[colour]}", colour)
        rows.append((str(step.get("name", "")), outcome, str(step.get("message", ""))))
    heads = ("step", "outcome", "what was found")
    yield Table("Steps of the verification", heads, rows)
    if "at" in result:
        yield note(f"at {result['at']}")


def _tracks(certificate: Certificate) -> Iterator[Parts]:
    """Yield the table of tracks and levels, and what stands before the next level."""
    rows: list[Cells] = []
    for track in certificate.tracks:
        counts = (track.passed, track.not_applicable, track.required)
        judged = "" if track.coverage is None else f"{track.coverage:.0%}"
        cells = [_granted(*cell_of(track, level)) for level in LEVELS]
        rows.append((track.track, *cells, *(f"{n:,}" for n in counts), judged))
    heads = ("track", *LEVELS, ">passed", ">does not apply", ">required", ">judged")
    yield Table("Tracks and levels", heads, rows, "grid")
    levels = ", ".join(f"{level} {words}" for level, words in LEVEL_WORDS.items())
    yield note(f"Levels by evidence: {levels}. A clause may be of several tracks.")
    coverage = certificate.coverage
    counted_as = (
        (coverage.passed, "pass"),
        (coverage.failed, "fail"),
        (coverage.unknown, "not known"),
        (coverage.waived, "waived"),
        (coverage.not_applicable, "not applicable"),
    )
    parts = ", ".join(f"{number:,} {words}" for number, words in counted_as)
    yield Paragraph(f"Required clauses: {coverage.required:,}. Of these: {parts}.")
    denied = [track for track in certificate.tracks if track.denied]
    if denied:
        yield Heading(3, "What denies the next level")
    for track in denied:
        yield Heading(4, track.track), Items(list(_reasons(track)))


def _granted(outcome: str, words: str) -> Word:
    colour = _COLOURS.get(outcome, "none")
    return Word(f"{OUTCOMES[outcome][0]} {words}", f"granted {colour}")


def _reasons(track: Track) -> Iterator[Parts]:
    for denied in track.denied[:_MOST_REASONS]:
        mark = OUTCOMES.get(denied.outcome, ("\u2013", ""))[0]
        head = f"{denied.level} {mark} "
        if denied.clause:
            text = denied.reason.removeprefix(f"{denied.clause} ")
            yield head, Link(denied.clause, f"clause-{denied.clause}"), f" {text}"
        else:
            yield head + denied.reason
    if len(track.denied) > _MOST_REASONS:
        yield f"and {len(track.denied) - _MOST_REASONS:,} more reasons"


# --- Clauses by track -----------------------------------------------------------------


def _clauses(certificate: Certificate) -> Iterator[Parts]:
    """Yield all clauses, those of several tracks under the first of them."""
    names = {
        specimen.name: at for at, specimen in enumerate(certificate.specimens, start=1)
    }
    order = list(OUTCOMES)
    results = sorted(
        certificate.clauses[:_MOST_CLAUSES],
        key=lambda result: order.index(result.outcome),
    )
    tracks = [track.track for track in certificate.tracks]
    others = {result.tracks[0] for result in results if result.tracks} - {*tracks}
    most = max(_FEWEST_JUDGEMENTS, _MOST_OF_ALL // max(1, len(results)))
    row = partial(_clause, names=names, most=min(_MOST_JUDGEMENTS, most))
    for track in (*tracks, *sorted(others), ""):
        own = [each for each in results if (each.tracks or [""])[0] == track]
        also = [each for each in results if track in each.tracks[1:]]
        yield from _of_track(track, own, also, row)
    if len(certificate.clauses) > _MOST_CLAUSES:
        yield note(f"and {len(certificate.clauses) - _MOST_CLAUSES:,} more clauses")


def _of_track(
    track: str,
    own: Sequence[ClauseResult],
    also: Sequence[ClauseResult],
    row: Callable[[ClauseResult], Cells],
) -> Iterator[Parts]:
    if not own and not also:
        return
    judged = [result for result in own if result.outcome != "not_applicable"]
    idle = [result for result in own if result.outcome == "not_applicable"]
    yield Heading(3, track or "of no track")
    if judged:
        heads = ("clause", "level", "outcome", "what was found")
        yield Table(f"Clauses of {track}", heads, list(map(row, judged)), "clauses")
    if idle:
        title = f"{counted(len(idle), 'clause')} not applicable"
        yield Fold(title, Items([_idle(result) for result in idle], "idle"))
    if also:
        links: list[Parts] = []
        for result in also:
            link = Link(result.clause, f"clause-{result.clause}")
            links += [", ", link, f" {OUTCOMES[result.outcome][1]}"]
        yield note("of this track too: ", *links[1:])


def _id(result: ClauseResult) -> Word:
    return Word(result.clause, "id", f"clause-{result.clause}")


def _idle(result: ClauseResult) -> Parts:
    kind = Small(f"{result.level}, {result.certification_level}")
    return _id(result), f" {result.title} ", kind


def _clause(result: ClauseResult, *, names: Mapping[str, int], most: int) -> Cells:
    mark, words = OUTCOMES[result.outcome]
    colour = _COLOURS.get(result.outcome, "none")
    texts = list(_judgements(result.judgements, names, most))
    rest = texts[_FEW:]
    return (
        (_id(result), " ", Break(), result.title),
        Word(f"{result.level}, {result.certification_level}", "id"),
        Word(f"{mark} {words}", f"id {colour}"),
        (texts[:_FEW], Fold(f"{len(rest)} more", rest) if rest else ""),
    )


def _judgements(
    judgements: Sequence[Judgement], names: Mapping[str, int], most: int
) -> Iterator[Paragraph]:
    """Yield what rules say, the same of several parts and specimens once."""
    order = list(OUTCOMES)
    alike: dict[tuple[str, str, str], list[Judgement]] = {}
    for judgement in sorted(judgements, key=lambda each: order.index(_shown_as(each))):
        key = _shown_as(judgement), judgement.rule, _statement(judgement)
        alike.setdefault(key, []).append(judgement)
    for (outcome, rule, text), group in list(alike.items())[:most]:
        numbers = sorted(
            {
                names[judgement.specimen]
                for judgement in group
                if judgement.specimen in names
            }
        )
        subjects = [
            judgement.subject
            for judgement in group
            if judgement.subject not in {"", "node"}
        ]
        about = [folded_subjects(subjects[:_MOST_SUBJECTS])] if subjects else []
        if numbers:
            plural = "s" if len(numbers) > 1 else ""
            about.append(f"specimen{plural} {ranges(numbers)}")
        where = f"{', '.join(about)}: " if about else ""
        words = f"{OUTCOMES[outcome][0]} {where}{text} "
        yield Paragraph((words, Small(Name(rule))), "judgement")
    if len(alike) > most:
        more = counted(len(alike) - most, "more judgement")
        yield note(f"{more} in the certificate")


def _shown_as(judgement: Judgement) -> str:
    """Return the outcome; what fails and is waived is not shown as a failure alone."""
    is_waived = judgement.waived and judgement.outcome == "fail"
    return "waived" if is_waived else judgement.outcome


def _statement(judgement: Judgement) -> str:
    """Return the statement; a rule is named for what it looks for, and seldom sees."""
    measured, required = judgement.measured, judgement.required
    if judgement.message:
        return judgement.message
    if measured is not None and required is not None:
        return f"{written(measured)} against {written(required)}"
    return "not found:" if judgement.outcome == "pass" else ""


# --- Type, specimens, evidence, terms -------------------------------------------------


def _value(result: Scalar | Sequence[Scalar]) -> Parts:
    if isinstance(result, bool):
        return "yes" if result else "no"
    if isinstance(result, int | float):
        return f"{result:,}" if isinstance(result, int) else f"{result:g}"
    if isinstance(result, str):
        return Code(result[:_LONGEST_VALUE])
    return [part for each in result[:64] for part in (", ", _value(each))][1:]


def _fields(caption: str, result: Mapping[str, Scalar | list[Scalar]]) -> Parts:
    shown = list(result.items())[:_MOST_FIELDS]
    rows = [(Name(name), _value(value)) for name, value in shown]
    table = Table(caption, ("field", "value"), rows, "long")
    return table, _more(len(result) - _MOST_FIELDS, "field")


def _digest(text: str) -> Code:
    return Code(text, "digest")


def _identity(certificate: Certificate) -> Iterator[Parts]:
    """Yield what all machines of the type share."""
    words = (
        f"{certificate.instance_type} of {certificate.provider}. All machines of "
        "the type share "
        "these; sha256 of them "
    )
    yield Paragraph((words, _digest(certificate.type.sha256)))
    yield _fields("Identity of the type", certificate.type.fields)


def _specimens(certificate: Certificate) -> Iterator[Parts]:
    """Yield the machines that were examined, under salted names."""
    if certificate.expected_machines is not None:
        yield Paragraph(f"{certificate.expected_machines:,} machines were expected.")
    yield note(
        "Serial numbers and addresses are salted digests: equal within a site, and "
        "telling nobody else anything."
    )
    shown = certificate.specimens[:_MOST_SPECIMENS]
    rows = [_specimen(number, each) for number, each in enumerate(shown, start=1)]
    heads = ("specimen", "name", "taken", ">files", "identity")
    yield Table("Specimens", heads, rows)
    yield _more(len(certificate.specimens) - len(shown), "specimen")


def _specimen(number: int, specimen: Specimen) -> Cells:
    identity = _fields(f"Identity of specimen {number}", specimen.identity)
    fold = Fold(counted(len(specimen.identity), "field"), identity)
    files = f"{len(specimen.evidence):,}"
    last = fold if specimen.identity else ""
    return str(number), Code(specimen.name), specimen.taken, files, last


def _judged_by(certificate: Certificate) -> Table:
    """Return the edition, profiles, program and verifier, with their digests."""
    verifier, edition = certificate.verifier, certificate.edition
    tool = verifier.tool
    name = f"{edition.id} ({edition.stage})"
    pinned = "named by the user" if edition.is_pinned else "the newest that there was"
    attests = "(self-attested: nobody else answers for the key)"
    own = f"{verifier.id} {attests}" if verifier.self_attested else verifier.id
    requested = joined(map(Code, certificate.asked_profiles[:_MOST_ROWS]))
    rows: list[Cells] = [
        ("edition", f"{name}, {pinned}"),
        ("edition, sha256", _digest(edition.sha256)),
        ("profiles", joined(map(Code, certificate.profiles[:_MOST_ROWS]))),
        ("profiles asked for", requested or "none beside the instance type"),
        ("program", f"{tool.name} {tool.version}"),
        ("rules", f"{tool.rules:,}"),
        ("rules, sha256", _digest(tool.rules_sha256)),
        ("plugins", joined(map(Code, tool.plugins[:_MOST_ROWS])) or "none"),
        ("verifier", own),
        ("key, sha256", _digest(verifier.key_id)),
    ]
    return Table("Judged by", ("what", ""), rows, "long")


def _silenced(certificate: Certificate) -> Iterator[Parts]:
    """Yield the waivers and numbers of the user's own, or that there are none."""
    tailoring = certificate.edition.tailoring
    if certificate.waivers:
        rows: list[Cells] = [
            (
                Word(waiver.clause, "id"),
                waiver.subject,
                waiver.reason,
                waiver.owner,
                Word(waiver.expires, "id"),
            )
            for waiver in certificate.waivers[:_MOST_ROWS]
        ]
        heads = ("clause", "what fails", "reason", "owner", "until")
        yield Heading(3, "Waived"), Table("Waivers", heads, rows)
        yield _more(len(certificate.waivers) - _MOST_ROWS, "waiver")
    if tailoring:
        rows = [
            (
                Word(number.clause, "id"),
                Name(number.number),
                "" if number.edition_value is None else _value(number.edition_value),
                _value(number.own_value),
                number.reason,
                number.owner,
                Word(number.expires, "id"),
            )
            for number in tailoring[:_MOST_ROWS]
        ]
        names = ("clause", "number", ">edition", ">here", "reason", "owner", "until")
        yield Heading(3, "Own numbers"), Table("Own numbers", names, rows)
        yield _more(len(tailoring) - _MOST_ROWS, "number")
    if not certificate.waivers and not tailoring:
        yield note("Nothing is waived, and no number is replaced.")


def _validity(certificate: Certificate) -> Iterator[Parts]:
    """Yield from when to when it is valid, and what ends it before."""
    validity = certificate.validity
    rows = (
        ("written", validity.created),
        ("valid from", validity.not_before),
        ("valid until", validity.not_after),
        ("revoked at", validity.revocation or "nowhere is told of revocations"),
    )
    yield Table("Validity", ("what", ""), rows)
    ends = [
        (Name(each.name), " is no more ", Code(each.value[:_LONGEST_VALUE]))
        for each in validity.invalidators[:_MOST_ROWS]
    ]
    if ends:
        yield Paragraph("It ends at once on a machine where"), Items(ends)


def _evidence(certificate: Certificate) -> Iterator[Parts]:
    """Yield the files that were judged, with their digests."""
    numbers = {
        specimen.name: at for at, specimen in enumerate(certificate.specimens, start=1)
    }
    seen: set[str] = set()
    rows: list[Cells] = []
    for file in certificate.evidence[:_MOST_FILES]:
        anchor = "" if file.sha256 in seen else f"file-{file.sha256}"
        seen.add(file.sha256)
        rows.append(
            (
                Word(Code(file.path), anchor=anchor),
                file.kind,
                f"{file.size_bytes:,}",
                str(numbers.get(file.specimen, "")),
                _digest(file.sha256),
            )
        )
    heads = ("file", "kind", ">bytes", "specimen", "sha256")
    yield Table("Evidence", heads, rows, "long")
    yield _more(len(certificate.evidence) - _MOST_FILES, "file")


# --- Measured -------------------------------------------------------------------------

_SIZE, _RATE = "size_bytes", "bytes_per_second"
_FEWEST_SIZES = 3  # of a curve
_MOST_QUANTITIES = 200
_MOST_RATE = 1e30  # of a number that a curve can show
_ROOM = 1.12  # of the bar, beyond the largest number
_LATE = 78.0  # per cent: beyond it a line is named on its other side
_HELD = {"pass": "good", "fail": "error", "unknown": "warning"}
_NUMBERS = ("median", "5th percentile", "least", "most", "floor", "ceiling")


def _quantities(measureds: Sequence[Measured]) -> Iterator[Parts]:
    """Yield the curves first, then one bar for each quantity; nothing without any."""
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for each in measureds[:_MOST_QUANTITIES]:
        others = sorted((k, str(v)) for k, v in each.conditions.items() if k != _SIZE)
        groups.setdefault((each.name, each.unit, *others), []).append(each)
    numbers = count(1)
    for group in groups.values():
        if len(group) >= _FEWEST_SIZES and all(map(_has_size, group)):
            yield _curve(group, next(numbers))
        else:
            yield map(_bar, group)
    if len(measureds) > _MOST_QUANTITIES:
        yield note(f"and {len(measureds) - _MOST_QUANTITIES:,} more")


def _has_size(measured: Measured) -> bool:
    size = measured.conditions.get(_SIZE)
    known = (
        measured.median,
        measured.least,
        measured.most,
        measured.floor,
        measured.ceiling,
    )
    return (
        measured.unit == _RATE
        and type(size) is int
        and 0 < size < 1 << 60
        and all(value is None or 0 <= value < _MOST_RATE for value in known)
    )


def _size(measured: Measured) -> float:
    return float(measured.conditions[_SIZE])


def _curve(group: Sequence[Measured], number: int) -> Division:
    ordered = sorted(group, key=_size)
    first = ordered[0]
    scale, unit = scale_of(first.unit, max(map(highest_of, ordered)))
    numbers = (f">{name}" for name in _NUMBERS[1:])
    heads = ("size", f">{_NUMBERS[0]}, {unit}", *numbers, "held")
    rows = [
        (shown_bytes(_size(measured)), *_numbers(measured, scale), _held(measured))
        for measured in ordered
    ]
    drawn = Figure(plot_html(_lines(ordered), f"curve-{number}"))
    table = Table(first.name, heads, rows, "narrow")
    return Division((_title(first, without=(_SIZE,)), drawn, table), "quantity")


def _numbers(measured: Measured, scale: float) -> list[str]:
    values = (
        measured.median,
        measured.p5,
        measured.least,
        measured.most,
        measured.floor,
        measured.ceiling,
    )
    return [shown(value, scale) for value in values]


def _lines(ordered: Sequence[Measured]) -> Iterator[PlotLine]:
    for field, name in (("ceiling", "ceiling"), ("floor", "fail")):
        pairs = tuple(
            (_size(measured), value)
            for measured in ordered
            if (value := getattr(measured, field)) is not None
        )
        yield PlotLine(name, field, pairs)
    band = tuple(
        (_size(measured), measured.least, measured.most) for measured in ordered
    )
    medians = tuple((_size(measured), measured.median) for measured in ordered)
    yield PlotLine("measured0", "median, with least to most", medians, band=band)


def _title(measured: Measured, without: Sequence[str] = ()) -> Heading:
    samples = counted(measured.count, "sample")
    if measured.specimens:
        samples += f" of {counted(measured.specimens, 'specimen')}"
    else:
        samples += " of several machines together"
    words = " \u00b7 ".join((*conditions_of(measured.conditions, without), samples))
    return Heading(3, (f"{measured.name} ", Small(words)))


def _held(measured: Measured) -> Word:
    outcome, words = held(measured)
    return Word(f"{OUTCOMES[outcome][0]} {words}", _HELD.get(outcome, "none"))


def _bar(measured: Measured) -> Division:
    scale, unit = scale_of(measured.unit, highest_of(measured))
    pairs = [*zip(_NUMBERS, _numbers(measured, scale), strict=True)]
    if measured.least == measured.most:  # a single value, or the same one each time
        pairs = [("measured", pairs[0][1]), *pairs[4:]]
    facts: list[tuple[str, Parts]] = [
        (name, f"{text} {unit}") for name, text in pairs if text
    ]
    if measured.spread is not None:
        facts.append(("between specimens", f"{measured.spread:.1%}"))
    terms = Terms((*facts, ("", _held(measured))), "facts")
    return Division((_title(measured), Figure(_picture(measured)), terms), "quantity")


def _picture(measured: Measured) -> str:
    """Return a bar for the median, a whisker for the spread, lines for bounds."""
    if (
        measured.least == measured.most
        and measured.floor is None
        and measured.ceiling is None
    ):
        return ""  # one number says as much
    top = highest_of(measured) * _ROOM
    if not 0 < top < float("inf") or measured.least < 0:
        return ""

    def at(value: float) -> float:
        return round(100 * value / top, 2)

    least, most = at(measured.least), at(measured.most)
    parts = [
        f'<rect class="median" y="12" height="14" width="{at(measured.median)}%"/>\n',
        f'<line class="whisker" x1="{least}%" x2="{most}%" y1="19" y2="19"/>\n',
    ]
    parts += [
        f'<line class="whisker" x1="{x}%" x2="{x}%" y1="{y}" y2="{38 - y}"/>\n'
        for x, y in ((least, 14), (at(measured.p5), 16), (most, 14))
    ]
    for field in ("floor", "ceiling"):
        value = getattr(measured, field)
        if value is not None:
            parts.append(_bound(field, at(value)))
    words = escaped(f"{measured.name}: {held(measured)[1]}")
    drawn = "".join(parts)
    return f'<svg class="spread" role="img" aria-label="{words}">\n{drawn}</svg>\n'


def _bound(name: str, x: float) -> str:
    is_before = name == "floor" or x > _LATE
    side, shift = (' class="before"', "-4") if is_before else ("", "4")
    height = 36 if name == "floor" else 9
    return (
        f'<line class="{name}" x1="{x}%" x2="{x}%" y1="2" y2="36"/>\n'
        f'<text{side} x="{x}%" dx="{shift}" y="{height}">{name}</text>\n'
    )
