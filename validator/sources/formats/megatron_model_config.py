"""Megatron-LM arguments as a YAML map: `MODEL_ARGS` and `ENV_VARS`.

The form of Megatron-LM's functional tests and of benchmark recipes after them. The
harness (tests/functional_tests/shell_test_utils/_run_training.sh) makes a command line
of the map: a flag with the value `true` is a switch, one with an empty value is left
out, brackets go away, and variables come from the environment of the harness.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.stated_keys import InDocument, KeyedFile, StatedKey
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.embedded_script import embedded_script
from speccheck.validator.sources.formats._megatron import (
    Flag,
    Given,
    given_elsewhere,
    refused_text,
    state_arguments,
)
from speccheck.validator.sources.mapping import section
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "megatron-model-config"
_ARGUMENTS, _VARIABLES = "MODEL_ARGS", "ENV_VARS"
_ESCAPED = lazy_pattern(r"\\+([^\\\w\s])")  # the harness evaluates its command line
_RELEASE = "release"  # the one type of test that trains a model to the end
_INFERENCE = "inference"
# What the arguments of a server say of a training plan.
_OF_INFERENCE = (
    "kernels.",
    "model.",
    "parallelism.",
    "precision.bf16",
    "precision.fp",
    "run.",
)


def detect(document: Document) -> float:
    """Recognise it by a map of arguments whose keys are flags, or overrides of NeMo."""
    arguments = section(document.data, _ARGUMENTS)
    if any(_is_flag(key) for key in arguments):
        return 0.97
    return 0.8 if arguments and _VARIABLES in section(document.data) else 0.0


def _is_flag(key: object) -> bool:
    return str(key).startswith("--")


def read(document: Document) -> Reading:
    """Return what the arguments state, and the variables that the harness exports."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    given = _given(document, section(data, _ARGUMENTS))
    if given:
        state_arguments(sheet, given, hidden=given_elsewhere(given))
        sheet.state("run.framework", "megatron-lm", (_ARGUMENTS,))
    if data.get("MODE") == _INFERENCE:
        sheet.facts = [
            fact for fact in sheet.facts if fact.name.startswith(_OF_INFERENCE)
        ]
    kind = data.get("TEST_TYPE")
    if isinstance(kind, str) and kind != _RELEASE:
        note = f"a functional test of the type {kind:.40}"
        sheet.derive("run.role", "debug", note, ("TEST_TYPE",))
    at = ("BEFORE_SCRIPT",)
    script = embedded_script(document, at) if data.get(at[0]) else None
    return Reading(
        sheet,
        _keyed(document, given),
        variables=_variables(document, section(data, _VARIABLES)),
        scripts=(script,) if script is not None else (),
    )


def _given(document: Document, arguments: Mapping[str, object]) -> Given:
    """Return the flags of the command line that the harness makes of the map."""
    result: dict[str, Flag] = {}
    for name, value in arguments.items():
        if not _is_flag(name) or value == "":
            continue
        place = document.place((_ARGUMENTS, name))
        texts = _texts(value)
        open_text = next((text for text in texts if "$" in text), None)
        unknown = f"{open_text[:60]} is set outside the file" if open_text else ""
        doubt = _doubt(name, texts)
        result[name] = Flag(name, texts, place, place, doubt, unknown)
    return result


def _doubt(name: str, texts: tuple[str, ...]) -> str:
    """Return a doubt about a switch that gets `false`: it takes no value."""
    if texts != ("false",):
        return ""
    row = load_framework("megatron-lm").lookup((name,))
    is_switch = row is not None and row.type == "flag"
    return f"{name} takes no value, also not false" if is_switch else ""


def _texts(value: object) -> tuple[str, ...]:
    """Return the words after a flag; none for `true`."""
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    text = _text(value)
    if text == "true":
        return ()
    text = _ESCAPED.sub(r"\1", text)
    if text.startswith("[") and text.endswith("]"):
        return tuple(text[1:-1].split())
    return (text,)


def _text(value: object) -> str:
    """Return a scalar as the harness prints it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _keyed(document: Document, given: Given) -> KeyedFile:
    """Return the flags as those of a command line: argparse judges them."""
    if not given:
        return keyed_file(document, _FORMAT, None)
    catalogue = load_framework("megatron-lm")
    at = InDocument(document.name, document.index, (*document.prefix, _ARGUMENTS))
    keys = (
        StatedKey((name,), _value(flag), at, is_sure=not flag.doubt)
        for name, flag in given.items()
    )
    refused = (refused_text(flag, catalogue) for flag in given.values())
    return KeyedFile(
        document.name,
        _FORMAT,
        tuple(keys),
        catalogue,
        twice=keyed_file(document, _FORMAT, None).twice if document.duplicates else (),
        loaded_as=tuple(loaded_as for loaded_as in refused if loaded_as is not None),
        hidden=given_elsewhere(given),
    )


def _value(flag: Flag) -> object:
    return flag.texts[0] if len(flag.texts) == 1 else [*flag.texts]


def _variables(
    document: Document, stated: Mapping[str, object]
) -> tuple[Variable, ...]:
    return tuple(
        _variable(str(name), value, document.place((_VARIABLES, name)))
        for name, value in stated.items()
        if not isinstance(value, list | dict)
    )


def _variable(name: str, value: object, place: Place) -> Variable:
    # The harness hands the text of the file on: `True` stays `True`.
    text = str(value) if isinstance(value, bool) else _text(value)
    return Variable(name, None if "$" in text else text, place, text)


READER = Reader(_FORMAT, "config", detect, read, keys=(_ARGUMENTS,))
