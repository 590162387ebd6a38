"""Fixes are offered where it is certain what stands in a file, and nowhere else."""

import pytest

from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.finding import (
    Change,
    Fix,
    to_remove,
    to_rename,
    to_set,
)
from speccheck.validator.evidence.framework_keys import KeyRow
from speccheck.validator.evidence.mending import (
    place_of,
    renamed_key,
    rewritten,
    switched,
    the_flag,
    typed,
    without_keys,
    without_variables,
)
from speccheck.validator.evidence.stated_keys import (
    InDocument,
    KeyedFile,
    LoadedAs,
    StatedKey,
    StatedKeys,
)
from speccheck.validator.evidence.value import KeyPath, Place, Span, Status, Value

FILE = "sft.yaml"


def place(*path: str, document: int = 0) -> Place:
    return Place(FILE, ".".join(path), path, document)


def key(*path: str, value: object, is_sure: bool = True) -> StatedKey:
    return StatedKey(path, value, InDocument(FILE), is_sure=is_sure)


def stated(*keys: StatedKey, file: str = FILE) -> StatedKeys:
    return StatedKeys((KeyedFile(file, "hf-trainer", keys),))


def leaf(
    value: object, *places: Place, status: Status = "stated", name: str = "run.steps"
) -> Value[object]:
    return Value(name, value, status, places)


def test_a_value_is_written_over_where_the_file_holds_it() -> None:
    fix = rewritten(leaf(7, place("a", "b")), 9, stated(key("a", "b", value=7)))
    assert fix == Fix("set a.b to 9", (to_set(place("a", "b"), 9),))


@pytest.mark.parametrize(
    ("value", "places", "status", "written"),
    [
        pytest.param(600, [place("a")], "stated", 10, id="another unit: minutes"),
        pytest.param(7, [place("a")], "default", 7, id="a default"),
        pytest.param(7, [place("a")], "derived", 7, id="derived"),
        pytest.param(7, [], "stated", 7, id="no place"),
        pytest.param(7, [place("a"), place("b")], "stated", 7, id="two places"),
        pytest.param(7, [place("b")], "stated", 7, id="another key"),
        pytest.param(7, [place("a", document=1)], "stated", 7, id="another document"),
        pytest.param(1, [place("a")], "stated", True, id="a switch is no number"),
        pytest.param(7, [place("a")], "stated", "${steps}", id="a reference"),
        pytest.param(None, [place("a")], "conflict", 7, id="a conflict"),
    ],
)
def test_it_is_not_where_the_place_is_not_certain(
    value: object, places: list[Place], status: Status, written: object
) -> None:
    keys = stated(key("a", value=written))
    assert rewritten(leaf(value, *places, status=status), 9, keys) is None


def test_a_key_that_a_script_may_not_give_is_left_alone() -> None:
    keys = stated(key("a", value=7, is_sure=False))
    assert rewritten(leaf(7, place("a")), 9, keys) is None
    assert without_keys(keys.files[0].keys) is None
    assert without_keys([]) is None


def flag(name: str, value: object, *, is_sure: bool = True) -> StatedKey:
    at = Place("run.sh", name, span=Span(3, 5, len(name)))
    argument = at if value == [] else at._replace(span=Span(3, 30, 2))
    return StatedKey((name,), value, at, is_sure=is_sure, value_at=argument)


def test_the_argument_of_a_flag_is_written_over() -> None:
    item = flag("--log-interval", "100")
    at = item.value_place
    fix = rewritten(leaf(100, at), 10, stated(item, file="run.sh"))
    assert fix is not None
    assert fix.changes == (Change("set", at, 10),)
    assert at.span == Span(3, 30, 2)


def test_a_flag_given_twice_is_left_alone() -> None:
    keys = stated(flag("--save", "a"), flag("--save", "b"), file="run.sh")
    assert the_flag(keys, "--save") is None
    assert rewritten(leaf("b", flag("--save", "b").value_place), "c", keys) is None


def test_a_switch_of_a_file_is_turned_and_a_flag_goes() -> None:
    profiler: Value[bool] = Value(
        "telemetry.profiler", value=True, status="stated", places=(place("p"),)
    )
    fix = switched(
        profiler, stated(key("p", value=True)), on=False, because="same meaning"
    )
    assert fix == Fix(
        "set p to false", (to_set(place("p"), value=False),), "same meaning"
    )
    assert switched(profiler, stated(key("p", value=True)), on=True) is None
    item = flag("--profile", [])
    given = profiler._replace(places=(item.value_place,))
    fix = switched(given, stated(item, file="run.sh"), on=False, because="same meaning")
    assert fix == Fix("delete --profile", (to_remove(item.value_place),))
    steps = stated(key("p", value=3))
    assert switched(profiler, steps, on=False) is None, "3 steps turn it on"


def test_a_variable_goes_in_each_pod() -> None:
    pods = [Variable("A", "1", place("pod", name)) for name in ("master", "worker")]
    item = Variable("A", "1", pods[0].place, parts=tuple(pods))
    fix = without_variables([item])
    assert fix.changes == tuple(to_remove(pod.place) for pod in pods)


def row(path: str, *successors: str, renamed: bool = True) -> KeyRow:
    return KeyRow(path, deprecated_by=successors, renamed=renamed)


@pytest.mark.parametrize(
    ("path", "known", "others"),
    [
        pytest.param(
            ("b", "old"), row("b.old", "b.new", renamed=False), [], id="not the same"
        ),
        pytest.param(("b", "old"), row("b.old", "c.new"), [], id="another level"),
        pytest.param(
            ("b", "old"), row("b.old", "b.new", "b.x"), [], id="two successors"
        ),
        pytest.param(("b", "alias"), row("b.old", "b.new"), [], id="an alias"),
        pytest.param(
            ("b", "old"), row("b.old", "b.new"), [("b", "new")], id="both stand there"
        ),
    ],
)
def test_a_key_keeps_its_name_where_another_may_mean_another(
    path: KeyPath, known: KeyRow, others: list[KeyPath]
) -> None:
    own = StatedKey(path, 1, InDocument(FILE))
    keys = [own, *(StatedKey(other, 1, InDocument(FILE)) for other in others)]
    file = KeyedFile(FILE, "hf-trainer", tuple(keys))
    assert renamed_key(file, own, known) is None


def test_a_key_takes_the_name_that_it_has_now() -> None:
    own = key("b", "old", value=1)
    file = KeyedFile(FILE, "hf-trainer", (own,))
    fix = renamed_key(file, own, row("b.old", "b.new"))
    assert fix == Fix("rename b.old to new", (to_rename(place("b", "old"), "new"),))


@pytest.mark.parametrize(
    ("written", "expected", "value"),
    [
        ("2e-5", "a number", 2e-5),
        ("-3", "a number", -3),
        ('"8"', "a whole number", 8),
        ("8.0", "a whole number", None),
        ("ten", "a number", None),
        ("True", "true or false", True),
        ("yes", "true or false", None),
        ("no", "the word 'no' in quotes", "no"),
        ("1", "a text in quotes", "1"),
        ("a.b", "a list", None),
    ],
)
def test_a_text_becomes_what_it_means(
    written: str, expected: str, value: object
) -> None:
    item = LoadedAs("k", written, "the text", expected, place("k"), fatal=False)
    fix = typed(item, because="same meaning")
    assert (None if fix is None else fix.changes[0].value) == value
    assert fix is None or type(fix.changes[0].value) is type(value)


def test_only_keys_whose_unit_is_known_are_taken() -> None:
    restarts = leaf(0, Place("run.sh", "--max-restarts", span=Span(1, 1, 1)))
    assert place_of(restarts, "--max-restarts") == restarts.places[0]
    assert place_of(restarts, "--restarts") is None
    nested = leaf(0, place("exp", "resume"))
    assert place_of(nested, "resume") == place("exp", "resume")
    assert place_of(nested, "sume") is None


def test_a_switch_that_was_a_text_is_never_turned_off_safely() -> None:
    for written, is_safe in (("true", True), ("false", False)):
        item = LoadedAs("k", written, "text", "true or false", place("k"), fatal=False)
        fix = typed(item, because="same meaning")
        assert fix is not None
        assert fix.is_safe is is_safe
