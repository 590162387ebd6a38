"""What may be wrong with a key, an envelope or a signature: one line each.

None of the messages holds a byte of a private key or of a passphrase.
"""


class SigningError(Exception):
    """What was found wrong, and what to do about it.

    place: where in the text, "" where that means nothing.
    """

    def __init__(self, problem: str, remedy: str = "", place: str = "") -> None:
        found = f"{place}: {problem}" if place else problem
        super().__init__(f"{found}; {remedy}" if remedy else found)
        self.problem, self.remedy, self.place = problem, remedy, place

    def within(self, name: str) -> "SigningError":
        """The same fault, told of a named file, variable or part."""
        place = f"{name}: {self.place}" if self.place else name
        return type(self)(self.problem, self.remedy, place)


class NoCryptographyError(SigningError):
    """The package that signs and verifies is not installed."""


class NotCanonicalError(SigningError):
    """A text is no JSON, or not in the one form that is signed."""


class EnvelopeError(SigningError):
    """An envelope holds other than one payload and one signature of it."""


class StatementError(SigningError):
    """A payload is no statement of the kind that was asked for."""


class KeyFileError(SigningError):
    """A key cannot be read, is of another kind, or cannot be written."""


class SignerError(SigningError):
    """What was to sign gave no signature that fits."""


class OtherKeyError(SigningError):
    """An envelope was signed with a key that is not among the given ones."""


class SignatureError(SigningError):
    """A signature does not fit what it is said to sign."""
