"""Variables that containers take whole from a ConfigMap or a Secret: `envFrom`.

A ConfigMap is looked for in the same file and in the files of its folder; a Secret is
not read. Source: Kubernetes core/v1, EnvFromSource: keys that are no names of variables
are skipped, and `env` wins over `envFrom`.
"""

import os
from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.environment import Opening, Variable
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document, ReadError
from speccheck.validator.sources.documents.reading import load_documents, read_text
from speccheck.validator.sources.mapping import items, section
from speccheck.validator.sources.repository import is_inside

_SUFFIXES = (".yaml", ".yml")
_MOST_FILES = 100
_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_.-]*")
_KINDS = {"configMapRef": "ConfigMap", "secretRef": "Secret"}


class TakenVariables(Record):
    """What a container takes in by `envFrom`, and what of it was not seen."""

    variables: tuple[Variable, ...] = ()
    openings: tuple[Opening, ...] = ()


def taken_variables(
    document: Document, at: KeyPath, fields: Mapping[str, object]
) -> TakenVariables:
    """Return the variables of a container's `envFrom`; of one name the last counts.

    Args:
        document: of the container.
        at: its path.
        fields: of the container.
    """
    variables: dict[str, Variable] = {}
    openings: list[Opening] = []
    for index, item in enumerate(items(fields.get("envFrom"))):
        entry = section(item)
        place = document.place((*at, "envFrom", index))
        prefix = entry.get("prefix")
        for key, kind in _KINDS.items():
            name = section(entry, key).get("name")
            if not isinstance(name, str):
                continue
            data = _config_map(document, name) if key == "configMapRef" else None
            if data is not None:
                start = prefix if isinstance(prefix, str) else ""
                variables.update(_variables(data, start))
            else:
                why = "is not here" if kind == "ConfigMap" else "is not read"
                what = f"{kind} {name[:60]}, which the container takes in, {why}"
                openings.append(Opening(what, place))
        if not isinstance(item, dict):
            what = f"envFrom[{index}] is filled in before the object is applied"
            openings.append(Opening(what, place))
    return TakenVariables(tuple(variables.values()), tuple(openings))


def _variables(config_map: Document, prefix: str) -> Iterator[tuple[str, Variable]]:
    for key, value in section(config_map.data, "data").items():
        if not _NAME.fullmatch(key):
            continue
        place = config_map.place(("data", key))._replace(
            key=key, span=config_map.span(("data", key))
        )
        is_open = not isinstance(value, str) or "$" in value or "{{" in value
        text = None if is_open else str(value)
        raw = value if isinstance(value, str) else ""
        yield prefix + key, Variable(prefix + key, text, place, raw)


def _config_map(document: Document, name: str) -> Document | None:
    for path, text in _texts(document):
        if "ConfigMap" not in text or name not in text:
            continue
        try:
            documents = load_documents(path, text)
        except ReadError:
            continue
        for other in documents:
            data = section(other.data)
            if (
                data.get("kind") == "ConfigMap"
                and section(data, "metadata").get("name") == name
            ):
                return other
    return None


def _texts(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the text of the file itself, then those of the files beside it."""
    yield document.name, document.text
    folder = os.path.dirname(document.name)
    if not os.path.isfile(document.name):
        return
    names = sorted(os.listdir(folder or "."))
    beside = [name for name in names if name.endswith(_SUFFIXES)]
    for name in beside[:_MOST_FILES]:
        path = os.path.normpath(os.path.join(folder, name))
        if path == os.path.normpath(document.name) or not is_inside(path, folder):
            continue
        try:
            yield path, read_text(path)
        except ReadError:
            continue
