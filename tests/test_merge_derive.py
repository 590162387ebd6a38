"""Several statements about one leaf, and what follows from the leaves."""

import pytest

from speccheck.validator.evidence.value import Place, Value, dotted
from speccheck.validator.sources.joining.merge import derive, merge
from speccheck.validator.sources.reader import Fact, FactSheet

NODES = "cluster.nodes"


def fact(
    value: object, status: str = "stated", file: str = "a.yaml", name: str = NODES
) -> Fact:
    sheet = FactSheet(file)
    if status == "stated":
        sheet.state(name, value, (file[0],))
    elif status == "derived":
        sheet.derive(name, value, f"worked out in {file}", (file[0],))
    elif status == "default":
        sheet.default(name, value, f"default of {file}")
    else:
        sheet.unusable(name, f"not known in {file}", (file[0],))
    return sheet.facts[0]


def one(*facts: Fact) -> Value[object]:
    (leaf,) = merge(facts).values()
    return leaf


def test_one_fact_stays_as_it_is() -> None:
    leaf = one(fact(4))
    assert (leaf.value, leaf.status) == (4, "stated")
    assert leaf.places == (Place("a.yaml", "a", ("a",)),)
    leaf = one(fact(None, "unknown"))
    assert (leaf.value, leaf.status, leaf.note) == (
        None,
        "unknown",
        "not known in a.yaml",
    )


def test_statements_that_agree_keep_every_place() -> None:
    leaf = one(fact(4, "derived", "b.sh"), fact(4), fact(4, file="c.sh"))
    assert (leaf.value, leaf.status) == (4, "stated")
    assert [place.file for place in leaf.places] == ["b.sh", "a.yaml", "c.sh"]
    assert leaf.note == ""


@pytest.mark.parametrize(
    ("left", "right"), [("stated", "stated"), ("stated", "derived")]
)
def test_statements_that_differ_are_a_conflict(left: str, right: str) -> None:
    leaf = one(fact(4, left), fact(8, right, "b.sh"), fact(8, "stated", "c.sh"))
    assert (leaf.value, leaf.status) == (None, "conflict")
    assert leaf.alternatives == ("4", "8")
    assert [place.file for place in leaf.places] == ["a.yaml", "b.sh", "c.sh"]


def test_a_default_loses_in_silence() -> None:
    assert one(fact(1, "default"), fact(4, "stated", "b.sh")).value == 4
    assert one(fact(1, "default"), fact(4, "derived", "b.sh")).status == "derived"
    leaf = one(fact(1, "default"), fact(None, "unknown", "b.sh"))
    assert (leaf.value, leaf.status) == (None, "unknown")
    leaf = one(fact(1, "default"), fact(2, "default", "b.sh"))
    assert (leaf.value, leaf.note) == (1, "default of a.yaml")


def test_what_could_not_be_worked_out_loses_against_a_value() -> None:
    leaf = one(fact(None, "unknown"), fact(4, "stated", "b.sh"))
    assert (leaf.value, leaf.status) == (4, "stated")
    assert [place.file for place in leaf.places] == ["b.sh"]


@pytest.mark.parametrize(
    ("name", "left", "right", "agree"),
    [
        ("optimizer.clip_norm", 1, 1.0, True),
        ("optimizer.learning_rate", 2e-5, 2.0e-5, True),
        ("optimizer.learning_rate", 2e-5, 2.1e-5, False),
        ("optimizer.learning_rate", 0.0, 0, True),
        ("cluster.accelerator_memory_bytes", 85_520_809_984, 84_974_239_744, True),
        ("cluster.accelerator_memory_bytes", 85_520_809_984, 42_505_076_736, False),
        ("precision.bf16", True, False, False),
        ("checkpoint.directory", "/a", "/b", False),
        ("telemetry.sinks", ("a",), ("a",), True),
    ],
)
def test_when_two_values_are_the_same(
    name: str, left: object, right: object, *, agree: bool
) -> None:
    leaf = one(fact(left, name=name), fact(right, file="b.sh", name=name))
    assert (leaf.status != "conflict") is agree


def test_key_paths_are_written_as_people_do() -> None:
    assert dotted(("a", "b", 0, "c")) == "a.b[0].c"
    assert dotted((0, "x")) == "[0].x"
    assert dotted(()) == ""


def stated(**leaves: object) -> dict[str, Value[object]]:
    """Return stated leaves; `__` stands for the dot."""
    facts = []
    for key, value in leaves.items():
        name = key.replace("__", ".")
        facts.append(fact(value, name=name))
    return merge(facts)


def follows(name: str, **leaves: object) -> tuple[object, str]:
    """Return the value and the note of a leaf that follows from stated ones."""
    leaf = derive(stated(**leaves)).get(name)
    return (None, "") if leaf is None else (leaf.value, leaf.note)


def test_the_size_of_the_job() -> None:
    assert follows(
        "cluster.world_size", cluster__nodes=4, cluster__gpus_per_node=8
    ) == (
        32,
        "4 nodes x 8 GPUs = 32",
    )
    assert follows(
        "cluster.nodes", cluster__world_size=1024, cluster__gpus_per_node=8
    ) == (
        128,
        "1,024 GPUs / 8 a node = 128",
    )
    assert follows(
        "cluster.gpus_per_node", cluster__world_size=32, cluster__nodes=4
    ) == (
        8,
        "32 GPUs / 4 nodes = 8",
    )
    assert follows(
        "cluster.nodes", cluster__world_size=33, cluster__gpus_per_node=8
    ) == (
        None,
        "",
    )


DEGREES = {
    "parallelism__tensor_parallel_size": 8,
    "parallelism__pipeline_parallel_size": 4,
    "parallelism__context_parallel_size": 1,
    "parallelism__ulysses_size": 1,
}
ONES = dict.fromkeys(DEGREES, 1)
RANKS = "parallelism.data_parallel_size"


def test_gpus_without_a_rank_are_no_part_of_the_job() -> None:
    leaves = {
        "cluster__nodes": 4,
        "cluster__gpus_per_node": 8,
        "recovery__processes_per_node": 2,
    }
    name = "cluster.world_size"
    alone = follows(name, recovery__tasks_per_node=1, **leaves)
    assert alone == (8, "4 nodes x 2 ranks = 8")
    # Another launcher may start the others.
    assert follows(name, recovery__tasks_per_node=4, **leaves) == (None, "")
    assert follows(name, **leaves) == (None, "")


def test_data_parallel_ranks() -> None:
    assert follows(RANKS, cluster__world_size=128, **DEGREES) == (
        4,
        "128 GPUs / 32 model-parallel ranks = 4",
    )
    assert follows(RANKS, cluster__world_size=16, **ONES) == (
        16,
        "all 16 GPUs are data-parallel",
    )


def test_data_parallel_ranks_are_not_guessed() -> None:
    # 100 / 32 is no number of ranks, and a degree that is not known is not 1.
    assert follows(RANKS, cluster__world_size=100, **DEGREES) == (None, "")
    for missing in DEGREES:
        rest = {name: value for name, value in DEGREES.items() if name != missing}
        assert follows(RANKS, cluster__world_size=128, **rest) == (None, "")


def test_the_degree_that_fills_the_mesh() -> None:
    mesh = {"parallelism__shard_size": -1, "parallelism__replicate_size": 4}
    assert follows(
        "parallelism.shard_size", cluster__world_size=64, **mesh, **ONES
    ) == (16, "-1 fills the mesh: 64 GPUs / 4 = 16")
    assert follows(
        "parallelism.shard_size", cluster__world_size=66, **mesh, **ONES
    ) == (-1, "")


@pytest.mark.parametrize(
    ("missing", "value", "note"),
    [
        ("global_batch_size", 64, "2 x 2 x 16 ranks = 64"),
        ("gradient_accumulation_steps", 2, "64 / (2 x 16 ranks) = 2"),
        ("micro_batch_size", 2, "64 / (2 steps x 16 ranks) = 2"),
    ],
)
def test_of_the_batch_the_fourth_from_three(
    missing: str, value: int, note: str
) -> None:
    leaves = {
        "batch__micro_batch_size": 2,
        "batch__gradient_accumulation_steps": 2,
        "batch__global_batch_size": 64,
        "cluster__world_size": 16,
    }
    del leaves[f"batch__{missing}"]
    assert follows(f"batch.{missing}", **leaves, **ONES) == (value, note)


def test_a_batch_that_does_not_divide_is_left_to_its_rule() -> None:
    leaves = {"batch__micro_batch_size": 3, "batch__global_batch_size": 64}
    name = "batch.gradient_accumulation_steps"
    assert follows(name, cluster__world_size=16, **leaves, **ONES) == (None, "")


@pytest.mark.parametrize(
    ("bf16", "fp16", "dtype"),
    [
        (True, False, "bf16"),
        (True, None, "bf16"),
        (False, True, "fp16"),
        (False, False, "fp32"),
        (True, True, None),
        (False, None, None),
    ],
)
def test_the_compute_dtype(
    bf16: bool | None,  # noqa: FBT001 - a case of the table
    fp16: bool | None,  # noqa: FBT001 - a case of the table
    dtype: str | None,
) -> None:
    leaves = {"precision__bf16": bf16, "precision__fp16": fp16}
    known = {name: value for name, value in leaves.items() if value is not None}
    assert follows("precision.compute_dtype", **known)[0] == dtype


def test_the_size_of_a_head() -> None:
    name = "model.head_dimension"
    sizes = {"model__hidden_size": 4096, "model__attention_heads": 32}
    assert follows(name, **sizes) == (128, "4,096 hidden / 32 heads = 128")
    sizes["model__attention_heads"] = 30
    assert follows(name, **sizes) == (None, "")
    assert follows(name, **sizes, model__head_dimension=64) == (64, "")


def test_nothing_replaces_a_statement() -> None:
    world = follows(
        "cluster.world_size",
        cluster__nodes=4,
        cluster__gpus_per_node=8,
        cluster__world_size=16,
    )
    assert world == (16, "")


def test_a_derivation_replaces_a_default_and_names_its_places() -> None:
    leaves = stated(cluster__nodes=4, cluster__gpus_per_node=8)
    leaves |= merge([fact(1, "default", name="cluster.world_size")])
    leaf = derive(leaves)["cluster.world_size"]
    assert (leaf.value, leaf.status) == (32, "derived")
    assert [place.file for place in leaf.places] == ["a.yaml"]


def test_nothing_follows_from_a_conflict() -> None:
    leaves = merge([fact(4), fact(8, file="b.sh")])
    leaves |= stated(cluster__gpus_per_node=8)
    assert "cluster.world_size" not in derive(leaves)


def test_the_leaves_that_came_in_stay_as_they_were() -> None:
    leaves = stated(cluster__nodes=4, cluster__gpus_per_node=8)
    derive(leaves)
    assert set(leaves) == {"cluster.nodes", "cluster.gpus_per_node"}
