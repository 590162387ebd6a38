"""The page of what frameworks enforce, and the list that it is made of."""

from constraints_page import (
    KINDS,
    PAGE,
    STATUSES,
    constraints,
    page,
    unknown_relations,
)


def test_the_page_is_what_the_list_says_now() -> None:
    assert PAGE.read_text("utf-8") == page(constraints()), "run make generate"


def test_rows_name_relations_that_there_are() -> None:
    wrong = [*unknown_relations(constraints())]
    assert not wrong, "\n".join(wrong)


def test_rows_have_a_source_and_a_status() -> None:
    wrong = [
        row
        for row in constraints()
        if row.status not in STATUSES
        or row.kind not in KINDS
        or ":" not in row.source
        or not row.commit
    ]
    assert not wrong
