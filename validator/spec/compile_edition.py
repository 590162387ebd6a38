"""Compiles an edition: `python -m speccheck.validator.spec.compile_edition [FOLDER]`.

The YAML files of the folder are the truth; a run reads only the compiled.json made of
them here. A test holds the two equal.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import speccheck.schemas
from speccheck.validator.spec.edition import COMPILED, digest
from speccheck.validator.spec.edition_models import EditionSource, ProfileSource
from speccheck.validator.spec.edition_source import (
    EditionSourceError,
    load_edition_source,
)

Json = dict[str, Any]
_HEAD_FOR_READERS = {
    "tracks": True,
    "evidence_kinds": True,
    "areas": {"__all__": {"rules"}},
    "units": {"__all__": {"text"}},
}
_CLAUSE_FOR_READERS = {"id": True}
_PROFILE_FOR_READERS = {
    "id",
    "note",
    "reason",
    "confidence",
    "link_layer",
    "rdma",
    "lossless",
    "network_names",
    "settings",
    "validity",
    "evidence_age",
    "coverage_floor",
    "specimens",
}
# Numbers of a use, under the names by which a run knows them.
_TERMS = {
    "validity": "validity_days",
    "evidence_age": "evidence_age_days",
    "coverage_floor": "coverage_floor",
    "specimens": "least_specimens",
}


def compile_edition(source: EditionSource) -> Json:
    """The edition as a run reads it, with the sha256 of its content.

    What is only for readers stays in the YAML files: the settings of fabrics, the
    changes and the provenance. Own numbers are held to the plausible ranges.
    """
    content: Json = {
        "edition": _dump(source.head, _HEAD_FOR_READERS),
        "clauses": {
            clause.id: {**_dump(clause, _CLAUSE_FOR_READERS), "area": clause.area}
            for clause in source.clauses
        },
        "conditions": {name: _dump(one) for name, one in source.conditions.items()},
        "profiles": {profile.id: _profile(profile) for profile in source.profiles},
    }
    return {**content, "sha256": digest(content)}


def _dump(model: BaseModel, exclude: Any = None) -> Json:  # noqa: ANN401 - pydantic's
    return model.model_dump(
        mode="json", exclude=exclude, exclude_defaults=True, exclude_none=True
    )


def _profile(profile: ProfileSource) -> Json:
    row = _dump(profile, _PROFILE_FOR_READERS)
    for name, compiled in _TERMS.items():
        found = getattr(profile, name)
        if found is not None:
            row[compiled] = found.value
    return row


def compiled_text(source: EditionSource) -> str:
    """The text of compiled.json: sorted keys, no blanks, one line."""
    content = compile_edition(source)
    text = json.dumps(
        content, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    return text + "\n"


def main(arguments: list[str]) -> int:
    """Compile the edition of a folder, or the newest of this repository."""
    newest = Path(speccheck.schemas.__file__).parent / "1.0"
    folder = Path(arguments[0]) if arguments else newest
    try:
        source = load_edition_source(folder)
    except EditionSourceError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    (folder / COMPILED).write_text(compiled_text(source), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
