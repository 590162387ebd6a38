"""What the command line says of the job."""

import pytest

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.context import (
    COMMAND_LINE,
    FLAGS,
    ROLES,
    Context,
    context_facts,
)
from speccheck.validator.sources.joining.merge import merge

GIGABYTE = 2**30


def leaves(context: Context) -> dict[str, Value[object]]:
    return merge(context_facts(context).facts)


def test_nothing_said_states_nothing() -> None:
    assert leaves(Context()) == {}


def test_every_field_states_its_leaf_at_its_flag() -> None:
    said = leaves(
        Context(
            nodes=4,
            gpus_per_node=8,
            fabric="ib",
            nvlink_domain=8,
            role="pretrain",
            hours=24.0,
            step_seconds=2.5,
            mtbf_hours=100.0,
            framework_version="transformers 4.57.1",
            nccl_version="2.27.3",
        )
    )
    assert {name: leaf.value for name, leaf in said.items()} == {
        "cluster.nodes": 4,
        "cluster.gpus_per_node": 8,
        "cluster.fabric": "infiniband",
        "cluster.nvlink_domain_size": 8,
        "cluster.job_mtbf_hours": 100.0,
        "run.role": "pretrain",
        "run.hours": 24.0,
        "run.step_seconds": 2.5,
        "run.framework": "transformers",
        "run.framework_version": "transformers 4.57.1",
        "run.nccl_version": "2.27.3",
    }
    for name, leaf in said.items():
        (place,) = leaf.places
        assert place.file == COMMAND_LINE
        assert place.key == FLAGS.get(name, "--framework-version")


def test_a_gpu_by_its_full_name() -> None:
    said = leaves(Context(gpu="H100-SXM5-80GB"))
    assert said["cluster.accelerator"].value == "h100-sxm5-80gb"
    assert said["cluster.accelerator_family"].value == "nvidia"
    assert said["cluster.compute_capability"].value == (9, 0)
    assert said["cluster.has_nvlink"].value is True
    memory = said["cluster.accelerator_memory_bytes"].value
    assert isinstance(memory, int)
    assert 78 * GIGABYTE < memory < 80 * GIGABYTE
    assert all(leaf.status == "derived" for leaf in said.values())


def test_what_a_short_name_leaves_open_stays_open() -> None:
    said = leaves(Context(gpu="A100"))
    assert said["cluster.compute_capability"].value == (8, 0)
    assert "cluster.accelerator" not in said
    assert "cluster.accelerator_memory_bytes" not in said


def test_an_instance_type_says_all_of_its_machine() -> None:
    said = leaves(Context(instance="p5.48xlarge"))
    assert said["cluster.instance_type"].status == "stated"
    expected = {
        "cluster.instance_type": "aws-p5",
        "cluster.gpus_per_node": 8,
        "cluster.nvlink_domain_size": 8,
        "cluster.fabric": "efa",
        "cluster.accelerator": "h100-sxm5-80gb",
        "cluster.accelerator_family": "nvidia",
        "cluster.compute_capability": (9, 0),
        "cluster.has_nvlink": True,
    }
    assert {name: said[name].value for name in expected} == expected
    assert said["cluster.fabric"].note == "aws-p5 in the hardware catalogue"


def test_a_gpu_and_an_instance_that_agree_are_no_conflict() -> None:
    said = leaves(Context(gpu="H100", instance="p5.48xlarge"))
    assert not [leaf for leaf in said.values() if leaf.status == "conflict"]


def test_a_gpu_and_an_instance_that_differ_are_a_conflict() -> None:
    said = leaves(Context(gpu="A100-80GB", instance="p5.48xlarge"))
    leaf = said["cluster.compute_capability"]
    assert leaf.status == "conflict"
    assert [place.key for place in leaf.places] == ["--gpu", "--instance"]


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (Context(gpu="H1000"), "unknown GPU 'H1000' (did you mean H100?)"),
        (Context(gpu="A100-60GB"), "no such variant is known"),
        (Context(instance="p5.48xlage"), "unknown instance type 'p5.48xlage'"),
        (Context(fabric="infinband"), "unknown fabric 'infinband'"),
    ],
)
def test_names_that_nobody_knows_are_refused(context: Context, message: str) -> None:
    with pytest.raises(UnknownName) as caught:
        context_facts(context)
    assert message in str(caught.value)


def test_a_version_without_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="no version number"):
        context_facts(Context(framework_version="the newest one"))


def test_a_version_without_a_framework_names_none() -> None:
    assert set(leaves(Context(framework_version="4.57.1"))) == {"run.framework_version"}


def test_roles_are_words_of_the_plan() -> None:
    assert len(set(ROLES)) == len(ROLES)
    assert {"pretrain", "sft", "debug"} <= set(ROLES)
