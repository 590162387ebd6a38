"""The defaults list of Hydra."""

import pytest

from reader_text import document_of
from speccheck.validator.sources.formats._hydra import hydra_parents
from speccheck.validator.sources.reader import Parent

BESIDE = (".", "..")


def parents(text: str) -> tuple[Parent, ...]:
    return hydra_parents(document_of(text, "config.yaml"))


def test_groups_files_and_packages() -> None:
    found = parents("""\
defaults:
  - base
  - training: gpt3/5b
  - db/mysql
  - optim@model.optim: adam
  - data@_global_: c4
  - rules@_here_: strict
  - cluster@_global_.run.cluster: slurm
  - /model/llama@_group_
""")
    assert [(finding.target, finding.under) for finding in found] == [
        ("base.yaml", ()),
        ("training/gpt3/5b.yaml", ("training",)),
        ("db/mysql.yaml", ("db",)),
        ("optim/adam.yaml", ("model", "optim")),
        ("data/c4.yaml", ()),
        ("rules/strict.yaml", ()),
        ("cluster/slurm.yaml", ("run", "cluster")),
        ("model/llama.yaml", ("model",)),
    ]
    assert found[0] == Parent("base.yaml", ("defaults", 0), (), BESIDE)
    assert found[1].at == ("defaults", 1, "training")
    assert found[-1].folders == (".", "..", "../..", "../../..", "../../../..")


def test_the_file_itself_wins_unless_it_says_otherwise() -> None:
    text = "defaults: [base, {model: small}]\nlr: 1\n"
    assert [item.wins for item in parents(text)] == [False, False]
    text = "defaults: [base, _self_, {model: small}]\nlr: 1\n"
    assert [item.wins for item in parents(text)] == [False, True]


def test_an_override_comes_after_what_it_replaces_and_before_the_file() -> None:
    found = parents("""\
defaults:
  - trainer
  - _self_
  - late
  - override /optim: sgd
""")
    assert [(finding.target, finding.wins) for finding in found] == [
        ("trainer.yaml", False),
        ("optim/sgd.yaml", False),
        ("late.yaml", True),
    ]


def test_optional_entries_and_several_choices() -> None:
    found = parents("""\
defaults:
  - optional tp_overlap@model.ub: h100
  - extra: [one, two]
  - model: old
    optional: true
""")
    assert [(finding.target, finding.is_optional) for finding in found] == [
        ("tp_overlap/h100.yaml", True),
        ("extra/one.yaml", False),
        ("extra/two.yaml", False),
        ("model/old.yaml", True),
    ]


def test_hydras_own_groups_are_no_parents() -> None:
    assert (
        parents("""\
defaults:
  - _self_
  - override hydra/job_logging: stdout
  - hydra/launcher: submitit_slurm
  - optim: null
  - optional tp_overlap@model.ub:
""")
        == ()
    )


def test_what_is_still_to_be_chosen_names_a_file_that_is_not_there() -> None:
    found = parents("defaults:\n  - model: ???\n  - optim: ${model}_adam\n")
    assert [finding.target for finding in found] == [
        "model/???.yaml",
        "optim/${model}_adam.yaml",
    ]


def test_folders_of_the_search_path_follow() -> None:
    (found,) = parents("""\
defaults: [ppo_trainer]
hydra:
  searchpath: [file://verl/trainer/config, pkg://verl.config, file:///opt/conf]
""")
    assert found.folders == (
        *BESIDE,
        "verl/trainer/config",
        "../verl/trainer/config",
        "../../verl/trainer/config",
        "../../../verl/trainer/config",
        "../../../../verl/trainer/config",
    )


@pytest.mark.parametrize(
    "text",
    [
        "lr: 1\n",
        "defaults: ../sft.yaml\n",
        "defaults: {model: small}\n",
        "defaults: [1, null, [deep], {1: 2}, {'': x}, '', {a: {b: c}}]\n",
        "defaults: [_self_]\nhydra: 3\n",
        "hydra: {searchpath: file://x}\n",
        "[1, 2]\n",
    ],
)
def test_other_shapes_have_no_parents(text: str) -> None:
    assert parents(text) == ()
