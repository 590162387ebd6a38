"""`evidence.json`: what was packed into a kit, and whether it is still there."""

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from speccheck.validator import VERSION
from speccheck.validator.certification.kit import MANIFEST, Kit, KitFile
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import read_text

if TYPE_CHECKING:
    from speccheck.validator.certification.evidence_model import (
        ListedFile,
        MissingEvidence,
    )

SCHEMA = "speccheck-evidence/1"
_FAMILY = SCHEMA.partition("/")[0]
_MOST_MISTAKES = 3  # mistakes of a manifest in one message
_FIELDS = (
    *("path", "kind", "format", "sha256", "size_bytes", "taken", "specimen"),
    *("synthetic", "gives", "nodes", "instance_type"),
)

What = Literal["missing", "changed", "not listed"]


class ManifestError(Exception):
    """An `evidence.json` that cannot be read; the message says what to do."""


class Missing(Record):
    """Evidence that a level wants and no file gives; no track: all of them lack it.

    musts: those of the clauses without which there is no such level. Of machines, there
    are no clauses, and all levels that look at machines lack it.
    """

    track: str
    level: str
    evidence: tuple[str, ...]
    clauses: tuple[str, ...]
    musts: tuple[str, ...]
    text: str

    @property
    def denies(self) -> bool:
        """Whether there is no such level without it."""
        return bool(self.musts) or not self.clauses


class Manifest(Record):
    """What `evidence.json` says."""

    created: str
    instance_type: str
    provider: str
    level: str
    files: tuple[KitFile, ...]
    missing: tuple[Missing, ...] = ()
    tool: str = VERSION


class ManifestDifference(Record):
    """A file of which manifest and folder say different things."""

    path: str
    what: What
    text: str


def manifest_text(manifest: Manifest) -> str:
    """Return the text of `evidence.json`."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": manifest.tool},
        "created": manifest.created,
        "instance_type": manifest.instance_type,
        "provider": manifest.provider,
        "level": manifest.level,
        "files": [
            {name: _plain(getattr(file, name)) for name in _FIELDS}
            for file in manifest.files
        ],
        "missing": [
            {name: _plain(value) for name, value in missing._asdict().items()}
            for missing in manifest.missing
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _plain(value: object) -> object:
    return [*value] if isinstance(value, tuple) else value


def read_manifest(folder: str) -> Manifest | None:
    """Return what was packed into a folder; None where nothing was packed.

    Raises ManifestError for a file that is no manifest, or one of a newer version.
    """
    path = os.path.join(folder, MANIFEST)
    if not os.path.lexists(path):
        return None
    if os.path.islink(path):
        message = f"{path}: is a link; put the file itself into the folder"
        raise ManifestError(message)
    try:
        text = read_text(path)
    except ReadError as error:
        raise ManifestError(str(error)) from error
    return manifest_of(text, path)


def manifest_of(text: str, path: str) -> Manifest:
    """Return the manifest of a text; raises ManifestError."""
    again = f"write it anew: speccheck evidence pack {os.path.dirname(path) or '.'}"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"{path}: is no JSON ({error}); {again}"
        raise ManifestError(message) from error
    schema = content.get("schema") if isinstance(content, dict) else None
    family, _, version = str(schema).partition("/")
    if family != _FAMILY:
        message = f"{path}: its schema is no {SCHEMA}; {again}"
        raise ManifestError(message)
    if version != SCHEMA.partition("/")[2]:
        message = f"{path}: {schema}: of a newer speccheck; read it with that one"
        raise ManifestError(message)
    return _validated(content, path, again)


def _validated(content: Mapping[str, Any], path: str, again: str) -> Manifest:
    from pydantic import ValidationError  # noqa: PLC0415 - only where there is one

    from speccheck.validator.certification.evidence_model import (  # noqa: PLC0415
        EvidenceDocument,
    )

    try:
        evidence_document = EvidenceDocument.model_validate(content)
    except ValidationError as error:
        text = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
            for item in error.errors()[:_MOST_MISTAKES]
        )
        message = f"{path}: {text}; {again}"
        raise ManifestError(message) from error
    files = tuple(map(_listed, evidence_document.files))
    twice = _twice(file.path for file in files)
    if twice:
        message = f"{path}: lists {twice} twice; {again}"
        raise ManifestError(message)
    return Manifest(
        created=evidence_document.created,
        instance_type=evidence_document.instance_type,
        provider=evidence_document.provider,
        level=evidence_document.level,
        files=files,
        missing=tuple(map(_missing, evidence_document.missing)),
        tool=evidence_document.tool.version,
    )


def _listed(listed_file: "ListedFile") -> KitFile:
    return KitFile(
        path=listed_file.path,
        kind=listed_file.kind,
        format=listed_file.format,
        sha256=listed_file.sha256,
        size_bytes=listed_file.size_bytes,
        taken=listed_file.taken,
        specimen=listed_file.specimen,
        synthetic=listed_file.synthetic,
        gives=tuple(listed_file.gives),
        nodes=listed_file.nodes,
        instance_type=listed_file.instance_type,
    )


def _missing(missing_evidence: "MissingEvidence") -> Missing:
    return Missing(
        track=missing_evidence.track,
        level=missing_evidence.level,
        evidence=tuple(missing_evidence.evidence),
        clauses=tuple(missing_evidence.clauses),
        musts=tuple(missing_evidence.musts),
        text=missing_evidence.text,
    )


def _twice(paths: Iterable[str]) -> str:
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            return path
        seen.add(path)
    return ""


def differences(manifest: Manifest, kit: Kit) -> tuple[ManifestDifference, ...]:
    """Return every file that is missing, changed or not listed, by path.

    What the folder says of a file counts, and a manifest that says more of it - another
    time, another machine, that it is no synthetic one - was changed as well.
    """
    listed = {file.path: file for file in manifest.files}
    there = {file.path: file for file in kit.files}
    result = []
    for path in sorted({*listed, *there}):
        evidence_file, other = listed.get(path), there.get(path)
        if other is None:
            text = f"is listed in {MANIFEST} and is not there"
            result.append(ManifestDifference(path, "missing", text))
        elif evidence_file is None:
            text = f"is there and not listed in {MANIFEST}: pack the folder again"
            result.append(ManifestDifference(path, "not listed", text))
        elif evidence_file.sha256 != other.sha256:
            text = (
                f"is not what was packed: sha256 {_short(other)}, not "
                f"{_short(evidence_file)}"
            )
            result.append(ManifestDifference(path, "changed", text))
        else:
            text = _difference_from_file(evidence_file, other)
            if text:
                result.append(ManifestDifference(path, "changed", text))
    return tuple(result)


def _short(file: KitFile) -> str:
    return file.sha256[:16] or "none"


def _difference_from_file(listed: KitFile, there: KitFile) -> str:
    """Return the first thing that the manifest says otherwise than the file itself."""
    for name in _FIELDS:
        result, other = getattr(listed, name), getattr(there, name)
        if result != other:
            outcome, says = result or "nothing", other or "nothing"
            return f"{MANIFEST} says of its {name} {outcome}, the file itself {says}"
    return ""
