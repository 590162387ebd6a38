"""A copy of a framework is known by its options; no advice names one it lacks."""

import pytest

from speccheck.validator.catalogue.frameworks import load_forks, load_framework
from speccheck.validator.evidence.forks import (
    CommandParser,
    Fork,
    advice_for,
    parser_of,
)

TABLE = load_framework("megatron-lm")
FORKS = load_forks("megatron-lm")
PLAIN = ("--num-layers", "--tensor-model-parallel-size")


def parser(*options: str) -> CommandParser:
    return parser_of(TABLE, FORKS, {*PLAIN, *options})


@pytest.mark.parametrize(
    ("options", "names"),
    [
        pytest.param((), [], id="Megatron-LM"),
        pytest.param(("--no-such-option",), [], id="a slip"),
        pytest.param(
            ("--deepspeed", "--kill-switch-path"),
            ["BigScience Megatron-DeepSpeed"],
            id="BigScience",
        ),
        pytest.param(("--no_new_tokens",), ["Megatron-LLM"], id="Megatron-LLM"),
        pytest.param(
            ("--spec", "--prompt-type", "--enable-high-availability"),
            ["MindSpeed-LLM"],
            id="MindSpeed-LLM",
        ),
    ],
)
def test_a_fork_is_known_by_its_own_options(
    options: tuple[str, ...], names: list[str]
) -> None:
    assert [fork.name for fork in parser(*options).forks] == names


def test_what_several_forks_may_be_has_what_all_of_them_have() -> None:
    either = parser("--deepspeed")
    assert len(either.forks) > 1
    assert either.has("--zero-stage")
    assert not either.has("--log-throughput")
    assert not either.has("--kill-switch-path")


def test_an_option_that_is_gone_bounds_the_release() -> None:
    old = parser("--DDP-impl")
    assert not old.forks
    assert old.has("--save-interval")
    assert not old.has("--log-throughput")
    assert parser().has("--log-throughput")


def test_advice_loses_the_sentence_with_an_option_that_the_parser_lacks() -> None:
    text = "Save more often. Add --log-throughput to see it. Use torchrun --rdzv-id 1."
    assert advice_for(text, [parser()]) == text
    left = "Save more often. Use torchrun --rdzv-id 1."
    assert advice_for(text, [parser("--DDP-impl")]) == left
    assert advice_for(text, []) == text


def test_a_row_names_its_options_once_and_none_that_the_framework_has() -> None:
    offenders = [
        (fork.name, option)
        for fork in FORKS
        for option in fork.adds
        if TABLE.lookup((option,)) is not None
    ]
    assert offenders == []
    assert all(
        TABLE.lookup((option,)) is not None
        for fork in FORKS
        for option in fork.takes or ()
    )


def test_only_what_all_forks_settle_is_settled() -> None:
    always = Fork("a", frozenset(), settles={"telemetry.throughput": (True, "it is")})
    seldom = Fork("b", frozenset())
    assert CommandParser(TABLE, (always,)).settles("telemetry.throughput") == (
        True,
        "it is",
    )
    assert (
        CommandParser(TABLE, (always, seldom)).settles("telemetry.throughput") is None
    )
