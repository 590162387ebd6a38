"""The keys of a Kubernetes object, and its values of a type that the server refuses.

No key table: the tables hold only a part of the fields, and the API server itself names
unknown ones before anything starts.
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.stated_keys import KeyedFile, LoadedAs, StatedKey
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._kubernetes_pods import Container
from speccheck.validator.sources.mapping import items, section
from speccheck.validator.sources.reader import keyed_file


def keyed(
    document: Document, format_id: str, containers: Sequence[Container]
) -> KeyedFile:
    """The keys, without the variables of the containers, which are evidence already.

    Nor with `$NAME`: manifests go through envsubst before they are applied, and what
    such a text leaves open is unknown.
    """
    whole = keyed_file(document, format_id, None)
    variables = tuple((*one.path, "env") for one in containers)
    keys = tuple(
        key
        for key in whole.keys
        if not _is_filled_in(key) and not _is_below(key.path, variables)
    )
    mistyped = tuple(_mistyped(document, containers))
    return whole._replace(keys=keys, loaded_as=mistyped)


def _is_filled_in(key: StatedKey) -> bool:
    return isinstance(key.value, str) and key.value.startswith("$")


def _is_below(path: KeyPath, parents: Sequence[KeyPath]) -> bool:
    return "env" in path and any(path[: len(one)] == one for one in parents)


def _mistyped(
    document: Document, containers: Sequence[Container]
) -> Iterator[LoadedAs]:
    """Variables without quotes: EnvVar.value of core/v1 is a string, nothing else."""
    for container in containers:
        for index, item in enumerate(items(container.fields.get("env"))):
            value = section(item).get("value")
            if isinstance(value, bool | int | float):
                path = (*container.path, "env", index, "value")
                raw = document.raw(path)
                written = raw.text if raw is not None else str(value).lower()
                kind = "true or false" if isinstance(value, bool) else "a number"
                place = document.place(path)
                name = str(section(item).get("name"))[:60]
                expected = "a text in quotes"
                yield LoadedAs(name, written, kind, expected, place, fatal=True)
