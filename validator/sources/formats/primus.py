"""Primus of AMD: `modules.pre_trainer.overrides` over a preset and a model by name.

The presets are files of Primus itself, so that the lack of a key means nothing. A value
`${PRIMUS_TP:1}` is the environment's, or what stands behind the colon. Sources:
AMD-AGI/Primus examples/megatron/configs, primus/core/utils/yaml_utils.py
(resolve env placeholders), primus/core/launcher/parser.py.
"""

from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._megatron import Flag, state_arguments
from speccheck.validator.sources.mapping import section
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "primus"
_MODULES = "modules"
_TRAINERS = ("pre_trainer", "post_trainer")
_OVERRIDES = "overrides"
_MEGATRON = "megatron"
_VARIABLE = lazy_pattern(r"\$\{([A-Za-z_]\w*)(?::([^{}$]*))?\}$")
_FALLBACK = lazy_pattern(r"\$\{[A-Za-z_]\w*:")
_HIDDEN = "the presets of Primus"
# Primus' own switches, for which Megatron-LM has no flag of the name.
_FLAGS = {"num_experts": "--num-experts", "fp8": "--fp8-format"}
_ABSENT = frozenset({"", "null", "none", "false"})


def detect(document: Document) -> float:
    """Recognise it by a trainer of its modules, with the framework that trains."""
    return 0.9 if next(_trainers(document), None) is not None else 0.0


def _trainers(document: Document) -> Iterator[tuple[str, Mapping[str, object]]]:
    modules = section(document.data, _MODULES)
    for name in _TRAINERS:
        trainer = section(modules, name)
        if isinstance(trainer.get("framework"), str):
            yield name, trainer


def read(document: Document) -> Reading:
    """Return what the overrides state; of other frameworks only that they train."""
    sheet = FactSheet.of(document)
    for name, trainer in _trainers(document):
        path: KeyPath = (_MODULES, name, "framework")
        framework = str(trainer["framework"])
        if framework == _MEGATRON:
            given = dict(_given(document, (_MODULES, name, _OVERRIDES), trainer))
            state_arguments(sheet, given, hidden=_HIDDEN)
            sheet.derive(
                "run.framework", "megatron-lm", f"framework: {framework}", path
            )
        else:
            sheet.derive("run.framework", framework, f"framework: {framework}", path)
        break
    keyed = keyed_file(document, _FORMAT, None)
    keys = tuple(key for key in keyed.keys if not _has_fallback(key.value))
    return Reading(sheet, keyed._replace(keys=keys))


def _has_fallback(value: object) -> bool:
    """Return whether Primus fills a text in from the environment or a fallback."""
    return isinstance(value, str) and _FALLBACK.search(value) is not None


def _given(
    document: Document, path: KeyPath, trainer: Mapping[str, object]
) -> Iterator[tuple[str, Flag]]:
    """Yield the flags that would set the same arguments; null and false set none."""
    for key, value in section(trainer, _OVERRIDES).items():
        name = str(key)
        flag = _FLAGS.get(name, "--" + name.replace("_", "-"))
        place = document.place((*path, name))
        text, place, unknown = _written(value, place)
        if text.lower() in _ABSENT and not unknown:
            continue
        texts = () if text.lower() == "true" else (text,)
        if not isinstance(value, Mapping | list):
            yield flag, Flag(flag, texts, place, place, unknown=unknown)


def _written(value: object, place: Place) -> tuple[str, Place, str]:
    """Return the text of a value, where and under what condition, and why not known."""
    text = "null" if value is None else str(value).strip()
    match = _VARIABLE.match(text)
    if match is not None and match[2] is not None:
        return match[2], place._replace(only_if=f"{match[1]} is not set"), ""
    if "${" in text:
        return text, place, f"{text[:60]} is known only when Primus starts"
    return text, place, ""


READER = Reader(_FORMAT, "config", detect, read, keys=(_MODULES,))
