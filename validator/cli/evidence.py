"""`speccheck evidence pack|list DIR`: what a certificate is to rest on."""

import os
from datetime import UTC, datetime

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
    Asked,
    Review,
    asked_of,
    review_of,
)
from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.option_table import Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import REFUSALS, list_of, one_of
from speccheck.validator.editions.compose import find_profile
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.report.certification_text import kit_text, listed_text
from speccheck.validator.report.write import write

_GROUP = "Evidence"
_MISSING, _UNREADABLE = 3, 2
PACK_OPTIONS: tuple[Option, ...] = (
    Option(
        "--profile",
        "type of machine: instance/azure-nd96isr-h100-v5",
        "text",
        "P",
        repeatable=True,
        group=_GROUP,
    ),
    Option("--level", "L1, L2 or L3 (default)", "text", "LEVEL", group=_GROUP),
    Option("--expect", "machines that there should be", "integer", "N", group=_GROUP),
    Option("--now", "time that counts as now: 2026-11-22", "text", "T", group=_GROUP),
    Option("--out", f"default DIR/{MANIFEST}", "text", "FILE", group=_GROUP),
    Option("--spec", "edition, or a folder with one", "text", "EDITION", group=_GROUP),
)
LIST_OPTIONS: tuple[Option, ...] = ()
HELP = f"""\
usage: speccheck evidence pack DIR [options]
       speccheck evidence list DIR

pack looks through a folder - snapshots of speccheck probe and preflight, results of
speccheck bench, logs of nccl-tests and of runs, configurations and scripts of the job -
and writes {MANIFEST}: each file with its hash, what it is, of which machine and when it
was taken. It says what is missing for the level that is asked for, which evidence is
too old, and where a credential stands. list shows what there is, and which files are
missing, changed or new since they were packed.

Hidden files are passed over, and links are not followed. What is to be measured for a
level, and how, says speccheck certify --plan.

Exit codes: 0 all there; 3 something is missing, or does not serve; 2 the command line
is wrong or a file cannot be read: then nothing is written; 4 a bug of speccheck.
{options_help(PACK_OPTIONS)}
"""


def evidence(words: list[str]) -> int:
    """Pack or list an evidence kit; returns the exit code."""
    if not words or words[0] in {"-h", "--help"} or {"-h", "--help"} & {*words[1:2]}:
        write(HELP, None)
        return 0 if words else _UNREADABLE
    refusals = (*REFUSALS, KitError, ManifestError)
    return guarded(lambda: _evidence(words), refusals)


def _evidence(words: list[str]) -> int:
    command, *rest = words
    if command == "pack":
        return _pack(parse(rest, PACK_OPTIONS))
    if command == "list":
        return _list(parse(rest, LIST_OPTIONS))
    message = f"evidence {command}: must be pack or list"
    raise UsageError(message)


def _folder(parsed: Parsed, command: str) -> str:
    if len(parsed.files) != 1:
        message = f"evidence {command} takes one folder, not {len(parsed.files)}"
        raise UsageError(message)
    return os.path.normpath(parsed.files[0])


def _list(parsed: Parsed) -> int:
    folder = _folder(parsed, "list")
    manifest = read_manifest(folder)
    kit = read_kit(folder)
    found = differences(manifest, kit) if manifest else ()
    write(listed_text(kit, found, has_manifest=manifest is not None), None)
    if kit.problems:
        return _UNREADABLE
    return _MISSING if found or not kit.evidence else 0


def _pack(parsed: Parsed) -> int:
    folder = _folder(parsed, "pack")
    asked = asked_in(parsed)
    out = _out(parsed, folder)
    expected = parsed.values.get("expect")
    kit = read_kit(folder)
    now = now_in(parsed)
    number = expected if isinstance(expected, int) else None
    review = review_of(kit, asked, now, number)
    if kit.problems:
        write(kit_text(kit, asked, review, f"{out}: not written"), None)
        return _UNREADABLE
    write(manifest_text(manifest_for(kit, asked, review, now)), out)
    write(kit_text(kit, asked, review, f"{out}: written"), None)
    return 0 if review.is_whole and kit.evidence else _MISSING


def manifest_for(kit: Kit, asked: Asked, review: Review, now: datetime) -> Manifest:
    """What is written down of a kit."""
    types = kit.instance_types
    return Manifest(
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        instance_type=asked.instance_type or (types[0] if len(types) == 1 else ""),
        provider=asked.provider,
        level=asked.level,
        files=kit.files,
        missing=review.missing,
    )


def asked_in(parsed: Parsed) -> Asked:
    """The level and the type of machine of a command line; raises UsageError."""
    spec = parsed.values.get("spec")
    edition = load_edition(spec if isinstance(spec, str) else "1.0")
    level = one_of(parsed, "level", (LEVELS[-1], *LEVELS[:-1]))
    found = [find_profile(edition, name) for name in list_of(parsed, "profile")]
    instances = [one.id for one in found if one.kind == "instance"]
    others = [one.id for one in found if one.kind not in {"instance", "use"}]
    if len(instances) > 1 or others:
        told = ", ".join(instances[1:] or others)
        message = f"--profile {told}: must be one type of machine, instance/..."
        raise UsageError(message)
    return asked_of(edition, instances[0] if instances else "", level)


def now_in(parsed: Parsed) -> datetime:
    """The time that counts as now, UTC; raises UsageError."""
    told = parsed.values.get("now")
    if not isinstance(told, str):
        return datetime.now(UTC)
    try:
        found = datetime.fromisoformat(told)
    except ValueError as error:
        message = f"--now {told}: must be a time, such as 2026-11-22T10:00:00Z"
        raise UsageError(message) from error
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _out(parsed: Parsed, folder: str) -> str:
    """Where the manifest is written; raises UsageError."""
    told = parsed.values.get("out")
    default = os.path.join(folder, MANIFEST)
    if not isinstance(told, str):
        return default
    path, whole = os.path.realpath(told), os.path.realpath(folder)
    if os.path.isdir(path):
        message = f"--out {told}: is a folder; name a file in it"
        raise UsageError(message)
    inside = os.path.commonpath((path, whole)) == whole
    if inside and path != os.path.realpath(default):
        message = f"--out {told}: in the folder itself it must be called {MANIFEST}"
        raise UsageError(message)
    return told
