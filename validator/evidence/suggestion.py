"""What an unknown key was probably meant to be."""

from typing import Literal

from speccheck.validator.evidence.record import Record


class Suggestion(Record):
    """What an unknown key was probably meant to be.

    `spelling`: a sibling with a slip of the keyboard. `word`: a sibling with another
    word in it. `level`: the same name at another place of the file. `foreign`: what
    `framework` calls by the name that was written.
    """

    path: str
    kind: Literal["spelling", "word", "level", "foreign"]
    framework: str = ""
