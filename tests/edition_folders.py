"""Editions in a folder of a test: a base with two clauses, and patches of it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

import speccheck.schemas
from compile_edition import compiled_edition
from speccheck.validator.editions.edition import Edition, edition_of
from speccheck.validator.editions.source import EditionSourceError

SCHEMAS = Path(speccheck.schemas.__file__).parent

Patch = dict[str, Any]


def base(folder: Path) -> Path:
    """Return a copy of edition 1.0 that a test may change."""
    copied = folder / "1.0"
    shutil.copytree(SCHEMAS / "1.0", copied)
    return copied


def write(folder: Path, edition_id: str, head: Patch, **files: Patch) -> Path:
    """Return an edition that extends 1.0: what `head` says, and files by short names.

    clauses: of the area COMM; profiles: of fabrics; changes: of CHANGES.yaml.
    """
    made = folder / edition_id
    for name in ("clauses", "profiles"):
        (made / name).mkdir(parents=True, exist_ok=True)
    stage = "draft" if edition_id.endswith("-draft") else "candidate"
    content = {"id": edition_id, "extends": "1.0", "stage": stage, **head}
    _write(made / "edition.yaml", content)
    changes = files.get("changes", {"changes": []})
    _write(made / "CHANGES.yaml", {"before": "edition 1.0", **changes})
    if "clauses" in files:
        _write(made / "clauses/comm.yaml", {"area": "COMM", **files["clauses"]})
    if "profiles" in files:
        _write(made / "profiles/fabrics.yaml", files["profiles"])
    return made


def reasons(kind: str, *clauses: str) -> Patch:
    """Return a CHANGES.yaml with one entry."""
    return {"changes": [{"kind": kind, "clauses": [*clauses], "reason": "A test."}]}


def compiled(folder: Path) -> Edition:
    """Return the edition of a folder; raises EditionSourceError."""
    return edition_of(json.loads(compiled_edition(folder)))


def clause(clause_id: str = "COMM-901", **fields: Any) -> Patch:  # noqa: ANN401 - YAML
    """Return a whole new clause: a should of the core, but for the fields given."""
    level = fields.get("level", "should")
    return {
        "id": clause_id,
        "title": "A clause of a test",
        "level": level,
        "status": "core",
        "certification_level": "L1",
        "tracks": ["fabric"],
        "evidence": ["plan.communication"],
        "requirement": f"Buckets {level} be at most {{most}}.",
        "rationale": "A test.",
        "remedy": "Change the test.",
        "numbers": {
            "most": {
                "value": 8,
                "unit": "nodes",
                "plausible": [1, 64],
                "source": "a test",
                "confidence": "engineering-default",
            }
        },
        "origin": {"engineering_default": ["a test"]},
        **fields,
    }


def _write(path: Path, content: Patch) -> None:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def problems_of(folder: Path) -> list[str]:
    """Return what the compiler says of an edition that it refuses."""
    with pytest.raises(EditionSourceError) as caught:
        compiled_edition(folder)
    return caught.value.problems
