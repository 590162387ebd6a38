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
from speccheck.validator.certification.verifying import Step, live_step, steps
from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.option_table import Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import REFUSALS, list_of, style_of
from speccheck.validator.report.certificate_text import certificate_text
from speccheck.validator.report.style import Style, printable, wrap
from speccheck.validator.report.write import write, write_all
from speccheck.validator.signing.envelope import SigningError
from speccheck.validator.signing.keys import read_public_key
from speccheck.validator.signing.verified import verified

_GROUP = "Verification"
_USAGE, _OTHERWISE, _OPEN = 2, 1, 3
_MOST_BYTES = 50_000_000
_SECONDS = 60.0  # to look at a machine
OPTIONS: tuple[Option, ...] = (
    Option(
        "--key",
        "public key of whom you trust to certify",
        "text",
        "FILE",
        repeatable=True,
        group=_GROUP,
    ),
    Option("--evidence", "judge this evidence again", "text", "DIR", group=_GROUP),
    Option(
        "--live", "look whether this machine is of the type", "switch", group=_GROUP
    ),
    Option(
        "--node",
        "with --live: a snapshot in place of this machine",
        "text",
        "FILE",
        group=_GROUP,
    ),
    Option("--now", "as of another day: 2027-01-31", "text", "DATE", group=_GROUP),
    Option(
        "--synthetic", "take one of machines that do not exist", "switch", group=_GROUP
    ),
    Option("--html", "certificate and verification as a page", "text", "FILE"),
    Option("--quiet", "say only what does not hold", "switch", group=_GROUP),
    Option("--color", "auto, always or never", "text", "WHEN", group="Output"),
)
HELP = f"""\
usage: speccheck verify CERTIFICATE --key pub.pem [--evidence DIR] [--live] [options]

Looks whether a certificate was signed by one of the keys and is as it was signed; is
valid today; names the edition and the program that are here; and follows from its own
judgements. With --evidence every file is held to its SHA-256, and all of it is judged
again: the verdict must come out again. With --live this machine must be of the type
that is certified. No network is used.

Exit codes: 0 all of it holds; 1 something does not: it says otherwise than it should;
2 the command line, the certificate or a key is wrong; 3 it has expired, or something
could not be looked at; 4 a bug of speccheck.
{options_help(OPTIONS)}
"""
_MARKS = {"pass": "holds", "fail": "FAILS", "unknown": "open", "not asked": "-"}
_COLOURS = {
    "pass": "good",
    "fail": "error",
    "unknown": "unknown",
    "not asked": "dim",
}


def verify(words: list[str]) -> int:
    """Verify a certificate; returns the exit code."""
    if not words or words[0] in {"-h", "--help"}:
        write(HELP, None)
        return 0 if words else _USAGE
    refusals = (*REFUSALS, KitError, SeveralJobs, SigningError, CertificateError)
    return guarded(lambda: _verify(parse(words, OPTIONS)), refusals)


def _verify(parsed: Parsed) -> int:
    if len(parsed.files) != 1:
        message = f"verify takes one certificate, not {len(parsed.files)}"
        raise UsageError(message)
    names = list_of(parsed, "key")
    if not names:
        message = "verify needs --key FILE, the public key of whom you trust"
        raise UsageError(message)
    keys = [read_public_key(name) for name in names]
    path = parsed.files[0]
    statement = verified(_content(path), keys, name=path)
    found = read_certificate(statement.predicate, path)
    signature = Step("signature", "pass", f"of key {found.verifier.key_id[:16]}")
    if found.verifier.key_id not in {one.key_id for one in keys}:
        told = "the certificate names another key than the one that signed it"
        signature = Step("signature", "fail", told)
    folder = parsed.values.get("evidence")
    kit = os.path.normpath(folder) if isinstance(folder, str) else None
    now = _now(parsed)
    is_taken = "synthetic" in parsed.values
    taken = [signature, *steps(statement, found, now, kit, takes_synthetic=is_taken)]
    if "live" in parsed.values or "node" in parsed.values:
        taken.append(live_step(found, _machine(parsed)))
    style = style_of(parsed, to_file=False)
    text = "".join(_told(statement.predicate, taken, style, parsed))
    write_all([*_page(parsed, statement.predicate, taken, now), ((text,), None)])
    return _code(taken)


def _machine(parsed: Parsed) -> dict[str, Any]:
    """The content of a snapshot: of a file, or of this machine, which is looked at."""
    path = parsed.values.get("node")
    if not isinstance(path, str):
        from speccheck.validator.cli.take_snapshot import (  # noqa: PLC0415 - seldom
            snapshot_of,
        )

        return snapshot_of(parsed, _SECONDS)
    try:
        found = json.loads(_content(path))
    except (ValueError, RecursionError) as error:
        message = f"--node {path}: is no snapshot: {error}"
        raise UsageError(message) from error
    if not isinstance(found, dict):
        message = f"--node {path}: is no snapshot; take one with speccheck probe"
        raise UsageError(message)
    return found


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


def _now(parsed: Parsed) -> datetime:
    told = parsed.values.get("now")
    if not isinstance(told, str):
        return utc_now()
    try:
        found = datetime.fromisoformat(told)
    except ValueError as error:
        message = f"--now {told}: must be a day such as 2027-01-31"
        raise UsageError(message) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _told(
    predicate: dict[str, Any], taken: Sequence[Step], style: Style, parsed: Parsed
) -> Iterator[str]:
    if "quiet" not in parsed.values:
        yield from certificate_text(predicate, style)
        yield "\n"
    wide = max(len(one.name) for one in taken)
    for one in taken:
        if "quiet" in parsed.values and one.outcome in {"pass", "not asked"}:
            continue
        mark = style.paint(f"{_MARKS[one.outcome]:5}", _COLOURS[one.outcome])
        indent = " " * (wide + 9)
        text = wrap(printable(one.message), style.width, indent).lstrip()
        yield f"{mark}  {one.name:{wide}}  {text}\n"
    yield f"\n{_verdict(taken, style)}\n"


def _verdict(taken: Sequence[Step], style: Style) -> str:
    outcomes = {one.outcome for one in taken}
    if "fail" in outcomes:
        return f"{style.paint('rejected', 'error')}  exit {_OTHERWISE}"
    left = [one.name for one in taken if one.outcome == "unknown"]
    if left:
        word = style.paint("open", "unknown")
        return f"{word}  not verified: {', '.join(left)}  exit {_OPEN}"
    word = style.paint("verified", "good")
    if "not asked" in outcomes:
        return f"{word}  as it was signed; nobody judged the evidence again  exit 0"
    return f"{word}  exit 0"


def _code(taken: Sequence[Step]) -> int:
    outcomes = {one.outcome for one in taken}
    if "fail" in outcomes:
        return _OTHERWISE
    return _OPEN if "unknown" in outcomes else 0


def _page(
    parsed: Parsed, predicate: dict[str, Any], taken: Sequence[Step], now: datetime
) -> Iterator[tuple[tuple[str, ...], str]]:
    path = parsed.values.get("html")
    if not isinstance(path, str):
        return
    from speccheck.validator.report.forms.html_certificate import (  # noqa: PLC0415
        certificate_page,
    )

    verified_by = {
        "steps": [
            one._replace(
                outcome="unknown" if one.outcome == "not asked" else one.outcome
            )._asdict()
            for one in taken
        ],
        "at": f"{now:%Y-%m-%dT%H:%M:%SZ}",
    }
    yield (certificate_page(predicate, verified=verified_by),), path
