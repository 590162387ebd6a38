"""Pydantic models of documents: for their JSON Schemas, and to read one back.

A document is a Record whose fields are annotated as its JSON is; nothing that only
writes one imports this module.
"""

from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from speccheck.validator.report.serialise import WRITTEN_AS


@cache
def model_of(record: type[Any]) -> type[BaseModel]:
    """Return the model of a Record: all fields are required, and no others allowed.

    The notes of an annotation, `Annotated[int, ("ge", 0)]`, are arguments of pydantic's
    `Field`; a field with a default may be left out.
    """
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(record, include_extras=True).items():
        options: dict[str, Any] = {}
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)  # noqa: PLW2901 - without its notes
            options = dict(notes)
        if name in WRITTEN_AS:
            options["alias"] = WRITTEN_AS[name]
        fields[name] = _in_model(hint), Field(**options)
    return create_model(
        record.__name__,
        __config__=ConfigDict(extra="forbid", frozen=True),
        __doc__=record.__doc__,
        __module__=record.__module__,
        **fields,
    )


def _in_model(hint: Any) -> Any:  # noqa: ANN401 - as annotations are
    """The annotation with models in place of Records, and lists in place of tuples."""
    if hasattr(hint, "_fields"):
        return model_of(hint)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal:
        return hint
    if origin is Annotated:
        return Annotated[_in_model(parts[0]), Field(**dict(parts[1:]))]
    if origin is tuple and parts[-1] is Ellipsis:
        return list[_in_model(parts[0])]  # type: ignore[misc]
    made = tuple(map(_in_model, parts))
    return Union[made] if origin is UnionType else origin[made]  # noqa: UP007 - of any number
