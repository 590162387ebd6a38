"""Which texts are credentials, by the shapes that their issuers publish."""

import re
from functools import cache

SHOWN_LETTERS = 3  # of a credential, in a message
LEAST_LETTERS = 16  # shorter texts are no token of these kinds
LEAST_DISTINCT = 8  # hf_xxxxxxxx and 00000000 are placeholders

# Kind, letters that each one holds, shape. Few texts hold any of these letters, and the
# shapes are not even compiled for the others.
_SHAPES = (
    ("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    ("Anthropic key", "sk-", r"sk-ant-[A-Za-z0-9_-]{32,}"),
    ("OpenAI key", "sk-", r"sk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}"),
    ("AWS access key", "AKIA", r"AKIA[0-9A-Z]{16}"),
    ("AWS access key", "ASIA", r"ASIA[0-9A-Z]{16}"),
    *(
        ("GitHub token", f"gh{kind}_", rf"gh{kind}_[A-Za-z0-9]{{36,}}")
        for kind in "pousr"
    ),
    ("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{50,}"),
    ("GitLab token", "glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
    ("Slack token", "xox", r"xox[abprs]-[A-Za-z0-9-]{20,}"),
    ("Google key", "AIza", r"AIza[0-9A-Za-z_-]{35}"),
    ("NVIDIA key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{50,}"),
    ("private key", "KEY-", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    (
        "password in an address",
        "@",
        r"[a-z][a-z0-9+.-]*://[^/\s:@$]+:[^/\s:@${}]{6,}@",
    ),
)
_MARKS = tuple(dict.fromkeys(mark for _, mark, _ in _SHAPES))
# Under these names a bare token of that length is a credential, too.
_KEYED_LETTERS = 40
_KEYED = (
    ("Weights & Biases key", r"(?i)wandb.*key|^api_key$", r"[0-9a-f]{40}"),
    ("AWS secret key", r"(?i)secret_access_key", r"[A-Za-z0-9/+]{40}"),
)
_PLACEHOLDERS = ("example", "xxxx", "your", "****", "<", "${", "changeme")
# Under a name that says what it holds, any text of letters and digits is a credential.
_NAMED_LETTERS, _NAMED_DISTINCT = 8, 6
_NAMES = (
    r"(?:[A-Za-z0-9]+[_-])*(?:password|passwd|api[_-]?key|secret[_-]?key|"
    r"client[_-]secret|(?<=[_-])pwd)"
)
_NO_CREDENTIALS = ("dummy", "none", "local", "test", "fake", "no-key", "not-", "env")
_NAME_MARKS = ("pass", "api", "secret", "pwd")


@cache
def _shapes() -> re.Pattern[str]:
    return re.compile(
        r"(?<![A-Za-z0-9])(?:"
        + "|".join(
            f"(?P<kind{number}>{shape})" for number, (*_, shape) in enumerate(_SHAPES)
        )
        + ")"
    )


def secret_kind(key: str, text: str) -> str | None:
    """Return what kind of credential a text holds, or None.

    Args:
        key: the last part of the name that the text stands under.
        text: the value.
    """
    if _is_named(key) and _is_key_like(text):
        return _issued(key, text) or "secret"
    return _issued(key, text)


def _issued(key: str, text: str) -> str | None:
    """Return whose credential a text is, by the shape that its issuer publishes."""
    if len(text) < LEAST_LETTERS or _is_placeholder(text):
        return None
    match = _shapes().search(text) if _is_marked(text) else None
    if match is not None and not _is_dull(match[0]):
        return _SHAPES[int((match.lastgroup or "kind0")[4:])][0]
    if len(text) != _KEYED_LETTERS:
        return None
    for kind, names, shape in _KEYED:
        if re.search(names, key) and re.fullmatch(shape, text) and not _is_dull(text):
            return kind
    return None


def _is_named(key: str) -> bool:
    lower = key.lower()
    if not any(mark in lower for mark in _NAME_MARKS):
        return False
    return _name().fullmatch(key.lstrip("-")) is not None


def _is_key_like(text: str) -> bool:
    """Return whether a text is no word, path, reference, number or placeholder."""
    lower = text.lower()
    return (
        len(text) >= _NAMED_LETTERS
        and len(set(text)) >= _NAMED_DISTINCT
        and any(letter.isdigit() for letter in text)
        and any(letter.islower() for letter in text)
        and not any(letter in " $/\\{}()[]\"'\n" for letter in text)
        and not _is_placeholder(text)
        and not any(word in lower for word in _NO_CREDENTIALS)
    )


@cache
def _name() -> re.Pattern[str]:
    return re.compile(rf"(?i){_NAMES}")


@cache
def _assigned() -> re.Pattern[str]:
    return re.compile(
        rf"(?i)(?<![A-Za-z0-9])({_NAMES})([\"']?(?:\s*[=:]\s*|\s+)[\"']?)([^\s\"',;]+)"
    )


def hidden(text: str) -> str:
    """Return a text with every credential in it replaced by stars, of the same length.

    Keyed shapes have no prefix to know them by: any run of that shape is starred, since
    a report loses nothing by a hash that it does not show.
    """
    if len(text) < LEAST_LETTERS:
        return text
    lower = text.lower()
    if any(mark in lower for mark in _NAME_MARKS):
        text = _assigned().sub(_starred_value, text)
    if _is_marked(text):
        text = _shapes().sub(_starred, text)
    if len(text) < _KEYED_LETTERS:
        return text
    return _bare_shapes().sub(_starred, text)


def _is_marked(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


def _starred_value(match: re.Match[str]) -> str:
    name, between, value = match.groups()
    if not _is_key_like(value):
        return match[0]
    shown = value[:SHOWN_LETTERS] + "*" * (len(value) - SHOWN_LETTERS)
    return f"{name}{between}{shown}"


def _starred(match: re.Match[str]) -> str:
    token = match[0]
    return token[:SHOWN_LETTERS] + "*" * (len(token) - SHOWN_LETTERS)


@cache
def _bare_shapes() -> re.Pattern[str]:
    shapes = "|".join(shape for _, _, shape in _KEYED)
    return re.compile(rf"(?<![A-Za-z0-9/+])(?:{shapes})(?![A-Za-z0-9/+])")


def masked(text: str) -> str:
    """Return the first letters of a credential and its length."""
    return f"{text[:SHOWN_LETTERS]}... ({len(text)} characters)"


def _is_placeholder(text: str) -> bool:
    lower = text.lower()
    return any(text in lower for text in _PLACEHOLDERS)


def _is_dull(token: str) -> bool:
    return len(set(token)) < LEAST_DISTINCT
