"""A plan's leaves with some of them set, and without what no longer follows.

A statement that would contradict a set value by arithmetic alone is dropped and derived
again; all others stay. Of an identity with several parts the ones that a team holds on
to are kept: GPUs of a node, the global batch, the micro-batch.
"""

from collections.abc import Iterator, Sequence

from speccheck.validator.changes.what_if.assignments import FLAG, Assignment
from speccheck.validator.changes.what_if.batch import rederive_batch
from speccheck.validator.changes.what_if.draft import Draft
from speccheck.validator.changes.what_if.mesh import (
    rederive_data_parallel,
    rederive_mesh,
    rederive_stages,
    rederive_world,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.joining.merge import Leaves, merge
from speccheck.validator.sources.reader import Fact

_GPU, _INSTANCE = "cluster.accelerator", "cluster.instance_type"
_DOMAIN = "cluster.nvlink_domain_size"
_OF_GPU = (
    _GPU,
    "cluster.accelerator_family",
    "cluster.accelerator_memory_bytes",
    "cluster.compute_capability",
    "cluster.has_nvlink",
)
_OF_INSTANCE = (
    *_OF_GPU,
    "cluster.gpus_per_node",
    _DOMAIN,
    "cluster.fabric",
    "cluster.host_memory_bytes",
    "cluster.cpus_per_node",
)
_ENGINE = "parallelism.engine"
_STAGE = "parallelism.sharding_stage"
_DISTRIBUTED = "optimizer.is_distributed"
_ALL = 3  # parameters, gradients and optimizer state
_GROUPS = ("parallelism.shard_size", "parallelism.replicate_size")
_COMPUTE = "precision.compute_dtype"
_SWITCHES = ("precision.bf16", "precision.fp16", "precision.fp8")
_MODEL = (
    "model.layers",
    "model.hidden_size",
    "model.feed_forward_size",
    "model.attention_heads",
    "model.key_value_heads",
    "model.vocabulary_size",
    "model.experts",
    "model.expert_feed_forward_size",
)


class Overridden(Record):
    """The merged leaves after the change, and what was kept or given up for it."""

    leaves: Leaves
    remarks: tuple[str, ...]


def overridden(merged: Leaves, changes: Sequence[Assignment]) -> Overridden:
    """Set leaves, and drop the statements that they contradict.

    Args:
        merged: the leaves of a plan before anything is derived.
        changes: what is set; what follows from one yields to another that is explicit.

    """
    label = f"{FLAG} {','.join(one.text for one in changes)}"
    draft = Draft(merged, label)
    for leaf in merge(_facts(changes)).values():
        draft.put(leaf)
    for step in (
        _hardware,
        rederive_world,
        rederive_stages,
        rederive_data_parallel,
        _sharding,
        rederive_mesh,
        rederive_batch,
        _precision,
        _model,
        _recomputation,
        _interval,
    ):
        step(draft)
    return Overridden(draft.leaves, tuple(draft.remarks))


def _facts(changes: Sequence[Assignment]) -> Iterator[Fact]:
    named = {one.leaf for one in changes}
    for one in changes:
        yielding = named - {one.leaf}
        if one.leaf == _INSTANCE and _GPU in named:
            yielding.update(_OF_GPU)
        yield from (fact for fact in one.facts if fact.name not in yielding)


def _hardware(draft: Draft) -> None:
    """A GPU brings its memory and links, an instance type its node."""
    if draft.is_set(_INSTANCE):
        draft.drop(*_OF_INSTANCE)
    elif draft.is_set("cluster.accelerator_family", *_OF_GPU[:1]):
        draft.drop(*_OF_GPU, _INSTANCE)
        domain = draft.leaves.get(_DOMAIN)
        if domain is not None and domain.status == "derived":
            draft.drop(_DOMAIN)


def _sharding(draft: Draft) -> None:
    """What is sharded, in the words of the engine and over which groups."""
    if not draft.is_set(_STAGE):
        _stage_of_groups(draft)
        return
    stage = draft.new(_STAGE)
    _engine_of_stage(draft, stage)
    if draft.old(_ENGINE) == "megatron":
        draft.follow(_DISTRIBUTED, stage > 0, f"sharding stage {stage}")
    if not stage or not draft.old(_STAGE):
        draft.drop(*_GROUPS)


def _stage_of_groups(draft: Draft) -> None:
    """Groups of one shard are no sharding; FSDP cuts everything over larger ones."""
    engine, shards = draft.old(_ENGINE) or "", draft.new(_GROUPS[0])
    if not draft.is_set(_GROUPS[0]) or not engine.startswith(("fsdp", "ddp")):
        return
    if shards == 1 or not draft.old(_STAGE):
        stage = 0 if shards == 1 else _ALL
        draft.follow(_STAGE, stage, f"groups of {shards} shards")
        _engine_of_stage(draft, stage)


def _engine_of_stage(draft: Draft, stage: int) -> None:
    """DDP copies everything: what shards instead of it is FSDP."""
    if stage and draft.old(_ENGINE) == "ddp":
        draft.follow(_ENGINE, "fsdp2", "ddp shards nothing")


def _precision(draft: Draft) -> None:
    """One number format is on."""
    if draft.is_set(_COMPUTE):
        dtype = draft.new(_COMPUTE)
        for name in _SWITCHES:
            is_on = name.endswith(dtype)
            # FP8 runs over one of the 16-bit formats, which stays as it is.
            if name in draft.before and (dtype != "fp8" or is_on):
                draft.follow(name, is_on, f"compute in {dtype}")
    elif draft.is_set(*_SWITCHES):
        draft.drop(_COMPUTE)
        for one, other in (_SWITCHES[:2], _SWITCHES[1::-1]):
            if draft.is_set(one) and draft.new(one) and draft.old(other):
                draft.follow(other, value=False, note=f"{one} is on")


def _model(draft: Draft) -> None:
    """Another shape has another number of parameters."""
    if not draft.is_set(*_MODEL):
        return
    if not draft.is_set("model.parameters") and draft.old("model.parameters"):
        draft.drop("model.parameters")
        draft.remarks.append("the stated number of parameters no longer holds")
    hidden, heads = draft.old("model.hidden_size"), draft.old("model.attention_heads")
    width = draft.old("model.head_dimension")
    if hidden and heads and width and hidden == heads * width:
        draft.drop("model.head_dimension")


def _recomputation(draft: Draft) -> None:
    """Method and number of layers belong to full recomputation."""
    mode = "memory.recompute_mode"
    if draft.is_set(mode) and draft.new(mode) != "full":
        draft.drop("memory.recompute_method", "memory.recompute_layers")


def _interval(draft: Draft) -> None:
    """An interval is in steps or in seconds."""
    steps, seconds = "checkpoint.interval_steps", "checkpoint.interval_seconds"
    for mine, other, unit in ((steps, seconds, "steps"), (seconds, steps, "seconds")):
        if draft.is_set(mine) and not draft.is_set(other):
            draft.drop(other)
            draft.follow("checkpoint.interval_unit", unit, f"{mine} is set")
