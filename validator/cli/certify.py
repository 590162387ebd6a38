"""`speccheck certify`: a signed certificate of a type of machine, or why not."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime

from speccheck.validator.certification.certifying import (
    Certification,
    Order,
    certify,
    denied_of,
    terms_of,
)
from speccheck.validator.certification.granting import Grant
from speccheck.validator.certification.judging import (
    Evidence,
    SeveralJobs,
    read_evidence,
    utc_now,
)
from speccheck.validator.certification.kit import KitError
from speccheck.validator.certification.manifest import (
    ManifestError,
    differences,
    read_manifest,
)
from speccheck.validator.cli.certificate_files import (
    DERIVED,
    certificate_files,
    issue_of,
    signer_in,
)
from speccheck.validator.cli.certify_plan import planned
from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.option_table import Kind, Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import REFUSALS, list_of, one_of, style_of
from speccheck.validator.editions.compose import find_profile, may_certify
from speccheck.validator.editions.edition import UnknownEdition, load_edition
from speccheck.validator.report.certification_text import run_plan_text
from speccheck.validator.report.style import Style, counted
from speccheck.validator.report.write import write
from speccheck.validator.signing.envelope import SigningError
from speccheck.validator.sources.documents.document import ReadError

_USAGE, _DENIED, _INCONCLUSIVE, _BUG = 2, 1, 3, 4
_LEVELS = ("L3", "L1", "L2")


def _option(
    flag: str,
    text: str,
    metavar: str = "",
    kind: Kind = "text",
    *,
    several: bool = False,
) -> Option:
    kind = kind if metavar else "switch"
    return Option(flag, text, kind, metavar, repeatable=several, group="Certification")


OPTIONS: tuple[Option, ...] = (
    _option("--plan", "what to run for a certificate, and stop"),
    _option("--dry-run", "what published figures would settle, and stop"),
    _option("--compare", "a table of the certificates that are given, and stop"),
    _option(
        "--profile",
        "type of machine: instance/azure-nd96isr-h100-v5; others beside it",
        "P",
        several=True,
    ),
    _option("--evidence", "the folder of the evidence", "DIR"),
    _option("--level", "L1, L2 or L3 (default): what every track must reach", "LEVEL"),
    _option("--track", "only this track must reach it", "NAME", several=True),
    _option("--expect", "machines that there should be", "N", "integer"),
    _option("--key", "what signs: FILE, env:NAME or cmd:COMMAND", "KEY"),
    _option("--public", "public half of the key; cmd: needs it", "FILE"),
    _option("--passphrase-env", "variable with the passphrase of the key", "NAME"),
    _option("--out", "the certificate (default certificate.json)", "FILE"),
    _option("--html", "the same as a page", "FILE"),
    _option("--derive", f"{' or '.join(DERIVED)}=FILE", "KIND=FILE", several=True),
    _option("--verifier", "who judges, in the certificate", "NAME"),
    _option("--third-party", "the key is not of who runs the machines"),
    _option("--revocation", "where a revocation would be told", "URL"),
    _option("--synthetic", "certify machines that do not exist; marked as such"),
    _option("--tailor", "own numbers, a file in the folder of the evidence", "FILE"),
    _option("--nodes", "with --plan: to run on", "N", "integer"),
    _option("--engine", "with --plan: slurm (default), mpi or torchrun", "NAME"),
    _option("--spec", "edition, or a folder with one", "EDITION"),
    _option("--plugins", "rules and readers of other packages as well"),
    Option(
        "--output",
        "with --compare: text, json or markdown",
        "text",
        "FORMAT[=FILE]",
        repeatable=True,
        group="Output",
    ),
    Option("--color", "auto, always or never", "text", "WHEN", group="Output"),
)
HELP = f"""\
usage: speccheck certify --plan --profile instance/TYPE [options]
       speccheck certify --dry-run [--profile instance/TYPE ...]
       speccheck certify --profile instance/TYPE --evidence DIR [--key KEY] [options]
       speccheck certify --compare A.json B.json ... [--output json]

--plan says what to run, on how many nodes, with the commands of the engine, and which
clauses of which track and level each step settles. --dry-run says what the figures that
were published of a type would settle: it certifies nothing. --compare lays 2 to 8
certificates side by side; it verifies no signature.

Without it the evidence is judged (speccheck evidence pack, list): each track gets the
level up to which every must of it passes or does not apply, none is unknown, and enough
was judged. With --key the certificate is signed and written, where every track that is
asked for has the level that is asked for, or the highest that it can have; otherwise
nothing is written, and it is said why. speccheck verify judges it again.

Exit codes: 0 certified, or would be; 1 a track is denied by what fails; 2 the command
line, the key or a file is wrong; 3 a track is denied for want of evidence; 4 a bug of
speccheck.
{options_help(OPTIONS)}
"""


def certify_command(words: list[str]) -> int:
    """Plan or certify; returns the exit code."""
    if not words or words[0] in {"-h", "--help"}:
        write(HELP, None)
        return 0 if words else _USAGE
    refusals = (
        *(*REFUSALS, KitError, ManifestError, SeveralJobs, SigningError),
        ReadError,
    )
    return guarded(lambda: _certify(parse(words, OPTIONS)), refusals)


def _certify(parsed: Parsed) -> int:
    if "compare" in parsed.values:
        from speccheck.validator.cli.certify_compare import (  # noqa: PLC0415 - seldom
            compare_certified,
        )

        return compare_certified(parsed)
    if parsed.files:
        message = f"certify takes no file: {parsed.files[0]}; --evidence DIR"
        raise UsageError(message)
    if "plan" in parsed.values:
        write(run_plan_text(planned(parsed)), None)
        return 0
    if "dry_run" in parsed.values:
        from speccheck.validator.cli.certify_dry_run import (  # noqa: PLC0415 - seldom
            dry_runs,
        )

        write(dry_runs(parsed), None)
        return 0
    if not isinstance(parsed.values.get("evidence"), str):
        message = "certify needs --evidence DIR, or --plan"
        raise UsageError(message)
    order = _order(parsed)
    signer = signer_in(parsed)
    now = _now(parsed)
    evidence = _evidence(parsed, order, now)
    found = certify(order, evidence)
    issue = issue_of(parsed, signer, now)
    level, tracks = _asked(parsed, found)
    denied = denied_of(found.grants, level, tracks)
    style = style_of(parsed, to_file=False)
    is_made_up = any(one.synthetic for one in evidence.files)
    refused = bool(denied) or (is_made_up and "synthetic" not in parsed.values)
    files = certificate_files(parsed, found, issue, None if refused else signer)
    ending = _ending(denied, level, files.written, style)
    if refused and not denied:
        ending = _synthetic(style)
    write((*files.text(style), *ending), None)
    files.write()
    return _code(found, denied) or (_INCONCLUSIVE if refused else 0)


def _now(parsed: Parsed) -> datetime:
    """Now; of machines that do not exist a day may be told, to make the same again."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    if "synthetic" in parsed.values and told.isdecimal():
        return datetime.fromtimestamp(int(told), UTC)
    return utc_now()


def _order(parsed: Parsed) -> Order:
    spec = parsed.values.get("spec")
    edition = load_edition(spec if isinstance(spec, str) else "1.0")
    permission = may_certify(edition)
    if not permission.is_given:
        raise UnknownEdition(permission.reason)
    found = [find_profile(edition, name) for name in list_of(parsed, "profile")]
    instances = [one.id for one in found if one.kind == "instance"]
    if len(instances) != 1:
        told = f"not {len(instances)}" if instances else "such as instance/aws-p5"
        message = f"certify needs --profile with one type of machine, {told}"
        raise UsageError(message)
    return Order(
        instances[0],
        spec if isinstance(spec, str) else "1.0",
        isinstance(spec, str),
        tuple(one.id for one in found if one.kind not in {"instance", "use"}),
        "plugins" in parsed.values,
        _own_numbers(parsed),
    )


def _own_numbers(parsed: Parsed) -> str:
    """The file of own numbers, which must lie with the evidence; empty for none."""
    told = parsed.values.get("tailor")
    if not isinstance(told, str):
        return ""
    folder = os.path.realpath(str(parsed.values["evidence"]))
    path = os.path.realpath(told)
    if os.path.commonpath((folder, path)) != folder:
        message = f"--tailor {told}: must lie in the folder of the evidence, {folder}"
        raise UsageError(message)
    return os.path.normpath(told)


def _evidence(parsed: Parsed, order: Order, now: datetime) -> Evidence:
    folder = os.path.normpath(str(parsed.values["evidence"]))
    expected = parsed.values.get("expect")
    found = read_evidence(
        folder,
        now,
        terms_of(order.spec).evidence_age_days,
        expected if isinstance(expected, int) else None,
    )
    if found.kit.problems:
        told = "; ".join(f"{one.path}: {one.text}" for one in found.kit.problems[:3])
        message = f"{folder}: {told}; mend or delete what cannot be read"
        raise KitError(message)
    manifest = read_manifest(folder)
    changed = differences(manifest, found.kit) if manifest else ()
    if changed:
        told = "; ".join(f"{one.path} {one.text}" for one in changed[:3])
        message = f"{folder}: {told}"
        raise KitError(message)
    if not found.files:
        message = f"{folder}: holds no evidence; speccheck certify --plan says what"
        raise KitError(message)
    return found


def _asked(parsed: Parsed, found: Certification) -> tuple[str, tuple[str, ...]]:
    level = one_of(parsed, "level", _LEVELS)
    tracks = tuple(list_of(parsed, "track"))
    known = [one.track for one in found.grants]
    for one in tracks:
        if one not in known:
            message = f"--track {one}: must be one of {', '.join(known)}"
            raise UsageError(message)
    return level, tracks


def _ending(
    denied: list[Grant], level: str, written: str, style: Style
) -> Iterator[str]:
    if not denied:
        told = f"written: {written}" if written else "not signed: no --key"
        yield f"\n{style.paint('certified', 'good')}  {told}\n"
        return
    names = ", ".join(one.track for one in denied)
    count = counted(len(denied), "track")
    yield f"\n{style.paint('denied', 'error')}  {count} below {level}: {names}\n"
    yield "nothing was written; --level and --track ask for less\n"


def _synthetic(style: Style) -> Iterator[str]:
    word = style.paint("denied", "error")
    yield f"\n{word}  machines that do not exist certify nothing\n"
    yield "nothing was written; --synthetic writes one that says so of itself\n"


def _code(found: Certification, denied: list[Grant]) -> int:
    if any(one.outcome == "error" for one in found.results):
        return _BUG
    if not denied:
        return 0
    failed = any(o.outcome == "fail" for one in denied for o in one.denied)
    return _DENIED if failed else _INCONCLUSIVE
