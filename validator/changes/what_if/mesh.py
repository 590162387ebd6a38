"""Nodes, degrees of parallelism and the ranks that are left, after a change."""

from math import gcd, prod

from speccheck.validator.changes.what_if.draft import Draft
from speccheck.validator.sources.joining.merge import (
    MODEL_PARALLEL,
    model_parallel_ranks,
)

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
    """Nodes x GPUs of a node = GPUs; the GPUs of a node are kept."""
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
    """Whether each of these is set, or known of the unchanged plan."""
    return all(draft.is_set(name) or draft.old(name) is not None for name in names)


def _world_of_data_parallel(draft: Draft) -> None:
    """The GPUs that a set number of data-parallel ranks asks for."""
    ranks, degrees = draft.new(DATA), model_parallel_ranks(draft.leaves)
    if degrees is None:
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
    """Virtual stages and layouts belong to a number of pipeline stages."""
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
    """GPUs / model-parallel ranks."""
    if draft.is_set(NODES, LOCAL, WORLD, *MODEL_PARALLEL) and not draft.is_set(DATA):
        draft.drop(DATA)


def rederive_mesh(draft: Draft) -> None:
    """Replicas x shards fill the ranks.

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
    """Whether both sides of the mesh are numbers, and neither fills by itself."""
    both = (replicas, shards)
    return all(isinstance(side, int) and side > 0 for side in both)
