"""The shape of `speccheck-tailoring/1`, for its JSON Schema.

Reading a file does not import this module
(validator/engine/tailoring.py): a test
holds both to the same.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_DAY = r"^\d{4}-\d{2}-\d{2}$"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class OwnNumber(_Part):
    """A number of a clause that another one takes the place of."""

    clause: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,5}-\d{3}$")] = Field(
        description="such as COMM-001"
    )
    number: Word = Field(description="its name: speccheck spec show CLAUSE lists them")
    value: (
        int
        | float
        | Word
        | Annotated[list[int | float | Word], Field(min_length=1, max_length=200)]
    ) = Field(description="within what is plausible for the number")
    unit: Word = Field(description="that of the edition: ratio, s, nodes, ...")
    reason: Text = Field(description="why another number is right here")
    owner: Text = Field(description="who answers for it")
    expires: Annotated[str, StringConstraints(pattern=_DAY)] = Field(
        description="the last day with effect, in UTC"
    )


class Tailoring(_Part):
    """Own numbers in place of an edition's; each with its reason and an end."""

    schema_name: Literal["speccheck-tailoring/1"] = Field(alias="schema")
    tailoring: Annotated[list[OwnNumber], Field(max_length=500)]
