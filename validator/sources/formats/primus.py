"""Primus of AMD: `modules.pre_trainer.overrides` over a preset and a model by name.

The presets are files of Primus itself, read where they lie in its repository; the lack
of a key means nothing. A value `${PRIMUS_TP:1}` is the environment's, or what stands
behind the colon. An experiment may extend others. Sources: AMD-AGI/Primus
examples/*/configs, primus/core/utils/yaml_utils.py (parse_yaml, resolve env
placeholders), primus/core/launcher/parser.py (parse_trainer_module), at fd1eeabb.
"""

from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.documents.document import (
    Document,
    Resolution,
    SectionDocument,
    path_step,
)
from speccheck.validator.sources.documents.yaml_document import plain_scalar
from speccheck.validator.sources.formats import torchtitan
from speccheck.validator.sources.formats._megatron import Flag, state_arguments
from speccheck.validator.sources.formats._overrides import stated_alone
from speccheck.validator.sources.mapping import items, section
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Parent,
    Reader,
    Reading,
    keyed_file,
)

_FORMAT = "primus"
_MODULES = "modules"
_TRAINERS = ("pre_trainer", "post_trainer")
_OVERRIDES = "overrides"
_MEGATRON, _TORCHTITAN = "megatron", "torchtitan"
_VARIABLE = lazy_pattern(r"\$\{([A-Za-z_]\w*)(?::([^{}$]*))?\}$")
_FALLBACK = lazy_pattern(r"\$\{[A-Za-z_]\w*:")
_EXTENDS = "extends"
_IN_TEXT = lazy_pattern(r"\$\{[A-Za-z_]\w*:([^{}$]*)\}")
_HIDDEN = "the presets of Primus"
# Where the presets lie, by the key that names one; the model's win.
_PRESETS = {"config": "primus/configs/modules", "model": "primus/configs/models"}
_PRESET_FILES = "primus/configs/"
_ASCENTS = tuple("/".join([".", *[".."] * count]) for count in range(8))
# Primus' own switches, for which Megatron-LM has no flag of the name.
_FLAGS = {"num_experts": "--num-experts", "fp8": "--fp8-format"}
_ABSENT = frozenset({"", "null", "none", "false"})


def detect(document: Document) -> float:
    """Recognise it by a trainer of its modules, with the framework that trains."""
    if next(_trainers(document), None) is not None:
        return 0.9
    return 0.8 if _extends(document) else 0.0


def _trainers(document: Document) -> Iterator[tuple[str, Mapping[str, object]]]:
    modules = section(document.data, _MODULES)
    for name in _TRAINERS:
        trainer = section(modules, name)
        if isinstance(trainer.get("framework"), str):
            yield name, trainer


def _extends(document: Document) -> bool:
    """Return whether it changes a trainer of the experiments that it extends."""
    if not section(document.data).get(_EXTENDS):
        return False
    modules = section(document.data, _MODULES)
    return any(_OVERRIDES in section(modules, name) for name in _TRAINERS)


def parents(document: Document) -> tuple[Parent, ...]:
    """Return the presets that a trainer names, and the files that a file extends."""
    result: list[Parent] = []
    for name, trainer in _trainers(document):
        under: KeyPath = (_MODULES, name, _OVERRIDES)
        for key, home in _PRESETS.items():
            target = _filled(trainer.get(key))
            folders = tuple(f"{up}/{home}/{trainer['framework']}" for up in _ASCENTS)
            if isinstance(target, str) and "$" not in target:
                at = (_MODULES, name, key)
                result.append(Parent(target, at, under, folders, is_optional=True))
    extended = section(document.data).get(_EXTENDS)
    for index, target in enumerate(items(extended)):
        if isinstance(target, str):
            result.append(Parent(target, (_EXTENDS, index)))
    return (*result,)


def _filled(value: object) -> object:
    """Return a text with what stands behind the colon of `${PRIMUS_MODEL:llama}`."""
    if not isinstance(value, str):
        return value
    return _IN_TEXT.sub(lambda match: match[1], value)


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
            if framework == _TORCHTITAN:
                section_of = FilledSection(document, (_MODULES, name, _OVERRIDES))
                sheet.facts += _stated(torchtitan.READER.read(section_of))
            sheet.derive("run.framework", framework, f"framework: {framework}", path)
        break
    sheet.facts[:] = _without_presets(sheet.facts)
    keyed = keyed_file(document, _FORMAT, None)
    keys = tuple(key for key in keyed.keys if not _has_fallback(key.value))
    return Reading(sheet, keyed._replace(keys=keys))


def _without_presets(facts: list[Fact]) -> list[Fact]:
    """Return what the file states, and of the presets what it says nothing of.

    What a preset says is a default, which nobody asked for here; the dimensions of a
    model are those of the model that the file names.
    """
    own = {fact.name for fact in facts if not _is_of_preset(fact)}
    result: list[Fact] = []
    for fact in facts:
        if not _is_of_preset(fact):
            result.append(fact)
        elif fact.name not in own:
            note = f"preset {fact.places[0].file.rpartition('/')[2]}"
            is_named = fact.name.startswith("model.") or fact.value is None
            result.append(
                fact if is_named else fact._replace(status="default", note=note)
            )
    return result


def _is_of_preset(fact: Fact) -> bool:
    """Return whether presets alone say it."""
    files = [place.file for place in fact.places]
    return bool(files) and all(_PRESET_FILES in file for file in files)


def _stated(reading: Reading) -> list[Fact]:
    """Return what settings say, and nothing from the lack of others."""
    facts = stated_alone(reading).facts.facts
    return [fact for fact in facts if fact.name != "run.framework"]


class FilledSection(SectionDocument):
    """A section with its texts filled in: `${PRIMUS_TP:1}`; see `Document`."""

    __slots__ = ("_outcomes",)

    def __init__(self, whole: Document, path: KeyPath) -> None:
        """Take the part of `whole` at `path`."""
        super().__init__(whole, path)
        self._outcomes: dict[KeyPath, Resolution] = {}
        self.data = self._with_values(self.data, ())

    def resolution(self, path: KeyPath) -> Resolution | None:
        """Return how the value at a path was filled in, or why not; None if plain."""
        return self._outcomes.get(path) or super().resolution(path)

    def _with_values(self, value: object, path: KeyPath) -> object:
        if isinstance(value, dict):
            return {
                key: self._with_values(child, (*path, path_step(key)))
                for key, child in value.items()
            }
        text, place, unknown = _written(value, Place(self.name, ""))
        if unknown:
            self._outcomes[path] = Resolution(is_known=False, note=unknown)
        if not place.only_if:
            return value
        self._outcomes[path] = Resolution(
            is_known=True, note=f"if {place.only_if}", only_if=place.only_if
        )
        return plain_scalar(text)


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


READER = Reader(_FORMAT, "config", detect, read, keys=(_MODULES,), parents=parents)
