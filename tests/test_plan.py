"""The plan: sections are frozen, leaves are named by their place."""

import pytest

from speccheck.validator.evidence.plan import (
    SECTIONS,
    Cluster,
    TrainingPlan,
    leaf_names,
)
from speccheck.validator.evidence.value import MissingEvidence, Value


def test_each_unknown_leaf_carries_its_own_name() -> None:
    for section, kind in SECTIONS.items():
        for field in kind.__annotations__:
            leaf = getattr(kind, field)
            assert leaf.name == f"{section}.{field}"
            assert leaf.status == "unknown"


def test_a_leaf_that_nobody_states_names_itself_when_needed() -> None:
    with pytest.raises(MissingEvidence) as caught:
        Cluster().nodes.need()
    assert caught.value.name == "cluster.nodes"


def test_sections_are_frozen() -> None:
    cluster = Cluster(nodes=Value("cluster.nodes", 4, "stated"))
    with pytest.raises(AttributeError):
        cluster.nodes = Value("cluster.nodes", 8, "stated")


def test_an_unknown_leaf_name_is_refused() -> None:
    with pytest.raises(AttributeError):
        TrainingPlan({"cluster.node": Value("cluster.node", 4, "stated")})


def test_leaf_names_are_unique() -> None:
    names = leaf_names()
    assert len(names) == len(set(names))
