"""An edition that extends another: flattened, held to its base, ids used once."""

import json
from pathlib import Path
from typing import Any

import pytest

from compile_edition import compiled_edition, main
from edition_folders import (
    SCHEMAS,
    base,
    clause,
    compiled,
    problems_of,
    reasons,
    write,
)
from speccheck.validator.editions.edition import COMPILED, age, editions, load_edition
from speccheck.validator.editions.source import (
    compile_edition,
    load_edition_source,
)

SHIPPED = editions()
GONE = {"reason": "nobody could judge it", "since": "2.0", "replaced_by": "COMM-002"}


# The editions that come with speccheck


@pytest.mark.parametrize("name", SHIPPED)
def test_a_compiled_edition_is_that_of_its_files(name: str) -> None:
    folder = SCHEMAS / name
    text = (folder / COMPILED).read_text(encoding="utf-8")
    assert text == compiled_edition(folder)
    assert load_edition(name).id == name


@pytest.mark.parametrize("name", SHIPPED)
def test_what_was_withdrawn_stays_withdrawn(name: str) -> None:
    """Ids are permanent, in every later edition."""
    edition = load_edition(name)
    for earlier in SHIPPED[: SHIPPED.index(name)]:
        before = load_edition(earlier)
        assert not set(before.withdrawn) & set(edition.clauses)
        assert set(before.withdrawn) <= set(edition.withdrawn)
        assert set(before.clauses) <= {*edition.clauses, *edition.withdrawn}


@pytest.mark.parametrize("name", SHIPPED)
def test_an_edition_names_the_base_that_it_extends(name: str) -> None:
    edition = load_edition(name)
    if edition.extends is not None:
        assert load_edition(edition.extends.id).sha256 == edition.extends.sha256


def test_edition_1_1_adds_what_primary_sources_support() -> None:
    before, after = load_edition("1.0"), load_edition("1.1")
    added = [item for name, item in after.clauses.items() if name not in before.clauses]
    assert {item.id for item in added} == {
        *("COMM-093", "CONF-012", "FAB-070", "FAB-071", "FT-023"),
        *("HW-169", "HW-170", "HW-171"),
        *("MRC-023", "MRC-024", "MRC-025", "MRC-026", "MRC-027"),
    }
    for item in added:
        assert item.level == ("may" if item.id == "FT-023" else "should")
        if item.id in {"CONF-012", "FT-023"}:  # bounds far above what was published
            continue
        assert item.origin["primary"]
        if item.id in {"COMM-093", "HW-169"}:  # shares of what is published
            continue
        assert all(number.confidence == "verified" for number in item.numbers.values())
    assert after.clauses["COMM-003"] == before.clauses["COMM-003"]
    assert "not text of OpenAI" in after.statement


# Flattening


@pytest.mark.slow
def test_an_empty_patch_is_the_base_under_another_name(tmp_path: Path) -> None:
    found = compiled(write(tmp_path, "1.0.1-draft", {"title": "The same again"}))
    before = load_edition("1.0")
    assert found.extends is not None
    assert (found.extends.id, found.extends.sha256) == ("1.0", before.sha256)
    assert (found.clauses, found.profiles) == (before.clauses, before.profiles)
    assert found.sha256 != before.sha256


def test_a_clause_changes_field_by_field(tmp_path: Path) -> None:
    row = {
        "id": "COMM-001",
        "remedy": "Unset it.",
        "numbers": {"min_nodes": {"value": 16}},
    }
    edition = compiled(
        write(
            tmp_path,
            "2.0-draft",
            {},
            clauses={"changes": [row]},
            changes=reasons("number", "COMM-001"),
        )
    )
    before, after = load_edition("1.0").clauses["COMM-001"], edition.clauses["COMM-001"]
    assert after.remedy == "Unset it."
    assert after.numbers["min_nodes"] == before.numbers["min_nodes"]._replace(value=16)
    assert after.numbers["crossover"] == before.numbers["crossover"]
    assert after.requirement == before.requirement


@pytest.mark.slow
def test_null_takes_a_field_out(tmp_path: Path) -> None:
    row = {"id": "COMM-015", "note": None}
    before = load_edition("1.0").clauses["COMM-015"]
    edition = compiled(
        write(
            tmp_path,
            "1.0.1-draft",
            {},
            clauses={"changes": [row | {"note": None}]},
            changes=reasons("wording", "COMM-015") if before.note else {"changes": []},
        )
    )
    assert edition.clauses["COMM-015"].note == ""


@pytest.mark.slow
def test_clauses_profiles_and_units_are_added_whole(tmp_path: Path) -> None:
    added = clause(applies_when=["very_large"])
    added["numbers"]["most"]["unit"] = "racks"
    _write_condition(tmp_path / "1.1-draft")
    edition = compiled(
        write(
            tmp_path,
            "1.1-draft",
            {"units": {"racks": {"shown": "suffixed", "one": "rack"}}},
            clauses={"clauses": [added]},
            profiles={
                "profiles": [{"id": "fabric/tested", "title": "T", "status": "core"}],
                "changes": [{"id": "fabric/efa", "title": "EFA of AWS"}],
            },
            changes=reasons("added", "COMM-901"),
        )
    )
    assert edition.clauses["COMM-901"].requirement_text() == (
        "Buckets should be at most 8 racks."
    )
    assert edition.conditions["very_large"].at_least == 4096
    assert edition.profiles["fabric/tested"].kind == "fabric"
    before = load_edition("1.0").profiles["fabric/efa"]
    assert edition.profiles["fabric/efa"] == before._replace(title="EFA of AWS")


def _write_condition(folder: Path) -> None:
    folder.mkdir(parents=True)
    text = (
        "very_large: {fact: cluster.world_size, at_least: 4096, text: the job is large}"
    )
    (folder / "conditions.yaml").write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_an_extension_is_extended_in_turn(tmp_path: Path) -> None:
    base(tmp_path)
    middle = write(
        tmp_path,
        "1.1-draft",
        {},
        clauses={"clauses": [clause()]},
        changes=reasons("added", "COMM-901"),
    )
    row = {"id": "COMM-901", "title": "Another title"}
    last = write(
        tmp_path,
        "1.2-draft",
        {"extends": "1.1-draft"},
        clauses={"changes": [row]},
        changes=reasons("wording", "COMM-901"),
    )
    edition = compiled(last)
    assert edition.clauses["COMM-901"].title == "Another title"
    assert edition.extends is not None
    assert (
        edition.extends.sha256 == compile_edition(load_edition_source(middle))["sha256"]
    )


# Withdrawn


def withdrawing(folder: Path, **stone: Any) -> Path:  # noqa: ANN401 - YAML
    return write(
        folder,
        "2.0-draft",
        {"withdrawn": {"COMM-001": {**GONE, **stone}}},
        changes=reasons("withdrawn", "COMM-001"),
    )


def test_a_withdrawn_clause_leaves_a_tombstone_and_no_trace(tmp_path: Path) -> None:
    edition = compiled(withdrawing(tmp_path))
    stone = edition.withdrawn["COMM-001"]
    assert stone.title == load_edition("1.0").clauses["COMM-001"].title
    assert (stone.since, stone.replaced_by) == ("2.0", "COMM-002")
    assert "COMM-001" not in edition.clauses
    for profile in edition.profiles.values():
        assert "COMM-001" not in {n for e in profile.raises for n in e.levels}
    source = load_edition_source(tmp_path / "2.0-draft")
    assert not [c for c in source.provenance.claims if "COMM-001" in c.clauses]


def test_a_withdrawn_id_is_never_used_again(tmp_path: Path) -> None:
    base(tmp_path)
    withdrawing(tmp_path)
    again = clause("COMM-001")
    folder = write(
        tmp_path,
        "2.1-draft",
        {"extends": "2.0-draft"},
        clauses={"clauses": [again]},
        changes=reasons("added", "COMM-001"),
    )
    (found,) = problems_of(folder)
    assert found == (
        "COMM-001: was withdrawn before: the id of a withdrawn clause is never used "
        "again"
    )


def test_nor_withdrawn_again(tmp_path: Path) -> None:
    base(tmp_path)
    withdrawing(tmp_path)
    head = {"extends": "2.0-draft", "withdrawn": {"COMM-001": {**GONE, "since": "3.0"}}}
    folder = write(tmp_path, "3.0-draft", head)
    assert problems_of(folder)[0].startswith("COMM-001: was withdrawn before")


@pytest.mark.slow
def test_a_tombstone_is_inherited(tmp_path: Path) -> None:
    base(tmp_path)
    withdrawing(tmp_path)
    edition = compiled(write(tmp_path, "2.0.1-draft", {"extends": "2.0-draft"}))
    assert edition.withdrawn["COMM-001"].since == "2.0"


def test_the_compiled_edition_is_loaded_like_any_other(tmp_path: Path) -> None:
    folder = withdrawing(tmp_path)
    assert main([str(folder)]) == 0
    loaded = load_edition(str(folder))
    assert json.loads((folder / COMPILED).read_text("utf-8"))["sha256"] == loaded.sha256
    assert loaded.withdrawn["COMM-001"].reason == GONE["reason"]


def test_editions_are_in_order() -> None:
    ids = ["2.0", "1.1", "1.10-draft", "1.0.1", "1.1-draft", "1.0", "1.10"]
    assert sorted(ids, key=age) == [
        *("1.0", "1.0.1", "1.1-draft", "1.1", "1.10-draft", "1.10", "2.0"),
    ]
    assert SHIPPED == ("1.0", "1.1", "1.2-draft")
