"""`speccheck certify`: a signed certificate of a type of machine, or why not.

And `speccheck evidence pack|list DIR`, what a certificate is to rest on, and `speccheck
keygen`, the key that signs it.
"""

import hashlib
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from speccheck.validator.certification.certifying import (
    CertificateOrder,
    Certification,
    certify,
    denied_of,
    terms_of,
)
from speccheck.validator.certification.granting import Grant
from speccheck.validator.certification.judging import (
    KitEvidence,
    SeveralJobs,
    read_evidence,
    utc_now,
)
from speccheck.validator.certification.kit import MANIFEST, Kit, KitError, read_kit
from speccheck.validator.certification.manifest import (
    Manifest,
    ManifestError,
    differences,
    manifest_text,
    read_manifest,
)
from speccheck.validator.certification.needs import (
    LEVELS,
    LevelRequest,
    Review,
    level_request,
    review_of,
)
from speccheck.validator.certification.run_plan import ENGINES, RunPlan, run_plan
from speccheck.validator.certification.statement import Issue, derived, predicate
from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.cli.reports import Forms, outputs_of, style_of, write_forms
from speccheck.validator.editions.compose import find_profile, may_certify
from speccheck.validator.editions.edition import (
    DEFAULT_EDITION,
    UnknownEdition,
    load_edition,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.certificate_text import certificate_text
from speccheck.validator.report.certification_text import (
    kit_text,
    listed_text,
    run_plan_text,
)
from speccheck.validator.report.style import Style, counted, printable
from speccheck.validator.report.write import write, write_all
from speccheck.validator.signing.envelope import (
    CERTIFICATE_TYPE,
    SigningError,
    Statement,
    statement_bytes,
)
from speccheck.validator.signing.keys import new_private_key, open_to_others, write_pair
from speccheck.validator.signing.signers import Signer, passphrase_of, signed, signer_of
from speccheck.validator.sources.documents.document import ReadError

_DENIED, _INCONCLUSIVE, _BUG = 1, 3, 4
_MISSING, _UNREADABLE = 3, 2  # of a kit
_LEVELS = ("L3", "L1", "L2")
REFUSED = (KitError, ManifestError, SeveralJobs, SigningError, ReadError)
DERIVED = ("test-result", "svr")
_DEFAULT = "certificate.json"
_NOBODY = "unnamed"
_MOST_NODES = 100_000
_NOT_OF_DRY_RUN = ("evidence", "key", "out", "html", "derive", "track", "level")
_FEWEST, _MOST = 2, 8  # certificates that are compared
_OF_COMPARISON = frozenset({"compare", "output", "color"})


def certify_command(line: CommandLine) -> int:
    """Plan, compare or certify; returns the exit code."""
    if line.has("compare"):
        return _compared(line)
    line.demand_no_file("--evidence DIR")
    if line.has("plan"):
        write(run_plan_text(_planned(line)), None)
        return 0
    if line.has("dry_run"):
        write(_dry_runs(line), None)
        return 0
    if line.text("evidence") is None:
        message = "certify needs --evidence DIR, or --plan"
        raise UsageError(message)
    order = _order(line)
    signer = _signer(line)
    now = _now(line)
    evidence = _judged_evidence(line, order, now)
    certification = certify(order, evidence)
    issue = _issue(line, signer, now)
    level, tracks = _level_and_tracks(line, certification)
    denied = denied_of(certification.grants, level, tracks)
    style = style_of(line, to_file=False)
    is_made_up = any(file.synthetic for file in evidence.files)
    refused = bool(denied) or (is_made_up and not line.has("synthetic"))
    files = _certificate_files(line, certification, issue, None if refused else signer)
    ending = _ending(denied, level, files.written, style)
    if refused and not denied:
        ending = _synthetic(style)
    write((*files.text(style), *ending), None)
    files.write()
    return _code(certification, denied) or (_INCONCLUSIVE if refused else 0)


def _now(line: CommandLine) -> datetime:
    """Return now, or the day that is set for machines that do not exist."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if line.has("synthetic") and text.isdecimal():
        return datetime.fromtimestamp(int(text), UTC)
    return utc_now()


def _order(line: CommandLine) -> CertificateOrder:
    spec = line.text("spec")
    edition = load_edition(spec or DEFAULT_EDITION)
    permission = may_certify(edition)
    if not permission.is_given:
        raise UnknownEdition(permission.reason)
    profiles = [find_profile(edition, name) for name in line.texts("profile")]
    instances = [profile.id for profile in profiles if profile.kind == "instance"]
    if len(instances) != 1:
        text = f"not {len(instances)}" if instances else "such as instance/aws-p5"
        message = f"certify needs --profile with one type of machine, {text}"
        raise UsageError(message)
    return CertificateOrder(
        instances[0],
        spec or DEFAULT_EDITION,
        spec is not None,
        tuple(
            profile.id
            for profile in profiles
            if profile.kind not in {"instance", "use"}
        ),
        line.has("plugins"),
        _own_numbers(line),
    )


def _own_numbers(line: CommandLine) -> str:
    """Return the file of own numbers, which must lie with the evidence.

    Empty for none.
    """
    text = line.text("tailor")
    if text is None:
        return ""
    folder = os.path.realpath(str(line.values["evidence"]))
    path = os.path.realpath(text)
    if os.path.commonpath((folder, path)) != folder:
        message = f"--tailor {text}: must lie in the folder of the evidence, {folder}"
        raise UsageError(message)
    return os.path.normpath(text)


def _judged_evidence(
    line: CommandLine, order: CertificateOrder, now: datetime
) -> KitEvidence:
    folder = os.path.normpath(str(line.values["evidence"]))
    evidence = read_evidence(
        folder,
        now,
        terms_of(order.spec).evidence_age_days,
        line.integer("expect"),
    )
    if evidence.kit.problems:
        text = "; ".join(
            f"{problem.path}: {problem.text}" for problem in evidence.kit.problems[:3]
        )
        message = f"{folder}: {text}; mend or delete what cannot be read"
        raise KitError(message)
    manifest = read_manifest(folder)
    changed = differences(manifest, evidence.kit) if manifest else ()
    if changed:
        text = "; ".join(
            f"{difference.path} {difference.text}" for difference in changed[:3]
        )
        message = f"{folder}: {text}"
        raise KitError(message)
    if not evidence.files:
        message = f"{folder}: holds no evidence; speccheck certify --plan says what"
        raise KitError(message)
    return evidence


def _level_and_tracks(
    line: CommandLine, certification: Certification
) -> tuple[str, tuple[str, ...]]:
    level = line.word("level", _LEVELS)
    tracks = tuple(line.texts("track"))
    known = [grant.track for grant in certification.grants]
    for track in tracks:
        if track not in known:
            message = f"--track {track}: must be one of {', '.join(known)}"
            raise UsageError(message)
    return level, tracks


def _ending(
    denied: list[Grant], level: str, written: str, style: Style
) -> Iterator[str]:
    if not denied:
        text = f"written: {written}" if written else "not signed: no --key"
        yield f"\n{style.paint('certified', 'good')}  {text}\n"
        return
    names = ", ".join(grant.track for grant in denied)
    count = counted(len(denied), "track")
    yield f"\n{style.paint('denied', 'error')}  {count} below {level}: {names}\n"
    yield "nothing was written; --level and --track ask for less\n"


def _synthetic(style: Style) -> Iterator[str]:
    word = style.paint("denied", "error")
    yield f"\n{word}  machines that do not exist certify nothing\n"
    yield "nothing was written; --synthetic writes one that says so of itself\n"


def _code(certification: Certification, denied: list[Grant]) -> int:
    if any(result.outcome == "error" for result in certification.results):
        return _BUG
    if not denied:
        return 0
    failed = any(
        denial.outcome == "fail" for grant in denied for denial in grant.denied
    )
    return _DENIED if failed else _INCONCLUSIVE


def _planned(line: CommandLine) -> RunPlan:
    """Return what a command line asks to run; raises UsageError."""
    engine = line.word("engine", ENGINES)
    number = line.integer("nodes")
    if number is not None and number > _MOST_NODES:
        message = f"--nodes {number}: at most {_MOST_NODES:,}"
        raise UsageError(message)
    result = level_request_of(line)
    least = result.terms.least_specimens or 1
    if number is not None and result.level != "L1" and number < least:
        message = f"--nodes {number}: a type is known by {least} machines at least"
        raise UsageError(message)
    return run_plan(result, next(text for text in ENGINES if text == engine), number)


def _dry_runs(line: CommandLine) -> Iterator[str]:
    """Return the text on each requested type of machine; all, where none is named."""
    from speccheck.validator.certification.published import dry_run  # noqa: PLC0415 - seldom
    from speccheck.validator.report.certification_text import dry_run_text  # noqa: PLC0415 - seldom

    for option in _NOT_OF_DRY_RUN:
        if option in line.values:
            message = f"--dry-run takes no --{option}: it judges published figures"
            raise UsageError(message)
    edition = line.text("spec") or DEFAULT_EDITION
    style = style_of(line, to_file=False)
    for number, name in enumerate(_types(line, edition)):
        if number:
            yield "\n"
        yield from dry_run_text(dry_run(name, edition), style)


def _types(line: CommandLine, spec: str) -> tuple[str, ...]:
    from speccheck.validator.catalogue.published_runs import published_types  # noqa: PLC0415 - seldom

    loaded = load_edition(spec)
    profiles = [find_profile(loaded, text) for text in line.texts("profile")]
    others = [profile.id for profile in profiles if profile.kind != "instance"]
    if others:
        message = f"--profile {others[0]}: --dry-run takes types of machines, instance/"
        raise UsageError(message)
    return tuple(dict.fromkeys(profile.id for profile in profiles)) or published_types()


def _compared(line: CommandLine) -> int:
    """Write a table of certificates; returns the exit code."""
    from speccheck.validator.certification.judging import (  # noqa: PLC0415 - seldom
        utc_now,
    )
    from speccheck.validator.report.certificate_table.table import (  # noqa: PLC0415 - seldom
        table_json,
        table_markdown,
        table_of,
        table_text,
    )
    from speccheck.validator.report.document_diff.reading import certificate_of  # noqa: PLC0415 - seldom
    from speccheck.validator.sources.documents.reading import read_text  # noqa: PLC0415 - seldom

    others = [name for name in line.values if name not in _OF_COMPARISON]
    if others:
        flag = others[0].replace("_", "-")
        message = f"--compare takes no --{flag}: it only reads certificates"
        raise UsageError(message)
    paths = line.files
    if not _FEWEST <= len(paths) <= _MOST:
        message = f"--compare takes {_FEWEST} to {_MOST} certificates, not {len(paths)}"
        raise UsageError(message)
    twice = [path for number, path in enumerate(paths) if path in paths[:number]]
    if twice:
        message = f"--compare: {twice[0]} is given twice"
        raise UsageError(message)
    outputs = outputs_of(line)
    text_lists = [(path, certificate_of(read_text(path), path)) for path in paths]
    table = table_of(text_lists, utc_now())
    forms: Forms = {
        "text": lambda style: table_text(table, style),
        "json": lambda _: table_json(table),
        "markdown": lambda _: table_markdown(table),
    }
    write_forms(line, outputs, forms)
    return 0


class CertificateFiles(Record):
    """What is said and written. written: the certificate; empty where none is."""

    predicate: dict[str, Any]
    contents: tuple[tuple[str, str], ...]
    written: str

    def text(self, style: Style) -> Iterator[str]:
        """Return the certificate on a terminal."""
        yield from certificate_text(self.predicate, style)

    def write(self) -> None:
        """Write all files, or none; raises WriteError."""
        write_all(((text,), path) for text, path in self.contents)


def _signer(line: CommandLine) -> Signer | None:
    """Return what signs; None without --key. Raises UsageError or SigningError."""
    key = line.text("key")
    if key is None:
        for option in ("out", "html", "derive", "public", "passphrase_env"):
            if option in line.values:
                flag = option.replace("_", "-")
                message = f"--{flag} needs --key: nothing is written that is not signed"
                raise UsageError(message)
        return None
    public, variable = line.text("public"), line.text("passphrase_env")
    signer = signer_of(key, os.environ, public or "", variable or "")
    if warning := open_to_others(key):
        sys.stderr.write(f"speccheck: warning: {printable(warning)}\n")
    return signer


def _issue(line: CommandLine, signer: Signer | None, now: datetime) -> Issue:
    """Return who issues the certificate, and its number, which grows with time."""
    return Issue(
        verifier=str(line.values.get("verifier", _NOBODY)),
        key_id=signer.public.key_id if signer else "",
        created=now,
        run_id=f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        third_party=line.has("third_party"),
        revocation=line.text("revocation") or "",
    )


def _certificate_files(
    line: CommandLine, certification: Certification, issue: Issue, signer: Signer | None
) -> CertificateFiles:
    """Return all files of a certificate; none without a signer."""
    result = predicate(certification, issue)
    if signer is None:
        return CertificateFiles(result, (), "")
    statement = Statement(
        result["instance_type"], result["type"]["sha256"], CERTIFICATE_TYPE, result
    )
    out = str(line.values.get("out", _DEFAULT))
    certificate = _signed(statement, signer)
    contents = [(certificate, out), *_derived(line, statement, certificate, signer)]
    page = line.text("html")
    if page is not None:
        from speccheck.validator.report.forms.html_certificate import (  # noqa: PLC0415
            certificate_page,
        )

        contents.append(
            (certificate_page(result, pictures=_pictures(certification)), page)
        )
    return CertificateFiles(result, tuple(contents), out)


def _pictures(certification: Certification) -> list[str]:
    """Return the machines as their snapshots tell that they are joined."""
    from speccheck.validator.node.machine_layout import layout_of_node  # noqa: PLC0415
    from speccheck.validator.report.topology_svg import specimen_pictures  # noqa: PLC0415
    from speccheck.validator.sources.joining.one_node import joined  # noqa: PLC0415

    machines = (
        [
            reading.node
            for file in machine.files
            for reading in file.readings
            if reading.node
        ]
        for machine in certification.evidence.subject.machines
    )
    return specimen_pictures(
        [layout_of_node(joined(nodes)) if nodes else None for nodes in machines]
    )


def _signed(statement: Statement, signer: Signer) -> str:
    return signed(statement_bytes(statement), signer).decode("utf-8")


def _derived(
    line: CommandLine, statement: Statement, certificate: str, signer: Signer
) -> Iterable[tuple[str, str]]:
    sha256 = hashlib.sha256(certificate.encode("utf-8")).hexdigest()
    for word in line.texts("derive"):
        kind, _, path = word.partition("=")
        if kind not in DERIVED or not path:
            message = f"--derive {word}: must be {' or '.join(DERIVED)}=FILE"
            raise UsageError(message)
        yield _signed(derived(kind, statement, sha256), signer), path


def show_kit(line: CommandLine) -> int:
    """Show what a kit holds; returns the exit code."""
    folder = os.path.normpath(line.only("folder"))
    manifest = read_manifest(folder)
    kit = read_kit(folder)
    result = differences(manifest, kit) if manifest else ()
    write(listed_text(kit, result, has_manifest=manifest is not None), None)
    if kit.problems:
        return _UNREADABLE
    return _MISSING if result or not kit.evidence else 0


def pack(line: CommandLine) -> int:
    """Write down what a kit holds, and what is missing; returns the exit code."""
    folder = os.path.normpath(line.only("folder"))
    result = level_request_of(line)
    out = _out(line, folder)
    kit = read_kit(folder)
    now = now_in(line)
    review = review_of(kit, result, now, line.integer("expect"))
    if kit.problems:
        write(kit_text(kit, result, review, f"{out}: not written"), None)
        return _UNREADABLE
    write(manifest_text(manifest_for(kit, result, review, now)), out)
    write(kit_text(kit, result, review, f"{out}: written"), None)
    return 0 if review.is_whole and kit.evidence else _MISSING


def manifest_for(
    kit: Kit, result: LevelRequest, review: Review, now: datetime
) -> Manifest:
    """Return what is written down of a kit."""
    types = kit.instance_types
    return Manifest(
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        instance_type=result.instance_type or (types[0] if len(types) == 1 else ""),
        provider=result.provider,
        level=result.level,
        files=kit.files,
        missing=review.missing,
    )


def level_request_of(line: CommandLine) -> LevelRequest:
    """Return the level and the type of machine of a command line; raises UsageError."""
    edition = load_edition(line.text("spec") or DEFAULT_EDITION)
    level = line.word("level", (LEVELS[-1], *LEVELS[:-1]))
    profiles = [find_profile(edition, name) for name in line.texts("profile")]
    instances = [profile.id for profile in profiles if profile.kind == "instance"]
    others = [
        profile.id for profile in profiles if profile.kind not in {"instance", "use"}
    ]
    if len(instances) > 1 or others:
        text = ", ".join(instances[1:] or others)
        message = f"--profile {text}: must be one type of machine, instance/..."
        raise UsageError(message)
    return level_request(edition, instances[0] if instances else "", level)


def now_in(line: CommandLine) -> datetime:
    """Return the time that counts as now, UTC; raises UsageError."""
    text = line.text("now")
    if text is None:
        return datetime.now(UTC)
    try:
        result = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"--now {text}: must be a time, such as 2026-11-22T10:00:00Z"
        raise UsageError(message) from error
    return result.astimezone(UTC) if result.tzinfo else result.replace(tzinfo=UTC)


def _out(line: CommandLine, folder: str) -> str:
    """Return where the manifest is written; raises UsageError."""
    result = line.text("out")
    default = os.path.join(folder, MANIFEST)
    if result is None:
        return default
    path, whole = os.path.realpath(result), os.path.realpath(folder)
    if os.path.isdir(path):
        message = f"--out {result}: is a folder; name a file in it"
        raise UsageError(message)
    inside = os.path.commonpath((path, whole)) == whole
    if inside and path != os.path.realpath(default):
        message = f"--out {result}: in the folder itself it must be called {MANIFEST}"
        raise UsageError(message)
    return result


def keygen(line: CommandLine) -> int:
    """Make a key pair; returns the exit code."""
    line.demand_no_file(f"--out {line.files[0]}" if line.files else "")
    private = line.text("out") or ""
    if not private:
        message = "keygen needs --out FILE, the file of the private key"
        raise UsageError(message)
    if private == "-":
        message = "keygen writes a private key to a file, never to standard output"
        raise UsageError(message)
    public = line.text("public") or _public_name(private)
    variable = line.text("passphrase_env") or ""
    passphrase = passphrase_of(variable, os.environ)
    key = new_private_key()
    write_pair((private, key.pem(passphrase)), (public, key.public.pem()))
    kind = "not encrypted: whoever reads it can sign in your name"
    if variable:
        kind = f"encrypted by the passphrase of {variable}"
    write(
        f"private key  {private} ({kind})\n"
        f"public key   {public}\n"
        f"key id       {key.public.key_id}\n",
        None,
    )
    return 0


def _public_name(private: str) -> str:
    return f"{private.removesuffix('.pem')}.pub.pem"
