"""Reads what tools print of measurements, for the tests of their readers; breaks it."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

from speccheck.validator.evidence.node.node import Node
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.reader import Reader, Source

Leaves = dict[str, object]


def node_of(folder: Path, text: str, name: str = "run.log") -> tuple[str, Node]:
    """Return the format that a text was taken for, and what it tells."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    status, files = read_file(str(path))
    assert status.state == "judged", (status.state, status.message)
    ((reading,),) = [file.readings for file in files]
    assert reading.node is not None
    return files[0].format, reading.node


def parts(node: Node, kind: str = "collective_runs") -> list[Leaves]:
    """Return the leaves of all parts of a kind, as they lie in the evidence."""
    found = node.data.get(kind, [])
    assert isinstance(found, list)
    return [dict(part) for part in found]


def parts_of(folder: Path, text: str, kind: str = "collective_runs") -> list[Leaves]:
    """Return the parts of a kind that a text tells of."""
    return parts(node_of(folder, text)[1], kind)


def line_of(node: Node, kind: str, number: int, leaf: str) -> int:
    """Return the line that a leaf stands on."""
    span = node.file.place((kind, number, leaf)).span
    assert span is not None
    return span.line


def reason(found: object) -> str:
    """Return why a leaf is absent."""
    assert isinstance(found, dict), found
    assert found["status"] in {"absent", "failed"}
    return str(found["message"])


def broken(text: str, seed: int, count: int) -> Iterator[str]:
    """Yield a text cut off, with lines lost or moved, with other characters."""
    chance = random.Random(seed)  # noqa: S311 - the same texts in every run
    odd = "0 9.-#:[]{}\"'/\\\t\n\x0b\u2028é,NaIinf\x1b"
    for number in range(count):
        lines = text.splitlines(keepends=True)
        kind = number % 5
        if kind == 0:
            yield text[: chance.randrange(1, len(text))]
        elif kind == 1:
            chance.shuffle(lines)
            yield "".join(lines)
        elif kind == 2:
            yield "".join(line for line in lines if chance.random() < 0.7)
        elif kind == 3:
            letters = list(text)
            for _ in range(1 + len(letters) // 50):
                letters[chance.randrange(len(letters))] = chance.choice(odd)
            yield "".join(letters)
        else:
            at = chance.randrange(len(text))
            yield text[:at] + text[at:].replace(" ", "9" * 30, 3) + text[:at]


def read_broken(reader: object, text: str, name: str, seed: int, count: int) -> int:
    """Read many broken forms of a text; how many of them told of anything."""
    result = 0
    for item in broken(text, seed, count):
        if item.strip():
            reading = reader.read(Source(name, item))  # type: ignore[attr-defined]
            assert_sound(reading.node)
            result += bool(reading.node.data)
    return result


def assert_sound(node: Node) -> None:
    """Assert that a part's points are of one length, and every number is finite."""
    for kind in node.data:
        for part in parts(node, kind):
            lists = {
                len(found)
                for leaf, found in part.items()
                if isinstance(found, list) and leaf != "hosts"
            }
            assert len(lists) <= 1, part
            json.dumps(part, allow_nan=False)


def read_mutated(reader: Reader, content: object, seed: int, count: int) -> None:
    """Read a document with other values, and without some of its keys."""
    chance = random.Random(seed)  # noqa: S311 - the same documents in every run
    odd = [None, [], {}, -1, 2**70, "x", 1e308, True, [None], {"a": 1}]

    def mutated(value: object) -> object:
        if chance.random() < 0.04:
            return chance.choice(odd)
        if isinstance(value, dict):
            kept = {key: item for key, item in value.items() if chance.random() > 0.02}
            return {key: mutated(item) for key, item in kept.items()}
        return [mutated(item) for item in value] if isinstance(value, list) else value

    for _ in range(count):
        source = Source("a.json", json.dumps(mutated(content)))
        for document in source.documents:
            if reader.detect(document) > 0:
                node = reader.read(document).node
                assert node is not None
                assert_sound(node)
