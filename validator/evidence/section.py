"""What the sections of the training plan have in common.

They are plain frozen classes whose class attributes are the unknown leaves: sixteen
slots dataclasses of this size cost as much start-up time as the interpreter itself.
"""

from typing import Any, NoReturn

from speccheck.validator.evidence.value import Value


class Section:
    """Holds the leaves that are known; the others are those of the class."""

    def __init__(self, **known: Value[Any]) -> None:
        """Take leaves by field name; raises AttributeError for another name."""
        if not known.keys() <= self.__annotations__.keys():
            for name in known:
                getattr(type(self), name)
        self.__dict__.update(known)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: evidence is frozen."""
        message = f"evidence is frozen: {type(self).__name__}.{name}"
        raise AttributeError(message)
