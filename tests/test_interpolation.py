"""Texts that refer to other values: what they become, and why not."""

import pytest

from speccheck.validator.sources.interpolation import interpolate

PLAIN = {
    "tp": 4,
    "pp": 2,
    "rate": "3e-4",
    "name": "seven",
    "trainer": {"num_nodes": 16, "devices": 8},
    "list": [1, {"two": 2}],
    "left": "???",
}


def worked_out(text: str, **others: object) -> object:
    data, _ = interpolate({**PLAIN, **others, "it": text})
    assert isinstance(data, dict)
    return data["it"]


def reason(text: str, **others: object) -> str:
    data, outcomes = interpolate({**PLAIN, **others, "it": text})
    assert isinstance(data, dict)
    assert data["it"] == text
    assert not outcomes[("it",)].is_known
    return outcomes[("it",)].note


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${tp}", 4),
        ("${trainer.num_nodes}", 16),
        ("${trainer[num_nodes]}", 16),
        ("${list[1].two}", 2),
        ("${list.0}", 1),
        ("${rate}", "3e-4"),
        ("${.tp}", 4),
        ("${name}-tp${tp}", "seven-tp4"),
        ("${trainer.${key}}", 8),
        ("${multiply:${tp}, ${pp}}", 8),
        ("${mul:2,${mul:${tp},${pp}}}", 16),
        ("${divide_ceil:10,${tp}}", 3),
        ("${divide_floor:10,${tp}}", 2),
        ("${divide:8,2}", 4),
        ("${add:1,2,3}", 6),
        ("${sub:${tp},1}", 3),
        ("${max:${tp},${pp}}", 4),
        ("${oc.decode:${oc.env:NODES,32}}", 32),
        ("${oc.env:CLUSTER,'dgx, h100'}", "dgx, h100"),
        ("${oc.select:nothing.here,12}", 12),
        ("${oc.select:trainer.devices,12}", 8),
        ("${if:${eq:${tp},4},yes,no}", "yes"),
        (r"\${tp} costs", "${tp} costs"),
    ],
)
def test_a_text_gives_what_omegaconf_gives(text: str, value: object) -> None:
    found = worked_out(text, key="devices")
    assert found == value
    assert type(found) is type(value)


def test_relative_references_start_beside_the_text() -> None:
    data, outcomes = interpolate({"a": {"x": 1, "b": {"x": 2, "c": "${.x}${..x}"}}})
    assert data == {"a": {"x": 1, "b": {"x": 2, "c": "21"}}}
    assert outcomes[("a", "b", "c")].sources == (("a", "b", "x"), ("a", "x"))


def test_a_recipe_may_name_itself_by_the_key_that_it_is_composed_below() -> None:
    assert worked_out("${training.trainer.devices}") == 8
    assert "training.gone is not in this file" in reason("${training.gone}")
    # Not where the key is there and means something else.
    assert "training.tp is not" in reason("${training.tp}", training={"x": 1})


def test_a_reference_to_a_block_gives_the_block_worked_out() -> None:
    data, _ = interpolate({"a": {"x": "${tp}"}, "tp": 8, "b": "${a}", "c": "${b.x}"})
    assert data == {"a": {"x": 8}, "tp": 8, "b": {"x": 8}, "c": 8}


def test_the_note_shows_the_arithmetic() -> None:
    _, outcomes = interpolate({**PLAIN, "size": "${multiply:${tp},${pp}}"})
    outcome = outcomes[("size",)]
    assert outcome.note == "${multiply:${tp},${pp}} = 8 (tp = 4, pp = 2)"
    assert outcome.sources == (("tp",), ("pp",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("${nothing}", "nothing is not in this file or what it inherits"),
        ("${trainer.nothing.more}", "trainer.nothing.more is not in this file"),
        ("${it}", "refers to itself"),
        ("${eval:1+1}", "the resolver eval"),
        ("${oc.env:NODES}", "the environment variable NODES is not known from here"),
        ("${divide:1,0}", "divides by zero"),
        ("${multiply:${name},2}", "'seven' is not a number"),
        ("${left}", "left is left to be set at start"),
        ("${tp", "its bracket is not closed"),
        ("${if:1}", "if needs a condition and two values"),
    ],
)
def test_what_cannot_be_worked_out_keeps_its_text_and_says_why(
    text: str, says: str
) -> None:
    assert says in reason(text)


def test_a_circle_of_references_ends() -> None:
    data, outcomes = interpolate({"a": "${b}", "b": "${c}", "c": "${a}", "d": "${a}1"})
    assert data == {"a": "${b}", "b": "${c}", "c": "${a}", "d": "${a}1"}
    assert all("itself" in item.note for item in outcomes.values())
    assert set(outcomes) == {("a",), ("b",), ("c",), ("d",)}


def test_a_block_that_refers_to_itself_ends() -> None:
    data, outcomes = interpolate({"a": {"b": "${a}", "x": 1}})
    assert data == {"a": {"b": "${a}", "x": 1}}
    assert "itself" in outcomes[("a", "b")].note


def test_texts_that_double_at_each_reference_are_given_up() -> None:
    levels: dict[str, object] = {
        f"x{n}": f"${{x{n + 1}}}${{x{n + 1}}}" for n in range(40)
    }
    data, outcomes = interpolate({**levels, "x40": "ab"})
    assert isinstance(data, dict)
    assert data["x39"] == "abab"
    assert "more than 10,000 characters" in outcomes[("x0",)].note


def test_a_chain_of_ten_thousand_references_is_given_up() -> None:
    chain: dict[str, object] = {f"x{n}": f"${{x{n + 1}}}" for n in range(10_000)}
    data, outcomes = interpolate({**chain, "x10000": 1})
    assert isinstance(data, dict)
    assert data["x10000"] == 1
    assert "too deep" in outcomes[("x0",)].note
    assert data["x9999"] == 1


def test_a_selection_below_a_missing_block_takes_its_default() -> None:
    text = "${oc.select:reward_model.reward_manager,naive}"
    data, _ = interpolate({"reward_manager": {"name": text}})
    assert data == {"reward_manager": {"name": "naive"}}


@pytest.mark.parametrize(
    "data",
    [
        {"a": {"b": "${oc.select:a,null}"}},
        {"a": "${oc.select:a.b,{}}"},
        {"a": {"b": {"c": "${oc.select:a.b.c,1}"}}},
        {"a": "${b.x}", "b": "${oc.select:a.y,1}"},
    ],
)
def test_a_selection_of_what_holds_it_ends(data: dict[str, object]) -> None:
    _, outcomes = interpolate(data)
    assert any("refers to itself" in outcome.note for outcome in outcomes.values())
