"""What the compiler refuses of an edition that extends another, and how it says so."""

from pathlib import Path
from typing import Any

import pytest

from compile_edition import main
from edition_folders import base, clause, problems_of, reasons, write
from slow_cases import few
from speccheck.validator.editions.edition import COMPILED, load_edition

GONE = {"reason": "nobody could judge it", "since": "2.0", "replaced_by": "COMM-002"}
NOTICE = {"reason": "a test", "since": "1.1", "removed_in": "2.0"}
REFUSED: dict[str, tuple[str, Any, dict[str, Any], str]] = {
    "a_clause_that_the_base_has": (
        "1.1-draft",
        {},
        {"clauses": {"clauses": [clause("COMM-001")]}},
        (
            "clauses/comm.yaml: COMM-001: the base has it already: what changes of it "
            "belongs under changes"
        ),
    ),
    "a_change_of_nothing": (
        "1.1-draft",
        {},
        {"clauses": {"changes": [{"id": "COMM-999", "title": "T"}]}},
        "clauses/comm.yaml: changes: COMM-999: the base has none of that id",
    ),
    "a_profile_that_the_base_has": (
        "1.1-draft",
        {},
        {"profiles": {"profiles": [{"id": "fabric/efa", "status": "core"}]}},
        "profiles/fabrics.yaml: fabric/efa: the base has it already",
    ),
    "a_field_that_no_clause_has": (
        "1.1-draft",
        {},
        {"clauses": {"changes": [{"id": "COMM-001", "severity": "high"}]}},
        "clauses/comm.yaml: COMM-001: severity: Extra inputs are not permitted",
    ),
    "a_file_of_another_form": (
        "1.1-draft",
        {},
        {"clauses": {"changed": []}},
        "clauses/comm.yaml: changed: Extra inputs are not permitted",
    ),
    "a_row_without_id": (
        "1.1-draft",
        {},
        {"clauses": {"changes": [{"title": "T"}]}},
        "clauses/comm.yaml: changes.0.id: Field required",
    ),
    "a_base_that_nobody_has": (
        "1.1-draft",
        {"extends": "0.9"},
        {},
        "edition.yaml: extends: there is no edition 0.9",
    ),
    "a_base_of_another_form": (
        "1.1-draft",
        {"extends": ["1.0"]},
        {},
        "edition.yaml: extends: Input should be a valid dictionary",
    ),
    "itself": (
        "1.1-draft",
        {"extends": "1.1-draft"},
        {},
        "edition.yaml: extends: 1.1-draft comes to extend itself",
    ),
    "a_base_that_changed": (
        "1.1-draft",
        {"extends": {"id": "1.0", "sha256": "0" * 64}},
        {},
        (
            "edition.yaml: extends: 1.0 has changed: this edition was written for "
            "sha256 000000000000, its files make "
        ),
    ),
    "an_edition_that_pins_nothing": (
        "1.1",
        {},
        {},
        (
            "edition.yaml: extends: names no sha256, as all but a draft must: write "
            '{id: "1.0", sha256: '
        ),
    ),
    "a_draft_that_does_not_say_so": (
        "1.1-draft",
        {"stage": "candidate", "extends": {"id": "1.0", "sha256": ""}},
        {},
        "edition.yaml: id: 1.1-draft: a draft, and no other, ends in -draft",
    ),
    "a_clause_withdrawn_in_vain": (
        "2.0-draft",
        {"withdrawn": {"COMM-999": {"reason": "a test", "since": "2.0"}}},
        {},
        "edition.yaml: withdrawn: COMM-999: the base has no such clause",
    ),
    "a_tombstone_without_reason": (
        "2.0-draft",
        {"withdrawn": {"COMM-001": {"since": "2.0"}}},
        {},
        "edition.yaml: withdrawn.COMM-001.reason: Field required",
    ),
    "a_tombstone_of_another_edition": (
        "2.0-draft",
        {"withdrawn": {"COMM-001": {"reason": "a test", "since": "1.0"}}},
        {"changes": reasons("withdrawn", "COMM-001")},
        "edition.yaml: withdrawn: COMM-001: since: 1.0: it is since 2.0",
    ),
    "a_replacement_that_is_not_there": (
        "2.0-draft",
        {"withdrawn": {"COMM-001": {**GONE, "replaced_by": "COMM-999"}}},
        {},
        "edition.yaml: withdrawn: COMM-001: replaced_by: COMM-999 is no clause",
    ),
    "a_notice_for_nobody": (
        "1.1-draft",
        {"deprecated": {"COMM-999": NOTICE}},
        {},
        "edition.yaml: deprecated: COMM-999: is no clause",
    ),
    "a_notice_that_comes_too_late": (
        "1.1-draft",
        {"deprecated": {"COMM-001": {**NOTICE, "removed_in": "1.1"}}},
        {},
        "edition.yaml: deprecated: COMM-001: removed_in: 1.1 does not come after",
    ),
    "a_change_without_reason": (
        "1.1-draft",
        {"deprecated": {"COMM-001": NOTICE}},
        {},
        "CHANGES.yaml: COMM-001 differs from 1.0, and no entry says why",
    ),
    "an_edition_that_is_no_later": (
        "1.0-draft",
        {},
        {},
        "edition.yaml: id: 1.0-draft does not come after 1.0",
    ),
}


@pytest.mark.parametrize("case", few(REFUSED, [*REFUSED][::3].__contains__))
def test_a_patch_that_breaks_a_rule_is_refused(tmp_path: Path, case: str) -> None:
    name, head, files, expected = REFUSED[case]
    if isinstance(head.get("extends"), dict) and not head["extends"]["sha256"]:
        pin = {"id": "1.0", "sha256": load_edition("1.0").sha256}
        head = {**head, "extends": pin}
    found = problems_of(write(tmp_path, name, head, **files))
    assert any(finding.startswith(expected) for finding in found), found


def test_a_patch_says_why_it_changes(tmp_path: Path) -> None:
    folder = write(tmp_path, "1.1-draft", {})
    (folder / "CHANGES.yaml").unlink()
    assert problems_of(folder)[0].startswith("CHANGES.yaml: cannot be read")


@pytest.mark.slow
def test_a_base_that_changes_afterwards_stops_the_compiler(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = base(tmp_path)
    pin = {"id": "1.0", "sha256": load_edition("1.0").sha256}
    folder = write(tmp_path, "1.1-draft", {"extends": pin})
    assert main([str(folder)]) == 0
    kept = (folder / COMPILED).read_bytes()
    path = source / "clauses/comm.yaml"
    text = path.read_text(encoding="utf-8").replace("value: 8\n", "value: 16\n", 1)
    path.write_text(text, encoding="utf-8")
    assert main([str(folder)]) == 1
    assert (
        "1.1-draft: edition.yaml: extends: 1.0 has changed" in capsys.readouterr().err
    )
    assert (folder / COMPILED).read_bytes() == kept
