"""A plan's leaves with some of them set, and without what no longer follows.

A statement that would contradict a set value by arithmetic alone is dropped and derived
again; all others stay. Of an identity with several parts the ones that a team holds on
to are kept: GPUs of a node, the global batch, the micro-batch.
"""

from collections.abc import Iterator, Sequence
from math import gcd, prod
from typing import Any

from speccheck.validator.changes.what_if.assignments import FLAG, Assignment
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.sources.context import COMMAND_LINE
from speccheck.validator.sources.joining.merge import (
    MODEL_PARALLEL,
    Leaves,
    derive,
    merge,
    model_parallel_ranks,
)
from speccheck.validator.sources.reader import Fact


class Draft:
    """Merged leaves that are being changed.

    Attributes:
        before: the leaves of the unchanged plan, with what follows from them.
        leaves: the changed ones, before anything is derived from them.
        remarks: what was kept or given up, for the user.

    """

    __slots__ = ("_derived", "_label", "_set", "before", "leaves", "remarks")

    def __init__(self, merged: Leaves, label: str) -> None:
        """Start from merged leaves; label: the change as the user wrote it."""
        self.before = derive(merged)
        self.leaves = dict(merged)
        self.remarks: list[str] = []
        self._label = label
        self._set: set[str] = set()
        self._derived: Leaves | None = None

    def put(self, leaf: Value[Any]) -> None:
        """Set a leaf as the user wants it."""
        self.say(leaf)
        self._set.add(leaf.name)

    def say(self, leaf: Value[Any]) -> None:
        """Say something else of a leaf."""
        self.leaves[leaf.name] = leaf
        self._derived = None

    def is_set(self, *names: str) -> bool:
        """Return whether the user set one of these."""
        return not self._set.isdisjoint(names)

    def drop(self, *names: str) -> None:
        """Forget what is said of leaves that the user did not set."""
        for name in names:
            if name not in self._set:
                self.leaves.pop(name, None)
                self._derived = None

    def follow(self, name: str, value: object, note: str) -> None:
        """Give a leaf that the user did not set the value that follows."""
        if name not in self._set:
            place = Place(COMMAND_LINE, self._label)
            self.say(Value(name, value, "derived", (place,), note))

    def keep(self, name: str) -> None:
        """Hold a leaf at its value in the unchanged plan, also a derived one.

        It counts as stated, so that what contradicts it is a fault and not a guess.
        """
        known = self.before.get(name)
        if name in self._set or known is None or known.value is None:
            return
        if known.status == "derived" and name not in self.leaves:
            place = Place(COMMAND_LINE, self._label)
            note = f"kept: {known.note}"
            self.say(Value(name, known.value, "stated", (place,), note))

    def old(self, name: str) -> Any:  # noqa: ANN401 - leaves hold any type
        """Return the value in the unchanged plan."""
        leaf = self.before.get(name)
        return None if leaf is None else leaf.value

    def new(self, name: str) -> Any:  # noqa: ANN401 - leaves hold any type
        """Return the value by what is changed so far, derived where it follows."""
        if self._derived is None:
            self._derived = derive(self.leaves)
        leaf = self._derived.get(name)
        return None if leaf is None else leaf.value

    def changes(self, name: str) -> bool:
        """Return whether the value differs from the unchanged plan's."""
        return bool(self.old(name) != self.new(name))


NODES, LOCAL, WORLD = (
    "cluster.nodes",
    "cluster.gpus_per_node",
    "cluster.world_size",
)
DATA = "parallelism.data_parallel_size"
_REPLICAS, _SHARDS = "parallelism.replicate_size", "parallelism.shard_size"
_PIPELINE = "parallelism.pipeline_parallel_size"
_VIRTUAL = "parallelism.virtual_stages"
_CHUNK = "parallelism.layers_per_virtual_stage"
_LAYOUT = "parallelism.pipeline_layout"
# Leaves that state the same number for another tool, as long as they are equal to it.
_ECHOES = {
    "recovery.minimum_nodes": NODES,
    "recovery.maximum_nodes": NODES,
    "recovery.processes_per_node": LOCAL,
}


def rederive_world(draft: Draft) -> None:
    """Derive nodes x GPUs of a node = GPUs; the GPUs of a node are kept."""
    if draft.is_set(DATA) and not draft.is_set(NODES, LOCAL, WORLD):
        _world_of_data_parallel(draft)
    elif draft.is_set(WORLD):
        if not draft.is_set(NODES):
            draft.keep(LOCAL)
            draft.drop(NODES)
        elif not draft.is_set(LOCAL):
            draft.drop(LOCAL)
    elif draft.is_set(NODES, LOCAL) and _is_known(draft, NODES, LOCAL):
        draft.keep(LOCAL)
        draft.keep(NODES)
        draft.drop(WORLD)
    for echo, name in _ECHOES.items():
        if draft.old(echo) == draft.old(name) is not None and draft.changes(name):
            draft.follow(echo, draft.new(name), f"as {name}")


def _is_known(draft: Draft, *names: str) -> bool:
    """Return whether each of these is set, or known of the unchanged plan."""
    return all(draft.is_set(name) or draft.old(name) is not None for name in names)


def _world_of_data_parallel(draft: Draft) -> None:
    """Set the GPUs that a set number of data-parallel ranks needs."""
    ranks, degrees = draft.new(DATA), model_parallel_ranks(draft.leaves)
    if degrees is None or ranks is None:
        return
    draft.keep(LOCAL)
    draft.drop(NODES)
    note = f"{ranks:,} data-parallel x {degrees:,} model-parallel ranks"
    draft.follow(WORLD, ranks * degrees, f"{note} = {ranks * degrees:,}")
    local = draft.new(LOCAL)
    if local and ranks * degrees % local:
        draft.remarks.append(
            f"{ranks * degrees:,} GPUs are no whole number of nodes of {local} GPUs"
        )


def rederive_stages(draft: Draft) -> None:
    """Derive virtual stages and layouts, which belong to a pipeline's size."""
    if draft.is_set(_PIPELINE, _VIRTUAL, _CHUNK):
        draft.drop(_LAYOUT)
    if draft.is_set(_VIRTUAL):
        draft.drop(_CHUNK)
    elif draft.is_set(_CHUNK):
        draft.drop(_VIRTUAL)
    elif draft.is_set(_PIPELINE) and draft.new(_PIPELINE) == 1:
        draft.drop(_CHUNK)
        if (draft.old(_VIRTUAL) or 1) > 1:
            draft.follow(_VIRTUAL, 1, "one stage has no virtual ones")


def rederive_data_parallel(draft: Draft) -> None:
    """Derive the data-parallel ranks: GPUs / model-parallel ranks."""
    if draft.is_set(NODES, LOCAL, WORLD, *MODEL_PARALLEL) and not draft.is_set(DATA):
        draft.drop(DATA)


def rederive_mesh(draft: Draft) -> None:
    """Derive the mesh: replicas x shards fill the ranks.

    A single group of shards grows and shrinks with them; of several groups the number
    does, and each stays as it is or becomes the largest part of it that fits.
    """
    replicas, shards = draft.new(_REPLICAS), draft.new(_SHARDS)
    if draft.is_set(_REPLICAS, _SHARDS) or not _fill(replicas, shards):
        return
    if not draft.is_set(NODES, LOCAL, WORLD, DATA, *MODEL_PARALLEL):
        return
    world = draft.new(WORLD)
    others = prod(draft.new(name) or 1 for name in MODEL_PARALLEL)
    old_others = prod(draft.old(name) or 1 for name in MODEL_PARALLEL)
    if not world or draft.old(WORLD) != old_others * replicas * shards:
        return  # it did not fill them before either: a rule says so
    ranks, rest = divmod(world, others)
    if rest:
        return
    kept = ranks if replicas == 1 else gcd(ranks, shards)
    note = f"{world:,} GPUs / {others} = {ranks // kept:,} x {kept:,}"
    for name, size in ((_REPLICAS, ranks // kept), (_SHARDS, kept)):
        if size != draft.old(name):
            draft.follow(name, size, f"replicas x shards: {note}")


def _fill(replicas: object, shards: object) -> bool:
    """Return whether both sides of the mesh are stated numbers above zero."""
    both = (replicas, shards)
    return all(isinstance(side, int) and side > 0 for side in both)


GLOBAL, MICRO, STEPS = (
    "batch.global_batch_size",
    "batch.micro_batch_size",
    "batch.gradient_accumulation_steps",
)


def rederive_batch(draft: Draft) -> None:
    """Keep the global batch, then the micro-batch; the accumulation follows.

    A change of the accumulation alone changes the global batch.
    """
    is_touched = draft.is_set(GLOBAL, MICRO, STEPS) or draft.changes(DATA)
    if not is_touched or draft.old("batch.mode") == "elastic":
        return
    if draft.is_set(STEPS):
        if not draft.is_set(GLOBAL):
            draft.keep(MICRO)
            draft.drop(GLOBAL)
        elif not draft.is_set(MICRO):
            draft.drop(MICRO)
    elif not (draft.old(GLOBAL) is None and not draft.is_set(GLOBAL)):
        _accumulate(draft)


def _accumulate(draft: Draft) -> None:
    """Drop the accumulation, so that it follows from the other three."""
    draft.keep(GLOBAL)
    draft.keep(MICRO)
    total, micro, ranks = draft.new(GLOBAL), draft.new(MICRO), draft.new(DATA)
    draft.drop(STEPS)
    if draft.new(STEPS) is None:
        reason = "the data-parallel ranks are not known"
        if ranks and micro and total:
            reason = f"{total:,} / ({micro} x {ranks:,} ranks) is no whole number"
        draft.say(Value(STEPS, note=reason))
    if total is not None and not draft.is_set(GLOBAL):
        kept = f"global batch {total:,}"
        if micro is not None and not draft.is_set(MICRO):
            kept += f" and micro-batch {micro}"
        follows = draft.new(STEPS)
        then = "cannot be worked out" if follows is None else f"follows: {follows}"
        draft.remarks.append(f"kept: {kept}; the accumulation {then}")


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
    label = f"{FLAG} {','.join(change.text for change in changes)}"
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
    named = {change.leaf for change in changes}
    for change in changes:
        yielding = named - {change.leaf}
        if change.leaf == _INSTANCE and _GPU in named:
            yielding.update(_OF_GPU)
        yield from (fact for fact in change.facts if fact.name not in yielding)


def _hardware(draft: Draft) -> None:
    """Set the memory and links that a GPU brings, and the node of an instance type."""
    if draft.is_set(_INSTANCE):
        draft.drop(*_OF_INSTANCE)
    elif draft.is_set("cluster.accelerator_family", *_OF_GPU[:1]):
        draft.drop(*_OF_GPU, _INSTANCE)
        domain = draft.leaves.get(_DOMAIN)
        if domain is not None and domain.status == "derived":
            draft.drop(_DOMAIN)


def _sharding(draft: Draft) -> None:
    """Set what is sharded, in the words of the engine and over which groups."""
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
    """Set the stage: groups of one shard are none.

    FSDP cuts everything over larger ones.
    """
    engine, shards = draft.old(_ENGINE) or "", draft.new(_GROUPS[0])
    if not draft.is_set(_GROUPS[0]) or not engine.startswith(("fsdp", "ddp")):
        return
    if shards == 1 or not draft.old(_STAGE):
        stage = 0 if shards == 1 else _ALL
        draft.follow(_STAGE, stage, f"groups of {shards} shards")
        _engine_of_stage(draft, stage)


def _engine_of_stage(draft: Draft, stage: int) -> None:
    """Set the engine: DDP copies everything, and what shards instead of it is FSDP."""
    if stage and draft.old(_ENGINE) == "ddp":
        draft.follow(_ENGINE, "fsdp2", "ddp shards nothing")


def _precision(draft: Draft) -> None:
    """Switch on a single number format."""
    if draft.is_set(_COMPUTE):
        dtype = draft.new(_COMPUTE)
        for name in _SWITCHES:
            is_on = name.endswith(dtype)
            # FP8 runs over one of the 16-bit formats, which stays as it is.
            if name in draft.before and (dtype != "fp8" or is_on):
                draft.follow(name, is_on, f"compute in {dtype}")
    elif draft.is_set(*_SWITCHES):
        draft.drop(_COMPUTE)
        for text, other in (_SWITCHES[:2], _SWITCHES[1::-1]):
            if draft.is_set(text) and draft.new(text) and draft.old(other):
                draft.follow(other, value=False, note=f"{text} is on")


def _model(draft: Draft) -> None:
    """Set the parameters as unknown: another shape has another number of them."""
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
    """Set method and number of layers, which belong to full recomputation."""
    mode = "memory.recompute_mode"
    if draft.is_set(mode) and draft.new(mode) != "full":
        draft.drop("memory.recompute_method", "memory.recompute_layers")


def _interval(draft: Draft) -> None:
    """Set an interval in steps or in seconds."""
    steps, seconds = "checkpoint.interval_steps", "checkpoint.interval_seconds"
    for mine, other, unit in ((steps, seconds, "steps"), (seconds, steps, "seconds")):
        if draft.is_set(mine) and not draft.is_set(other):
            draft.drop(other)
            draft.follow("checkpoint.interval_unit", unit, f"{mine} is set")
