"""`speccheck evidence pack|list DIR`: what a certificate is to rest on."""

import os
from datetime import UTC, datetime

from speccheck.validator.certification.evidence_file import Kit
from speccheck.validator.certification.kit import MANIFEST, KitError, read_kit
from speccheck.validator.certification.manifest import (
    Manifest,
    ManifestError,
    differences,
    manifest_text,
    read_manifest,
)
from speccheck.validator.certification.needs import LEVELS, Asked, asked_of
from speccheck.validator.certification.review import Review, review_of
from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.editions.compose import find_profile
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.report.evidence_text import kit_text, listed_text
from speccheck.validator.report.write import write

_MISSING, _UNREADABLE = 3, 2
REFUSED = (KitError, ManifestError)


def show_kit(line: CommandLine) -> int:
    """Show what a kit holds; returns the exit code."""
    folder = os.path.normpath(line.only("folder"))
    manifest = read_manifest(folder)
    kit = read_kit(folder)
    found = differences(manifest, kit) if manifest else ()
    write(listed_text(kit, found, has_manifest=manifest is not None), None)
    if kit.problems:
        return _UNREADABLE
    return _MISSING if found or not kit.evidence else 0


def pack(line: CommandLine) -> int:
    """Write down what a kit holds, and what is missing; returns the exit code."""
    folder = os.path.normpath(line.only("folder"))
    asked = asked_in(line)
    out = _out(line, folder)
    kit = read_kit(folder)
    now = now_in(line)
    review = review_of(kit, asked, now, line.integer("expect"))
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


def asked_in(line: CommandLine) -> Asked:
    """The level and the type of machine of a command line; raises UsageError."""
    edition = load_edition(line.text("spec") or "1.0")
    level = line.word("level", (LEVELS[-1], *LEVELS[:-1]))
    found = [find_profile(edition, name) for name in line.texts("profile")]
    instances = [one.id for one in found if one.kind == "instance"]
    others = [one.id for one in found if one.kind not in {"instance", "use"}]
    if len(instances) > 1 or others:
        told = ", ".join(instances[1:] or others)
        message = f"--profile {told}: must be one type of machine, instance/..."
        raise UsageError(message)
    return asked_of(edition, instances[0] if instances else "", level)


def now_in(line: CommandLine) -> datetime:
    """The time that counts as now, UTC; raises UsageError."""
    told = line.text("now")
    if told is None:
        return datetime.now(UTC)
    try:
        found = datetime.fromisoformat(told)
    except ValueError as error:
        message = f"--now {told}: must be a time, such as 2026-11-22T10:00:00Z"
        raise UsageError(message) from error
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _out(line: CommandLine, folder: str) -> str:
    """Where the manifest is written; raises UsageError."""
    told = line.text("out")
    default = os.path.join(folder, MANIFEST)
    if told is None:
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
