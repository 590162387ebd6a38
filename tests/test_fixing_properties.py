"""Random changes of random files: nothing but what is named changes."""

from collections import Counter
from difflib import SequenceMatcher
from random import Random
from typing import Literal

import pytest

from fixed_texts import after, word_at
from random_texts import YamlText, json_text, paths, scalar, script_text, toml_text
from speccheck.validator.changes.fixes.edit import CannotEdit
from speccheck.validator.evidence.finding import Change
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.reader import Source

Kind = Literal["set", "remove", "rename", "add"]
KINDS: tuple[Kind, ...] = ("set", "remove", "rename", "add")
SEEDS = (range(25), pytest.param(range(25, 150), marks=pytest.mark.slow))
CHANGES = 12
NEW = "fresh"


def document_of(file: str, text: str) -> Document:
    return Source(file, text).documents[0]


def leaves(data: object, path: KeyPath = ()) -> dict[KeyPath, object]:
    """Return all values by their paths; what is empty stands for itself."""
    found: dict[KeyPath, object] = {}
    if isinstance(data, dict):
        for key, value in data.items():
            found |= leaves(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            found |= leaves(value, (*path, index))
    else:
        found[path] = (type(data).__name__, data)
    return found


def expected(data: object, change: Change) -> dict[KeyPath, object]:
    """Return the values after a change, worked out from the paths alone."""
    path = change.place.path
    found: dict[KeyPath, object] = {}
    for at, value in leaves(data).items():
        if at[: len(path)] == path:
            rest = at[len(path) :]
            if change.kind == "add":
                found[at] = value
            elif change.kind == "rename":
                found[(*path[:-1], change.name, *rest)] = value
        elif (
            change.kind == "remove"
            and isinstance(path[-1], int)
            and at[: len(path) - 1] == path[:-1]
        ):
            index = at[len(path) - 1]
            assert isinstance(index, int)
            moved = index - (index > path[-1])
            found[(*path[:-1], moved, *at[len(path) :])] = value
        else:
            found[at] = value
    new = (type(change.value).__name__, change.value)
    if change.kind == "set":
        found[path] = new
    if change.kind == "add":
        found[(*path[:-1], change.name)] = new
    return found


def lines_of(text: str) -> list[str]:
    """Return the lines; whether the last one has an end is left out."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def demand_few_lines(old: str, new: str, kind: Kind) -> None:
    """Assert that differing lines stand together, but for a comma before them."""
    before, now = lines_of(old), lines_of(new)
    matcher = SequenceMatcher(None, before, now, autojunk=False)
    changed = [item for item in matcher.get_opcodes() if item[0] != "equal"]
    gone = sum(stop - start for _, start, stop, _, _ in changed)
    come = sum(stop - start for _, _, _, start, stop in changed)
    if kind in {"set", "rename"}:
        assert (gone, come) in {(1, 1), (0, 0)}, (old, new)
    elif kind == "add":
        assert come - gone in {0, 1}, (old, new)
        assert gone <= 1, (old, new)
    else:
        assert come <= 1, (old, new)


def comments(text: str) -> Counter[str]:
    marks = (
        line.partition("  # ")[2] or line.partition("  // ")[2]
        for line in lines_of(text)
    )
    own = (line.strip() for line in lines_of(text) if line.lstrip().startswith("# "))
    return Counter([*filter(None, marks), *own])


def demand_line_ends(old: str, new: str) -> None:
    if "\r\n" in old:
        assert new.count("\n") == new.count("\r\n")
    else:
        assert "\r" not in new


@pytest.mark.parametrize("seeds", SEEDS, ids=len)
@pytest.mark.parametrize(
    ("file", "least_made"), [("a.yaml", 0.8), ("a.json", 0.85), ("a.toml", 0.6)]
)
def test_a_document_changes_only_where_it_should(
    file: str, least_made: float, seeds: range
) -> None:
    made = tried = 0
    for seed in seeds:
        random = Random(seed)  # noqa: S311 - the same in every run
        if file == "a.yaml":
            text = YamlText(random).text()
        else:
            text = json_text(random) if file == "a.json" else toml_text(random)
        data = document_of(file, text).data
        every = paths(data)
        for path in random.sample(every, min(len(every), CHANGES)):
            kind = random.choice(KINDS)
            is_item = isinstance(path[-1], int)
            if is_item and kind in {"rename", "add"}:
                continue
            place = Place("", str(path[-1]), path)
            change = Change(kind, place, scalar(random), NEW)
            if change.value == "" or (kind == "set" and not is_leaf(data, path)):
                continue
            tried += 1
            try:
                new = after(file, text, change)
            except CannotEdit:
                continue
            made += 1
            found = document_of(file, new).data
            assert leaves(found) == expected(data, change), (text, change, new)
            demand_few_lines(text, new, kind)
            demand_line_ends(text, new)
            if kind == "remove":
                assert comments(new) <= comments(text), (text, change, new)
            else:
                assert comments(new) == comments(text), (text, change, new)
    assert tried > len(seeds)
    assert made >= least_made * tried, (made, tried)


def is_leaf(data: object, path: KeyPath) -> bool:
    return path in leaves(data)


@pytest.mark.parametrize("seeds", SEEDS, ids=len)
def test_a_script_changes_only_where_it_should(seeds: range) -> None:
    made = tried = 0
    for seed in seeds:
        random = Random(seed)  # noqa: S311 - the same in every run
        text, marks = script_text(random)
        for marked, key in marks:
            kind = random.choice(KINDS)
            name = f"--{NEW}" if key.startswith("-") else NEW.upper()
            place = word_at(text, marked, key)
            change = Change(kind, place, random.choice((7, "a b", "$X", "it's")), name)
            tried += 1
            try:
                new = after("run.sh", text, change)
            except CannotEdit:
                continue
            made += 1
            demand_few_lines(text, new, kind)
            demand_line_ends(text, new)
            assert stated(new) == wanted(stated(text), change), (text, change, new)
    assert made > 0.8 * tried


def stated(text: str) -> Counter[str]:
    """Return the words and the variables of a script as it is read."""
    script = Source("run.sh", text).script
    assert not [item for item in script.problems if "carriage" not in item.message]
    found = [f"{item.name}={item.value.text}" for item in script.assignments]
    for command in script.commands:
        words = [word.text for word in command.words]
        if words[0] == "torchrun":
            found += (
                " ".join(words).replace(" --", "\n--").replace("=", " ").split("\n")
            )
    return Counter(found)


def wanted(before: Counter[str], change: Change) -> Counter[str]:
    key, joint = change.place.key, "="
    if key.startswith("-"):
        joint = " "
    old = next(item for item in before if item.startswith(f"{key}{joint}"))
    value = old[len(key) + 1 :]
    tail = " train.py" if value.endswith(" train.py") else ""
    value = value.removesuffix(tail)
    now = Counter(before)
    now[old] -= 1
    if change.kind == "set":
        now[f"{key}{joint}{change.value}{tail}"] += 1
    elif change.kind == "rename":
        now[f"{change.name}{joint}{value}{tail}"] += 1
    elif change.kind == "add":
        now[f"{key}{joint}{value}"] += 1
        now[f"{change.name}{joint}{change.value}{tail}"] += 1
    elif tail:
        return with_tail(+now, tail)
    return +now


def with_tail(now: Counter[str], tail: str) -> Counter[str]:
    """Return the word behind a removed option stands behind the option before it."""
    last = max((item for item in now if item.startswith("--flag")), default="torchrun")
    return now - Counter([last]) + Counter([last + tail])
