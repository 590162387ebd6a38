"""An edition may change what its id says: refused by code, and by the compiler."""

from collections.abc import Callable
from pathlib import Path

import pytest

from edition_folders import clause, compiled, reasons, write
from small_editions import NOTICE, PROPOSED, STONE, a_clause, edition, must, with_first
from speccheck.validator.editions.difference import refusals, weight_between
from speccheck.validator.editions.edition import Edition, editions, load_edition
from speccheck.validator.editions.source import EditionSourceError


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("1.0", "1.1", "MINOR"),
        ("1.0", "1.1-draft", "MINOR"),
        ("1.0", "1.0.1", "PATCH"),
        ("1.0", "2.0", "MAJOR"),
        ("1.1-draft", "1.1", "PATCH"),
        ("1.9", "1.10", "MINOR"),
        ("1.1", "1.1-draft", None),
        ("1.1", "1.0.9", None),
        ("1.0", "1.0", None),
    ],
)
def test_an_id_claims_a_weight(before: str, after: str, expected: str | None) -> None:
    assert weight_between(before, after) == expected


@pytest.mark.parametrize(
    ("new_id", "change", "expected"),
    [
        ("1.1", lambda: edition(must(), a_clause("A-002")), "is MAJOR: should -> must"),
        ("1.0.1", lambda: edition(*edition().clauses.values(), PROPOSED), "is MINOR: "),
        ("2.0", lambda: edition(must(), a_clause("A-002")), ""),
        ("1.0.1", lambda: with_first(remedy="Another."), ""),
    ],
)
def test_an_id_that_claims_less_than_changes_is_refused(
    new_id: str, change: Callable[[], Edition], expected: str
) -> None:
    after = change()._replace(id=new_id)
    found = list(refusals(edition(), after, {"A-001", "A-003"}))
    assert [expected in finding for finding in found] == ([True] if expected else [])


def test_a_clause_is_not_withdrawn_before_its_time() -> None:
    before = edition(a_clause(), a_clause("A-002", deprecated=NOTICE))
    after = edition(a_clause(), withdrawn={"A-002": STONE})._replace(id="1.1")
    (found,) = refusals(before, after, {"A-002"})
    assert found == (
        "edition.yaml: withdrawn: A-002: was announced to be withdrawn in 2.0, not "
        "before"
    )


@pytest.mark.parametrize(
    ("name", "level", "is_refused"),
    [
        ("1.1-draft", "must", True),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in [
                ("1.1-draft", "should", False),
                ("1.0.1-draft", "should", True),
                ("2.0-draft", "must", False),
            ]
        ),
    ],
)
def test_the_compiler_holds_an_edition_to_its_id(
    tmp_path: Path, name: str, level: str, *, is_refused: bool
) -> None:
    folder = write(
        tmp_path,
        name,
        {},
        clauses={"clauses": [clause(level=level)]},
        changes=reasons("added", "COMM-901"),
    )
    if not is_refused:
        assert compiled(folder).clauses["COMM-901"].level == level
        return
    with pytest.raises(EditionSourceError) as caught:
        compiled(folder)
    (problem,) = caught.value.problems
    claimed = "PATCH" if name.startswith("1.0") else "MINOR"
    assert problem.startswith(
        f"edition.yaml: id: {name} claims a {claimed} change of 1.0, but COMM-901 is "
    )


@pytest.mark.parametrize("name", editions()[1:])
def test_an_edition_claims_what_it_changes(name: str) -> None:
    after = load_edition(name)
    assert after.extends is not None
    before = load_edition(after.extends.id)
    named = set(after.clauses) | set(after.withdrawn)
    assert not list(refusals(before, after, named))
