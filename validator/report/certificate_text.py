"""A certificate on a terminal: one screen with the verdict and what it leaves open."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.certification.certificate_model import (
    Certificate,
    CertificationLevel,
    Measured,
    Scalar,
    Track,
)
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.style import Style, counted, joined, printable, wrap

LEVELS: tuple[CertificationLevel, ...] = ("L1", "L2", "L3")
LEVEL_WORDS = {"L1": "files", "L2": "a live node", "L3": "a measured run"}
# Outcomes in the order in which a reader wants them, with a mark that needs no colour.
OUTCOMES: dict[str, tuple[str, str]] = {
    "fail": ("\u2717", "fails"),
    "error": ("!", "broken"),
    "unknown": ("?", "not known"),
    "waived": ("~", "waived"),
    "pass": ("\u2713", "holds"),
    "not_applicable": ("\u2013", "does not apply"),
}
_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "bytes_per_second": ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s")),
    "flops_per_second": ((1e12, "TFLOP/s"), (1e9, "GFLOP/s")),
    "bits_per_second": ((1e9, "Gbit/s"), (1e6, "Mbit/s")),
    "seconds": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")),
}
_MOST_BYTES = 10**18
_LONGEST = 120  # of a condition or a unit


def granted_words(certificate: Certificate) -> str:
    """Return how many tracks have which level, the highest first, and how many none."""
    levels = Counter(track.level for track in certificate.tracks)
    parts = [
        f"{level} on {counted(levels[level], 'track')}"
        for level in reversed(LEVELS)
        if levels[level]
    ]
    if levels[None]:
        parts.append(f"no level on {counted(levels[None], 'track')}")
    return ", ".join(parts)


def caveats(certificate: Certificate) -> list[str]:
    """Return what whoever sees the verdict alone must know as well."""
    parts = []
    if certificate.verifier.self_attested:
        parts.append("self-attested")
    if certificate.coverage.waived:
        parts.append(f"{counted(certificate.coverage.waived, 'clause')} waived")
    if certificate.edition.tailoring:
        count = counted(len(certificate.edition.tailoring), "number")
        parts.append(f"{count} of the edition replaced")
    return parts


def cell_of(track: Track, level: str) -> tuple[str, str]:
    """Return the outcome and words for one track at one level."""
    if track.level is not None and level <= track.level:
        return "pass", "granted"
    if level > track.highest:
        return "not_applicable", "no clause"
    denied = [denied for denied in track.denied if denied.level == level]
    if any(item.outcome in {"fail", "error"} for item in denied):
        return "fail", "denied"
    if denied:
        return "unknown", "denied"
    return "not_applicable", "not granted"


def scale_of(unit: str, highest: float) -> tuple[float, str]:
    """Return by what numbers of a unit are divided, and how they are called then."""
    steps = _SCALES.get(unit)
    if steps is None:
        return 1.0, unit.replace("_", " ")[:_LONGEST]
    return next((step for step in steps if highest >= step[0]), steps[-1])


def highest_of(measured: Measured) -> float:
    """Return the largest number of a quantity and of what it is held to."""
    known = (measured.most, measured.floor, measured.ceiling)
    return max((abs(value) for value in known if value is not None), default=0.0)


def shown(value: float | None, scale: float) -> str:
    """Return a number in the unit of the scale."""
    return "" if value is None else f"{value / scale:.4g}"


def conditions_of(
    conditions: Mapping[str, Scalar], without: Sequence[str] = ()
) -> list[str]:
    """Return under which conditions something was measured, with sizes for people."""
    words = []
    for name, value in conditions.items():
        if name in without:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(value, str):
            words.append(_cut(value))
        elif name.endswith("_bytes") and is_number and 0 < value < _MOST_BYTES:
            words.append(shown_bytes(float(value)))
        else:
            words.append(f"{name.replace('_', ' ')[:_LONGEST]} {value:,}")
    return words


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def held(measured: Measured) -> tuple[str, str]:
    """Return how a quantity stands to its floor and its ceiling: outcome and words."""
    if measured.floor is None and measured.ceiling is None:
        return "not_applicable", "held to nothing"
    if measured.floor is not None and measured.median < measured.floor:
        return "fail", "median below the floor"
    if measured.ceiling is not None and measured.most > measured.ceiling:
        return "fail", "above the ceiling"
    if measured.floor is not None and measured.least < measured.floor:
        return "unknown", "least below the floor"
    return "pass", "below the ceiling" if measured.floor is None else "above the floor"


_COLOURS = {"pass": "good", "fail": "error", "unknown": "unknown"}
_ASCII = {"pass": "+", "fail": "x", "unknown": "?", "not_applicable": "-"}
_MOST_REASONS = 2  # of one track
_MOST_LIMITS = 4
_SHORT = 16  # characters of a digest
_INDENT = "    "


def certificate_text(predicate: Mapping[str, Any], style: Style) -> Iterator[str]:
    """Yield the text, block by block.

    Raises pydantic's ValidationError for what is no predicate of a certificate.
    """
    certificate = Certificate.model_validate(predicate)
    if certificate.synthetic is not None:
        words = f"SYNTHETIC: made by {certificate.synthetic.by}; this certifies nothing"
        text = wrap(printable(words), style.width, "")
        yield style.paint(text, "warning") + "\n\n"
    yield _head(certificate, style)
    yield "\n"
    yield from _tracks(certificate, style)
    limits = certificate.limits[:_MOST_LIMITS]
    if limits:
        yield "\n"
    for limit in limits:
        yield style.paint(wrap(printable(limit), style.width, ""), "dim") + "\n"
    if len(certificate.limits) > _MOST_LIMITS:
        more = len(certificate.limits) - _MOST_LIMITS
        yield style.paint(f"and {counted(more, 'more limit')}", "dim") + "\n"
    yield f"\n{_terms(certificate, style)}\n"


def _head(certificate: Certificate, style: Style) -> str:
    name = style.paint(printable(certificate.instance_type), "bold")
    parts = [
        printable(f"{certificate.instance_type} of {certificate.provider}"),
        printable(f"edition {certificate.edition.id} ({certificate.edition.stage})"),
        counted(len(certificate.specimens), "specimen"),
        *caveats(certificate),
    ]
    words = wrap(granted_words(certificate), style.width, "")
    facts = joined(parts, f" {style.dot} ", style.width)
    return facts.replace(printable(certificate.instance_type), name, 1) + f"\n{words}\n"


def _tracks(certificate: Certificate, style: Style) -> Iterator[str]:
    names = [printable(track.track) for track in certificate.tracks]
    wide = max((len(name) for name in names), default=0)
    heads = "  ".join(LEVELS)
    yield style.paint(f"{'':{wide}}  {heads}  judged", "dim") + "\n"
    for name, track in zip(names, certificate.tracks, strict=True):
        judged = "" if track.coverage is None else f"{track.coverage:.0%}"
        cells = "   ".join(_cell(track, level, style) for level in LEVELS)
        yield f"{name:{wide}}  {cells}   {judged:>6}\n"
        yield from _denied(track, style)
    mark = OUTCOMES["pass"][0] if style.unicode else _ASCII["pass"]
    texts = ", ".join(f"{level} {words}" for level, words in LEVEL_WORDS.items())
    yield style.paint(f"{mark} granted; {texts}", "dim") + "\n"


def _cell(track: Track, level: str, style: Style) -> str:
    outcome, _ = cell_of(track, level)
    mark = OUTCOMES[outcome][0] if style.unicode else _ASCII[outcome]
    return style.paint(mark, _COLOURS[outcome]) if outcome in _COLOURS else mark


def _denied(track: Track, style: Style) -> Iterator[str]:
    for denied in track.denied[:_MOST_REASONS]:
        words = denied.reason
        if denied.clause and not words.startswith(denied.clause):
            words = f"{denied.clause}: {words}"
        yield (
            wrap(printable(f"no {denied.level}: {words}"), style.width, _INDENT) + "\n"
        )
    if len(track.denied) > _MOST_REASONS:
        more = counted(len(track.denied) - _MOST_REASONS, "more reason")
        yield style.paint(f"{_INDENT}and {more}", "dim") + "\n"


def _terms(certificate: Certificate, style: Style) -> str:
    validity = certificate.validity
    parts = [
        f"valid {validity.not_before[:10]} to {validity.not_after[:10]}",
        f"verifier {certificate.verifier.id}",
        f"key {certificate.verifier.key_id[:_SHORT]}",
        f"run {certificate.run_id}",
    ]
    return joined(map(printable, parts), f" {style.dot} ", style.width)
