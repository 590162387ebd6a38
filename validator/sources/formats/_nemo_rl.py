"""The cluster, the length and the checkpoints of a NeMo-RL run.

Sources: NVIDIA-NeMo/RL nemo_rl/algorithms/{grpo,dpo,sft}.py (setup), nemo_rl/utils/
checkpoint.py at 01e9028.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.mapping import (
    Fields,
    apply,
    boolean,
    derive_switch,
    integer_text,
    number,
    put,
    section,
)
from speccheck.validator.sources.reader import FactSheet

Settings = Mapping[str, object]

_ALGORITHMS = ("grpo", "ppo", "dpo", "sft", "rm", "distillation")
_GENERATING = frozenset({"grpo", "ppo", "distillation"})
_ROLES = {"grpo": "rl", "ppo": "rl", "dpo": "rl", "sft": "sft"}
_ADAPTED = frozenset({"dpo", "sft"})  # an adapter names these runs, as in other formats
_SINKS = (
    ("wandb_enabled", "wandb"),
    ("tensorboard_enabled", "tensorboard"),
    ("mlflow_enabled", "mlflow"),
    ("swanlab_enabled", "swanlab"),
)
_COLOCATED: KeyPath = ("policy", "generation", "colocated")
_NODES: KeyPath = ("cluster", "num_nodes")
_LOCAL: KeyPath = ("cluster", "gpus_per_node")
_CLUSTER: Fields = {
    "num_nodes": ("cluster.nodes", integer_text),
    "gpus_per_node": ("cluster.gpus_per_node", integer_text),
}


def algorithm_of(data: Settings) -> str | None:
    """The algorithm that has a section."""
    found = (name for name in _ALGORITHMS if isinstance(data.get(name), dict))
    return next(found, None)


def _whole(value: object) -> int | None:
    found = integer_text(value)
    return found if isinstance(found, int) and found > 0 else None


def state_cluster(sheet: FactSheet, data: Settings) -> None:
    """State the GPUs that train: `cluster` counts those that generate too."""
    cluster = section(data, "cluster")
    reason = _unknown_share(data)
    is_shared = _is_colocated(data)
    if reason:
        _unknown_cluster(sheet, cluster, reason)
    elif is_shared is False:
        _separate(sheet, data)
    else:
        apply(sheet, cluster, _CLUSTER, ("cluster",))


def _is_colocated(data: Settings) -> bool | None:
    """Whether all GPUs train; None where a run that generates does not say so."""
    if not _generates(data):
        return True
    switch = boolean(section(data, *map(str, _COLOCATED)).get("enabled"))
    return switch if isinstance(switch, bool) else None


def _generates(data: Settings) -> bool:
    algorithm = algorithm_of(data)
    if algorithm is not None:
        return algorithm in _GENERATING
    return "defaults" in data or isinstance(
        section(data, "policy").get("generation"), dict
    )


def _unknown_share(data: Settings) -> str:
    """Why the GPUs that train cannot be told from the others; empty if they can."""
    if _is_colocated(data) is None:
        return "cluster counts training and generation; colocated.enabled is not known"
    environments = section(data, "env")
    if isinstance(environments.get("reward_model"), dict):
        return "cluster counts the nodes of a reward model too"
    if _whole(section(environments, "nemo_gym").get("num_gpu_nodes")):
        return "cluster counts the nodes of NeMo Gym too"
    teachers = section(data, "on_policy_distillation", "non_colocated_teachers")
    if boolean(teachers.get("enabled")) is True:
        return "cluster counts the nodes of teachers too"
    return ""


def _unknown_cluster(sheet: FactSheet, cluster: Settings, reason: str) -> None:
    if cluster.get("num_nodes") is not None:
        sheet.unusable("cluster.nodes", reason, _NODES)
        sheet.unusable("cluster.world_size", reason, _NODES)
    if cluster.get("gpus_per_node") is not None:
        sheet.unusable("cluster.gpus_per_node", reason, _LOCAL)


def _separate(sheet: FactSheet, data: Settings) -> None:
    """Training takes the nodes, or on one node the GPUs, that generation leaves."""
    cluster = section(data, "cluster")
    resources = section(data, *map(str, _COLOCATED), "resources")
    nodes, local = (
        _whole(cluster.get("num_nodes")),
        _whole(cluster.get("gpus_per_node")),
    )
    gone, used = (
        _whole(resources.get("num_nodes")),
        _whole(resources.get("gpus_per_node")),
    )
    at: KeyPath = (*_COLOCATED, "resources")
    world = "cluster.world_size"
    if nodes == 1 and local and used and local > used:
        note = f"{local} GPUs - {used} that generate = {local - used}"
        sheet.state("cluster.nodes", nodes, _NODES)
        sheet.derive(world, local - used, note, _LOCAL, (*at, "gpus_per_node"))
    elif nodes and nodes > 1 and local and gone and nodes > gone:
        left = nodes - gone
        note = f"{nodes} nodes - {gone} that generate = {left}, x {local} GPUs"
        sheet.state("cluster.gpus_per_node", local, _LOCAL)
        sheet.derive(world, left * local, note, _NODES, (*at, "num_nodes"))
    else:
        reason = "cluster counts training and generation; the share is not stated"
        _unknown_cluster(sheet, cluster, reason)


def state_job(sheet: FactSheet, data: Settings) -> None:
    """State length, role, checkpoints and sinks."""
    algorithm = algorithm_of(data)
    if algorithm is not None:
        _length(sheet, section(data, algorithm), algorithm)
        _role(sheet, algorithm)
    _checkpoints(sheet, section(data, "checkpointing"))
    _telemetry(sheet, section(data, "logger"))


def _length(sheet: FactSheet, block: Settings, name: str) -> None:
    """The run ends with the steps or with the epochs, whichever come first."""
    steps = _whole(block.get("max_num_steps"))
    if steps is not None:
        sheet.state("run.steps", steps, (name, "max_num_steps"))
    epochs = number(block.get("max_num_epochs"))
    if isinstance(epochs, float) and epochs > 0:
        sheet.state("run.epochs", epochs, (name, "max_num_epochs"))
    if block.get("seed") is not None:
        put(sheet, "run.seed", integer_text(block["seed"]), (name, "seed"))


def _role(sheet: FactSheet, algorithm: str) -> None:
    adapters = {fact.value for fact in sheet.facts if fact.name == "model.adapter"}
    role = _ROLES.get(algorithm)
    if role is not None:
        role = "lora" if "lora" in adapters and algorithm in _ADAPTED else role
        sheet.derive("run.role", role, f"the section {algorithm}", (algorithm,))


def _checkpoints(sheet: FactSheet, block: Settings) -> None:
    """Fault-tolerance checkpoints come between those that the metric ranks."""
    key = "ft_save_period" if _whole(block.get("ft_save_period")) else "save_period"
    if block.get(key) is not None:
        interval = integer_text(block[key])
        put(sheet, "checkpoint.interval_steps", interval, ("checkpointing", key))
    leaf, best = "checkpoint.keep_last", _whole(block.get("keep_top_k"))
    newest = _whole(block.get("ft_keep_latest_k"))
    at: KeyPath = ("checkpointing", "keep_top_k")
    if best is not None and newest is not None and newest > best:
        sheet.state(leaf, newest, ("checkpointing", "ft_keep_latest_k"))
    elif best is not None:
        sheet.state(leaf, best, at)
    elif "keep_top_k" in block and block["keep_top_k"] is None:
        sheet.derive(leaf, 0, "null keeps all", at)
    if isinstance(block.get("checkpoint_must_save_by"), str):
        place: KeyPath = ("checkpointing", "checkpoint_must_save_by")
        note = "checkpoint_must_save_by: saves before that time"
        derive_switch(sheet, "recovery.exit_before_walltime", note, place)


def _telemetry(sheet: FactSheet, block: Settings) -> None:
    switches = [(key, name, boolean(block.get(key))) for key, name in _SINKS]
    on = [(key, name) for key, name, switch in switches if switch is True]
    leaf = "telemetry.sinks"
    if on:
        places = [("logger", key) for key, _ in on]
        names = tuple(name for _, name in on)
        sheet.derive(leaf, names, "switches of logger", *places)
    elif block:
        sheet.default(leaf, (), "no sink of logger is on")
    seconds = number(section(block, "gpu_monitoring").get("collection_interval"))
    if boolean(block.get("monitor_gpus")) is True and isinstance(seconds, float):
        at: KeyPath = ("logger", "gpu_monitoring", "collection_interval")
        sheet.state("telemetry.hardware_interval_seconds", seconds, at)
