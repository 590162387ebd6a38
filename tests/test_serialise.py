"""Documents of Records: what is written of them, and the models made of them."""

from typing import Annotated, Literal

import pytest
from pydantic import ValidationError

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.document_model import model_of
from speccheck.validator.report.serialise import alike, data, document_text


class Part(Record):
    """A part of a document.

    Attributes:
        name: by which a person
            knows it.
        least, most: of what was measured.

    """

    name: str
    least: float | None
    most: float | None = None


class Whole(Record):
    """A document."""

    schema_name: Literal["speccheck-trial/1"]
    parts: tuple[Part, ...]
    by_name: dict[str, Part]
    pass_: Annotated[int, ("ge", 0)]


class Measured:
    """Something with the attributes of a part, and more."""

    name = "GPU 3"
    least = 1.5
    most = 2.5
    runs = 7


PART = Part("GPU 3", 1.5, 2.5)
WHOLE = Whole("speccheck-trial/1", (PART,), {"first": PART}, 4)
WRITTEN = {"name": "GPU 3", "least": 1.5, "most": 2.5}


def test_a_record_is_an_object_and_a_tuple_is_a_list() -> None:
    assert data(WHOLE) == {
        "schema": "speccheck-trial/1",
        "parts": [WRITTEN],
        "by_name": {"first": WRITTEN},
        "pass": 4,
    }


def test_each_text_may_become_another_one() -> None:
    assert data((PART, "a"), str.upper) == [{**WRITTEN, "name": "GPU 3"}, "A"]


def test_a_document_ends_its_last_line() -> None:
    assert document_text(Part("a", 1)).endswith('"most": null\n}\n')


def test_a_record_is_made_of_the_attributes_of_another_object() -> None:
    assert alike(Part, Measured()) == PART
    assert alike(Part, Measured(), least=None) == PART._replace(least=None)
    with pytest.raises(AttributeError):
        alike(Whole, Measured())


def test_what_is_written_is_read_by_the_model() -> None:
    read = model_of(Whole).model_validate(data(WHOLE))
    assert read.model_dump(by_alias=True) == data(WHOLE)


@pytest.mark.parametrize(
    "change",
    [
        {"pass": -1},
        {"schema": "speccheck-trial/2"},
        {"parts": [{"name": "a", "least": None}]},
        {"more": 1},
    ],
)
def test_the_model_refuses_what_the_record_does_not_state(
    change: dict[str, object],
) -> None:
    with pytest.raises(ValidationError):
        model_of(Whole).model_validate(data(WHOLE) | change)


def test_attributes_of_a_docstring_describe_the_fields() -> None:
    schema = model_of(Part).model_json_schema()
    assert schema["description"] == "A part of a document."
    result = {
        name: item.get("description") for name, item in schema["properties"].items()
    }
    assert result == {
        "name": "by which a person knows it.",
        "least": "of what was measured.",
        "most": "of what was measured.",
    }
