"""The form in which a run reads an edition: one JSON file, hashed.

For the compiler and for tests; `validator/editions/edition.py` reads it.
"""

import json
from typing import Any

from pydantic import BaseModel

from speccheck.validator.editions.edition import digest
from speccheck.validator.editions.edition_models import (
    ClauseSource,
    EditionSource,
    ProfileSource,
)

Json = dict[str, Any]
_HEAD_FOR_READERS = {
    "tracks": True,
    "evidence_kinds": True,
    "deprecated": True,  # with its clause
    "withdrawn": True,  # beside the clauses
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
        "clauses": {clause.id: _clause(clause, source) for clause in source.clauses},
        "conditions": {name: _dump(one) for name, one in source.conditions.items()},
        "profiles": {profile.id: _profile(profile) for profile in source.profiles},
    }
    if source.head.withdrawn:
        content["withdrawn"] = {
            name: _dump(one) for name, one in source.head.withdrawn.items()
        }
    return {**content, "sha256": digest(content)}


def _clause(clause: ClauseSource, source: EditionSource) -> Json:
    row = {**_dump(clause, _CLAUSE_FOR_READERS), "area": clause.area}
    deprecated = source.head.deprecated.get(clause.id)
    return row if deprecated is None else {**row, "deprecated": _dump(deprecated)}


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
