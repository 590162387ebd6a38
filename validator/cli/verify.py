"""`speccheck verify`: a certificate looked at again, and judged again."""

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from speccheck.validator.certification.judging import SeveralJobs, utc_now
from speccheck.validator.certification.kit import KitError
from speccheck.validator.certification.statement import (
    CertificateError,
    read_certificate,
)
from speccheck.validator.certification.verifying import (
    VerificationStep,
    live_step,
    steps,
)
from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.reports import style_of
from speccheck.validator.report.certificate_text import certificate_text
from speccheck.validator.report.style import Style, printable, wrap
from speccheck.validator.report.write import write_all
from speccheck.validator.signing.envelope import SigningError
from speccheck.validator.signing.keys import read_public_key
from speccheck.validator.signing.verified import verified

REFUSED = (KitError, SeveralJobs, SigningError, CertificateError)
_OTHERWISE, _OPEN = 1, 3
_MOST_BYTES = 50_000_000
_SECONDS = 60.0  # to look at a machine
_MARKS = {"pass": "holds", "fail": "FAILS", "unknown": "open", "not asked": "-"}
_COLOURS = {
    "pass": "good",
    "fail": "error",
    "unknown": "unknown",
    "not asked": "dim",
}


def verify(line: CommandLine) -> int:
    """Verify a certificate; returns the exit code."""
    path = line.only("certificate")
    names = line.texts("key")
    if not names:
        message = "verify needs --key FILE, the public key of whom you trust"
        raise UsageError(message)
    keys = [read_public_key(name) for name in names]
    statement = verified(_content(path), keys, name=path)
    certificate = read_certificate(statement.predicate, path)
    signature = VerificationStep(
        "signature", "pass", f"of key {certificate.verifier.key_id[:16]}"
    )
    if certificate.verifier.key_id not in {key.key_id for key in keys}:
        result = "the certificate names another key than the one that signed it"
        signature = VerificationStep("signature", "fail", result)
    folder = line.text("evidence")
    kit = None if folder is None else os.path.normpath(folder)
    now = _now(line)
    is_taken = line.has("synthetic")
    taken = [
        signature,
        *steps(statement, certificate, now, kit, takes_synthetic=is_taken),
    ]
    if line.has("live") or line.has("node"):
        taken.append(live_step(certificate, _machine(line)))
    style = style_of(line, to_file=False)
    text = "".join(_statement_text(statement.predicate, taken, style, line))
    write_all([*_page(line, statement.predicate, taken, now), ((text,), None)])
    return _code(taken)


def _machine(line: CommandLine) -> dict[str, Any]:
    """Return the content of a snapshot: of a file, or of this machine as it is now."""
    path = line.text("node")
    if path is None:
        from speccheck.validator.cli.take_snapshot import (  # noqa: PLC0415 - seldom
            snapshot_of,
        )

        return snapshot_of(line, _SECONDS)
    try:
        result = json.loads(_content(path))
    except (ValueError, RecursionError) as error:
        message = f"--node {path}: is no snapshot: {error}"
        raise UsageError(message) from error
    if not isinstance(result, dict):
        message = f"--node {path}: is no snapshot; take one with speccheck probe"
        raise UsageError(message)
    return result


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}"
        raise UsageError(message) from error
    if len(content) > _MOST_BYTES:
        message = f"{path}: more than {_MOST_BYTES:,} bytes: no certificate"
        raise UsageError(message)
    return content


def _now(line: CommandLine) -> datetime:
    text = line.text("now")
    if text is None:
        return utc_now()
    try:
        result = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"--now {text}: must be a day such as 2027-01-31"
        raise UsageError(message) from error
    return result if result.tzinfo else result.replace(tzinfo=UTC)


def _statement_text(
    predicate: dict[str, Any],
    taken: Sequence[VerificationStep],
    style: Style,
    line: CommandLine,
) -> Iterator[str]:
    if not line.has("quiet"):
        yield from certificate_text(predicate, style)
        yield "\n"
    wide = max(len(step.name) for step in taken)
    for step in taken:
        if line.has("quiet") and step.outcome in {"pass", "not asked"}:
            continue
        mark = style.paint(f"{_MARKS[step.outcome]:5}", _COLOURS[step.outcome])
        indent = " " * (wide + 9)
        text = wrap(printable(step.message), style.width, indent).lstrip()
        yield f"{mark}  {step.name:{wide}}  {text}\n"
    yield f"\n{_verdict(taken, style)}\n"


def _verdict(taken: Sequence[VerificationStep], style: Style) -> str:
    outcomes = {step.outcome for step in taken}
    if "fail" in outcomes:
        return f"{style.paint('rejected', 'error')}  exit {_OTHERWISE}"
    left = [step.name for step in taken if step.outcome == "unknown"]
    if left:
        word = style.paint("open", "unknown")
        return f"{word}  not verified: {', '.join(left)}  exit {_OPEN}"
    word = style.paint("verified", "good")
    if "not asked" in outcomes:
        return f"{word}  as it was signed; nobody judged the evidence again  exit 0"
    return f"{word}  exit 0"


def _code(taken: Sequence[VerificationStep]) -> int:
    outcomes = {step.outcome for step in taken}
    if "fail" in outcomes:
        return _OTHERWISE
    return _OPEN if "unknown" in outcomes else 0


def _page(
    line: CommandLine,
    predicate: dict[str, Any],
    taken: Sequence[VerificationStep],
    now: datetime,
) -> Iterator[tuple[tuple[str, ...], str]]:
    path = line.text("html")
    if path is None:
        return
    from speccheck.validator.report.forms.html_certificate import (  # noqa: PLC0415
        certificate_page,
    )

    verified_by = {
        "steps": [
            step._replace(
                outcome="unknown" if step.outcome == "not asked" else step.outcome
            )._asdict()
            for step in taken
        ],
        "at": f"{now:%Y-%m-%dT%H:%M:%SZ}",
    }
    yield (certificate_page(predicate, verified=verified_by),), path
