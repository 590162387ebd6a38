"""What relations count of values: lists, texts that describe layers, schedules."""

import pytest

from speccheck.validator.evidence.key_forms import FORMS, MEASURES


@pytest.mark.parametrize(
    ("measure", "value", "number"),
    [
        ("length", [1, 2], 2),
        ("length", {"a": 1}, 1),
        ("length", "a b", None),
        ("sum", [1, "2.5"], 3.5),
        ("product", "2 4", 8),
        ("product", ["a"], None),
        ("smallest", [3, 1, 2], 1),
        ("largest", [True], None),
        ("first", [], None),
        ("first", ["9" * 50], None),
        ("sum", [10**400], None),
        ("entries", "a,b, c", 3),
        ("entries", [1, 2], 2),
        ("entries", 0.5, 1),
        ("entries", {"a": 1}, None),
        ("least_step", [0, 5, 7], 2),
        ("indivisible_steps", [512, 1024, 1536, 1536], 2),
        ("different_values", ["a", "a", "b"], 2),
        ("attention_layers", [[["global", "local"], 6]], 12),
        ("attention_layers", ["global", "flash"], 2),
        ("attention_layers", [[["global"], "all"]], None),
        ("pipeline_stages", "Et*3|(tt|)*29,m|L", 32),
        ("pipeline_layers", "Et*3|(tt|)*29,m|L", 61),
        ("pipeline_prediction_layers", "Et|tmmL", 2),
        ("pipeline_layers", "(t)*999999", None),
        ("pipeline_stages_with_predictions", "Et|m|mL", 2),
        ("pipeline_stages_before_predictions", "Et|t|mL", 2),
        ("pipeline_stages_before_predictions", "Et|tL", None),
        ("listed_length", "([0]+[1]*3)*2", 8),
        ("listed_length", "[0, 1, 1,]", 3),
        ("listed_length", "[]", 0),
        ("listed_length", "4", None),
        ("listed_length", "([0]*3", None),
        ("listed_length", "[0])", None),
        ("listed_length", "2*[0]", None),
        ("listed_length", "[len(x)]", None),
        ("hybrid_layers", "M-|M*/MM/MM", 4),
        ("hybrid_segments", "M-|M*/MM/MM", 2),
        ("hybrid_predictions", "M-|M*/MM/MM", 2),
        ("hybrid_layers", 3, None),
    ],
)
def test_what_is_counted_of_a_value(
    measure: str, value: object, number: float | None
) -> None:
    assert MEASURES[measure](value) == number


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("0:256 1.5B:512", True),
        ("0:256,1m:512", True),
        ("1:256", False),
        ("0:256 0:512", False),
        ("0:0", False),
        ("0", False),
        ("a:b", True),  # what is written in another way is let through
    ],
)
def test_schedules_of_batch_sizes(text: str, *, is_taken: bool) -> None:
    assert FORMS["megatron_batch_schedule"](text) is is_taken
