"""The grammar that every message of every fixture is held to (test_rules.py)."""

import pytest

from message_wording import wrong_wording
from speccheck.validator.evidence.finding import Finding


def failure(message: str, remedy: str = "Add a node.") -> Finding:
    return Finding(
        clause="COMM-001",
        title="A title",
        clause_level="must",
        outcome="fail",
        rule="a_rule",
        level="error",
        message=message,
        remedy=remedy,
    )


@pytest.mark.parametrize(
    "message",
    [
        "1 nodes reported",
        "the job has 8 node",
        "1 processes start",
        "torchrun is not told where the nodes meet",
        f"a value that goes {'on and ' * 80}on",
        "two  blanks",
    ],
)
def test_a_wrong_message_is_seen(message: str) -> None:
    assert [*wrong_wording(failure(message))]


@pytest.mark.parametrize(
    "message",
    [
        "1 node reported, 2 nodes were expected",
        "512 is not 2 x 8 x 1 ranks",
        "NCCL_IB_DISABLE=1 switches off InfiniBand",
        "a 64 GPU-hour budget",
    ],
)
def test_a_right_message_passes(message: str) -> None:
    assert not [*wrong_wording(failure(message))]


def test_an_error_without_a_remedy_is_seen() -> None:
    (wrong,) = wrong_wording(failure("8 nodes", remedy=""))
    assert wrong == "no remedy: 8 nodes"
