"""Documents as JSON: the Records that state a document's shape, written as they are.

The annotations of the same Records give the JSON Schemas (document_model.py). Fields of
a document are only ever added.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from speccheck.validator import VERSION
from speccheck.validator.evidence.record import Record

# Fields whose names no Record can have.
WRITTEN_AS = {"schema_name": "schema", "pass_": "pass"}
RecordT = TypeVar("RecordT", bound=Record)


class Tool(Record):
    """The program that wrote the report."""

    name: Literal["speccheck"]
    version: str


class CompiledEdition(Record):
    """A compiled edition: its sha256 is that of its content."""

    id: str
    stage: str
    sha256: str


class TailoredNumber(Record):
    """A number of the edition that somebody replaced; expires: the last day, UTC."""

    clause: str
    number: str
    edition_value: str | int | float | bool | None
    own_value: str | int | float | bool
    unit: str
    reason: str
    owner: str
    expires: str


TOOL = Tool("speccheck", VERSION)


def alike(kind: type[RecordT], source: object, /, **others: object) -> RecordT:
    """Make a Record of the attributes of another object that have its fields' names.

    Args:
        kind: The Record to make.
        source: What has the other attributes.
        others: Fields that are not, or not so, in the source.
    """
    return kind._make(
        others[name] if name in others else getattr(source, name)
        for name in kind._fields
    )


def data(value: object, text: Callable[[str], str] | None = None) -> Any:  # noqa: ANN401 - content of JSON
    """Return Records as objects, tuples as lists, and the rest as it is.

    Args:
        value: A Record, or what a field of one may hold.
        text: What is to become of each text, such as `hidden`.
    """
    if isinstance(value, str):
        return value if text is None else text(value)
    fields = getattr(value, "_fields", None)
    if fields is not None and isinstance(value, tuple):
        return {
            WRITTEN_AS.get(name, name): data(item, text)
            for name, item in zip(fields, value, strict=True)
        }
    if isinstance(value, tuple | list):
        return [data(item, text) for item in value]
    if isinstance(value, Mapping):
        return {name: data(item, text) for name, item in value.items()}
    return value


def document_text(
    document: Record,
    *,
    indent: int = 1,
    ensure_ascii: bool = True,
    allow_nan: bool = True,
) -> str:
    """Return a document as text; the options are those of `json.dumps`."""
    text = json.dumps(
        data(document), indent=indent, ensure_ascii=ensure_ascii, allow_nan=allow_nan
    )
    return text + "\n"
