"""Scalars as YAML 1.1 reads them back: `no` and `2e-5` are not what they seem."""

import json
import math

from speccheck.validator.changes.fixes.edit import CannotEdit
from speccheck.validator.evidence.finding import Scalar
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.yaml_document import plain_scalar

# Texts that no place in a block or between brackets takes for anything else.
_PLAIN = lazy_pattern(
    r"-{0,2}[A-Za-z0-9_./][A-Za-z0-9_./@%+=~^-]*(?: [A-Za-z0-9_./=+-]+)*"
)
# Words for true and false, of which a file keeps to one pair.
_PAIRS = (
    *(("true", "false"), ("True", "False"), ("TRUE", "FALSE")),
    *(("yes", "no"), ("Yes", "No"), ("YES", "NO")),
    *(("on", "off"), ("On", "Off"), ("ON", "OFF")),
)


def yaml_scalar(value: Scalar, like: str = "") -> str:
    """A value as it is written, in the style of another that stands there.

    Args:
        value: what a YAML 1.1 loader has to read.
        like: the scalar that shows the quotes, or the words for true and false.
    """
    if isinstance(value, str):
        return _text(value, like[:1])
    if isinstance(value, bool):
        pair = next((pair for pair in _PAIRS if like in pair), _PAIRS[0])
        return pair[0] if value else pair[1]
    if value is None:
        return "~" if like == "~" else "null"
    if isinstance(value, int):
        return str(value)
    return _respelt(value, like.strip("\"'")) or yaml_float(value)


def _respelt(value: float, text: str) -> str:
    """The digits that stand there, with the point and the sign that they lack."""
    mantissa, letter, power = text.replace("E", "e").partition("e")
    point = "" if "." in mantissa else ".0"
    sign = "" if power[:1] in {"+", "-"} else "+"
    respelt = f"{mantissa}{point}e{sign}{power}"
    return respelt if letter and plain_scalar(respelt) == value else ""


def yaml_float(value: float) -> str:
    """A float with the point and the sign of the exponent that YAML 1.1 asks for."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    mantissa, exponent, power = repr(value).partition("e")
    if not exponent:
        return mantissa
    point = "" if "." in mantissa else ".0"
    return f"{mantissa}{point}e{int(power):+}"


def _text(value: str, quote: str) -> str:
    if not value.isprintable():
        message = "the value holds characters that only an escape could write"
        raise CannotEdit(message)
    if quote == "'":
        return "'" + value.replace("'", "''") + "'"
    if quote != '"' and _PLAIN.fullmatch(value) and plain_scalar(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)
