"""Several sources, one plan: facts on the same field are joined or set against.

Afterwards what follows from several fields together is derived (`derive`).
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from speccheck.validator.evidence.plan_domains import within_domain
from speccheck.validator.evidence.value import Place, Value, condition_of
from speccheck.validator.models.units import numbered
from speccheck.validator.sources.reader import Fact

if TYPE_CHECKING:
    from speccheck.validator.catalogue.public_models import PublicModel

# Boards of one nominal size report totals that differ (hardware catalogue: A100 80 GB,
# H100 80 GB), so `H100-80GB` and an instance type with one such board agree.
_TOLERANCE = {"cluster.accelerator_memory_bytes": 0.1}
_EXACT = 1e-9
_RANK = {
    "stated": 0,
    "derived": 1,
    "fallback": 2,
    "invalid": 3,
    "unknown": 3,
    "default": 4,
}
_ROLE, _BY_ADAPTER = "run.role", "lora"
_TRAINS_WEIGHTS = frozenset({"pretrain", "continued", "sft"})


def merge(facts: Iterable[Fact]) -> dict[str, Value[Any]]:
    """Return one value for each leaf that any fact speaks of.

    Statements win over derivations of a single source, those over what holds only
    under a condition, that over texts that could not be worked out, those over
    framework defaults. Statements that differ make a conflict, which keeps every place
    and has no value.
    """
    by_name: dict[str, list[Fact]] = {}
    for fact in facts:
        by_name.setdefault(fact.name, []).append(fact)
    return {name: within_domain(_merged(name, rows)) for name, rows in by_name.items()}


def _merged(name: str, rows: list[Fact]) -> Value[Any]:
    if len(rows) == 1:
        return _value(name, rows[0])
    strongest = min(_RANK[fact.status] for fact in rows)
    # A derivation that contradicts a statement is a conflict too: both were written.
    known = [
        fact
        for fact in rows
        if _RANK[fact.status] <= _RANK["fallback"] and fact.value is not None
    ]
    known = [fact for fact in known if not condition_of(fact.places)] or known
    if not known:
        return _value(name, next(f for f in rows if _RANK[f.status] == strongest))
    if name == _ROLE:
        known = _with_method(known)
    if all(_same(name, fact.value, known[0].value) for fact in known):
        main = min(known, key=lambda fact: _RANK[fact.status])
        places = tuple(dict.fromkeys(place for fact in known for place in fact.places))
        return Value(name, main.value, main.status, places, main.note)
    return Value(
        name,
        None,
        "conflict",
        tuple(dict.fromkeys(_first_place(fact) for fact in known)),
        "stated with different values",
        tuple(dict.fromkeys(f"{fact.value}" for fact in known)),
    )


def _with_method(known: list[Fact]) -> list[Fact]:
    """Return statements of the role, of which one that says LoRA contradicts no other.

    What a run is for and how its weights are trained are two things: a run of LoRA that
    is stated as fine-tuning is both, and stays one that trains no full weights.
    """
    roles = {fact.value for fact in known}
    others = roles - {_BY_ADAPTER}
    if len(others) != 1 or others == roles:
        return known
    purpose = others.pop()
    role = _BY_ADAPTER if purpose in _TRAINS_WEIGHTS else purpose
    return [fact._replace(value=role) for fact in known]


def _value(name: str, fact: Fact) -> Value[Any]:
    return Value(name, fact.value, fact.status, fact.places, fact.note)


def _first_place(fact: Fact) -> Place:
    return fact.places[0] if fact.places else Place("", "")


def _same(name: str, left: Any, right: Any) -> bool:  # noqa: ANN401 - any leaf
    if isinstance(left, int | float) and isinstance(right, int | float):
        allowed = _TOLERANCE.get(name, _EXACT)
        return abs(left - right) <= allowed * max(abs(left), abs(right))
    return bool(left == right)


Leaves = dict[str, Value[Any]]


def derive(leaves: Leaves) -> Leaves:
    """Return the leaves with those added that follow from them."""
    derived = dict(leaves)
    for step in (_world, _group_sizes, _data_parallel, _batch, _precision, _model):
        step(derived)
    return derived


def _get(leaves: Leaves, name: str) -> Any:  # noqa: ANN401 - leaves hold any type
    leaf = leaves.get(name)
    return leaf.value if leaf is not None else None


def _is_open(leaves: Leaves, name: str) -> bool:
    """Return whether nothing is said of a leaf, or only a framework default."""
    leaf = leaves.get(name)
    return leaf is None or leaf.status == "default"


def _put(leaves: Leaves, name: str, value: object, note: str, *of: str) -> None:
    if not _is_open(leaves, name):
        return
    places: dict[Place, None] = {}
    for source in of:
        if source in leaves:
            places.update(dict.fromkeys(leaves[source].places))
    leaves[name] = Value(name, value, "derived", tuple(places), note)


def _world(leaves: Leaves) -> None:
    nodes = _get(leaves, "cluster.nodes")
    local = _get(leaves, "cluster.gpus_per_node")
    world = _get(leaves, "cluster.world_size")
    of = ("cluster.nodes", "cluster.gpus_per_node", "cluster.world_size")
    ranks = _get(leaves, "recovery.processes_per_node")
    if nodes and local and ranks and ranks < local:
        # The launcher leaves GPUs without a rank, where it is the only one on a node.
        if _get(leaves, "recovery.tasks_per_node") == 1:
            note = f"{numbered(nodes, 'node')} x {ranks} ranks = {nodes * ranks:,}"
            processes = "recovery.processes_per_node"
            _put(leaves, "cluster.world_size", nodes * ranks, note, of[0], processes)
    elif nodes and local:
        note = f"{numbered(nodes, 'node')} x {local} GPUs = {nodes * local:,}"
        _put(leaves, "cluster.world_size", nodes * local, note, *of[:2])
    elif world and local and world % local == 0:
        note = f"{world:,} GPUs / {local} a node = {world // local:,}"
        _put(leaves, "cluster.nodes", world // local, note, *of[1:])
    elif world and nodes and world % nodes == 0:
        note = f"{world:,} GPUs / {nodes} nodes = {world // nodes}"
        _put(leaves, "cluster.gpus_per_node", world // nodes, note, of[0], of[2])


def _group_sizes(leaves: Leaves) -> None:
    """State replicas x shards of hybrid sharding, and the fill degree -1 of a mesh."""
    world = _get(leaves, "cluster.world_size")
    shard = leaves.get("parallelism.shard_size")
    if world is None or shard is None or shard.value != -1:
        return
    others = model_parallel_ranks(leaves)
    replicas = _get(leaves, "parallelism.replicate_size")
    if others is None or not replicas:
        return
    degrees = others * replicas
    if world % degrees == 0:
        note = f"-1 fills the mesh: {world:,} GPUs / {degrees} = {world // degrees:,}"
        name = "parallelism.shard_size"
        leaves[name] = Value(name, world // degrees, "derived", shard.places, note)


MODEL_PARALLEL = (
    "parallelism.tensor_parallel_size",
    "parallelism.pipeline_parallel_size",
    "parallelism.context_parallel_size",
    "parallelism.ulysses_size",
)


def model_parallel_ranks(leaves: Leaves) -> int | None:
    """Return TP x PP x CP x Ulysses, or None when one of them cannot be worked out.

    A reader states or defaults each of them; a degree that its format cannot express
    is absent here and counts as 1 only if the reader said so.
    """
    product = 1
    for name in MODEL_PARALLEL:
        leaf = leaves.get(name)
        if leaf is None or not isinstance(leaf.value, int) or leaf.value < 1:
            return None
        product *= leaf.value
    return product


def _data_parallel(leaves: Leaves) -> None:
    world = _get(leaves, "cluster.world_size")
    degrees = model_parallel_ranks(leaves)
    if world is None or degrees is None or world % degrees:
        return
    note = f"{world:,} GPUs / {degrees} model-parallel ranks = {world // degrees:,}"
    if degrees == 1:
        note = f"all {world:,} GPUs are data-parallel"
    of = ("cluster.world_size", *MODEL_PARALLEL)
    _put(leaves, "parallelism.data_parallel_size", world // degrees, note, *of)


def _batch(leaves: Leaves) -> None:
    """State the fourth of global = micro x accumulation x DP, from three."""
    names = (
        "batch.micro_batch_size",
        "batch.gradient_accumulation_steps",
        "parallelism.data_parallel_size",
    )
    total = "batch.global_batch_size"
    micro, steps, ranks = (_get(leaves, name) for name in names)
    stated_total = _get(leaves, total)
    if micro and steps and ranks:
        note = f"{micro} x {steps} x {ranks:,} ranks = {micro * steps * ranks:,}"
        _put(leaves, total, micro * steps * ranks, note, *names)
    elif stated_total and micro and ranks and stated_total % (micro * ranks) == 0:
        value = stated_total // (micro * ranks)
        note = f"{stated_total:,} / ({micro} x {ranks:,} ranks) = {value:,}"
        _put(leaves, names[1], value, note, total, names[0], names[2])
    elif stated_total and steps and ranks and stated_total % (steps * ranks) == 0:
        value = stated_total // (steps * ranks)
        note = f"{stated_total:,} / ({steps} steps x {ranks:,} ranks) = {value:,}"
        _put(leaves, names[0], value, note, total, names[1], names[2])


def _precision(leaves: Leaves) -> None:
    bf16, fp16 = _get(leaves, "precision.bf16"), _get(leaves, "precision.fp16")
    of = ("precision.bf16", "precision.fp16")
    name = "precision.compute_dtype"
    if bf16 and not fp16:
        _put(leaves, name, "bf16", "bf16 is on", of[0])
    elif fp16 and not bf16:
        _put(leaves, name, "fp16", "fp16 is on", of[1])
    elif bf16 is False and fp16 is False:
        _put(leaves, name, "fp32", "neither bf16 nor fp16 is on", *of)


def _model(leaves: Leaves) -> None:
    _public_model(leaves)
    hidden, heads = (
        _get(leaves, "model.hidden_size"),
        _get(leaves, "model.attention_heads"),
    )
    if hidden and heads and hidden % heads == 0:
        of = ("model.hidden_size", "model.attention_heads")
        note = f"{hidden:,} hidden / {heads} heads = {hidden // heads}"
        _put(leaves, "model.head_dimension", hidden // heads, note, *of)


_SHAPE = (
    "layers",
    "hidden_size",
    "experts",
    "experts_per_token",
    "vocabulary_size",
    "maximum_positions",
    "tied_embeddings",
    "gated_feed_forward",
    "expert_feed_forward_size",
    "family",
)
_PLAIN_SHAPE = ("attention_heads", "key_value_heads", "head_dimension")
# A file that states one of these otherwise builds another model than it names.
_IDENTITY = ("layers", "hidden_size", "attention_heads", "experts", "parameters")


def _public_model(leaves: Leaves) -> None:
    """Add the dimensions of a public model that the files name."""
    name = leaves.get("model.name_of_model")
    if name is None or not name.value or not isinstance(name.value, str):
        return
    if not any(_is_open(leaves, f"model.{leaf}") for leaf in ("layers", "hidden_size")):
        return  # the configuration of the model itself lies beside the files
    from speccheck.validator.catalogue.public_models import known_model  # noqa: PLC0415

    known = known_model(name.value, _get(leaves, "run.framework") or "")
    if known is None or not _fits(leaves, known.shape):
        return
    fields = [*_SHAPE, "parameters"]
    if known.shape.is_plain:
        fields += _PLAIN_SHAPE
    if not known.shape.experts:
        fields.append("feed_forward_size")
    for leaf in fields:
        value = getattr(known.shape, leaf)
        if value is not None:
            note = f"from the model's name: {known.name}"
            _put(leaves, f"model.{leaf}", value, note, name.name)


def _fits(leaves: Leaves, shape: "PublicModel") -> bool:
    """Return whether the files state no model of another shape."""
    for leaf in _IDENTITY:
        stated = leaves.get(f"model.{leaf}")
        if stated is None or stated.status == "default":
            continue
        if stated.value is None or stated.value != getattr(shape, leaf):
            return False
    return True
