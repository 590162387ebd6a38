"""Pydantic models of documents: for their JSON Schemas, and to read one back.

A document is a Record whose fields are annotated as its JSON is; nothing that only
writes one imports this module.
"""

import re
from functools import cache, reduce
from inspect import cleandoc
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from speccheck.validator.measurements.measured import MeasuredPath, MeasuredRates
from speccheck.validator.report.measured_json import Measured
from speccheck.validator.report.proposal_json import ReportProposal
from speccheck.validator.report.serialise import WRITTEN_AS

# What json_report.py imports only for a run that has it.
_LATE = {
    kind.__name__: kind
    for kind in (Measured, MeasuredPath, MeasuredRates, ReportProposal)
}
_ATTRIBUTE = re.compile(r"^ {4}(\w[\w, ]*): (.*(?:\n {5,}.*)*)", re.MULTILINE)


@cache
def model_of(record: type[Any]) -> type[BaseModel]:
    """Return the model of a Record: all fields are required, and no others allowed.

    The notes of an annotation, `Annotated[int, ("ge", 0)]`, are arguments of pydantic's
    `Field`; a field with a default may be omitted.
    """
    about, described = _described(record)
    fields: dict[str, Any] = {}
    hints = get_type_hints(record, localns=_LATE, include_extras=True)
    for name, hint in hints.items():
        options: dict[str, Any] = {}
        if name in described:
            options["description"] = described[name]
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)  # noqa: PLW2901 - without its notes
            options |= dict(notes)
        if name in WRITTEN_AS:
            options["alias"] = WRITTEN_AS[name]
        fields[name] = _in_model(hint), Field(**options)
    return create_model(
        record.__name__,
        __config__=ConfigDict(extra="forbid", frozen=True),
        __doc__=about,
        __module__=record.__module__,
        **fields,
    )


def _described(record: type[Any]) -> tuple[str, dict[str, str]]:
    """Return what a Record is, and its docstring's text on each attribute."""
    about, _, attributes = cleandoc(record.__doc__ or "").partition("\n\nAttributes:\n")
    return about, {
        name: " ".join(words.split())
        for names, words in _ATTRIBUTE.findall(attributes)
        for name in names.split(", ")
    }


def _in_model(hint: Any) -> Any:  # noqa: ANN401 - as annotations are
    """Return the annotation with models in place of Records, and lists for tuples."""
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
    if origin is UnionType:
        return reduce(or_, made)
    generic: Any = origin
    return generic[made]
