"""NeMo-RL's YAML file: reinforcement learning, preference and supervised tuning.

OmegaConf loads it with the files that `defaults` names, relative to the file itself
(nemo_rl/utils/config.py at 0178e5a): it refuses keys that stand twice, and reads `1e-5`
as a number. Nearly every value stands in one of these files; the code has few defaults.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._nemo_rl import (
    algorithm_of,
    state_cluster,
    state_job,
)
from speccheck.validator.sources.formats._nemo_rl_policy import (
    state_policy,
    variables_of,
)
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    items,
    section,
    text,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Parent,
    Reader,
    Reading,
    keyed_file,
)

_FORMAT = "nemo-rl"
_POLICY_SIGNS = frozenset(
    {
        "train_global_batch_size",
        "train_micro_batch_size",
        "max_total_sequence_length",
        "make_sequence_length_divisible_by",
        "logprob_batch_size",
        "dtensor_cfg",
        "megatron_cfg",
        "generation",
    }
)
_CLUSTER_SIGNS = frozenset({"num_nodes", "gpus_per_node", "segment_size"})
_SECTIONS = (
    "policy",
    "cluster",
    "checkpointing",
    "grpo",
    "dpo",
    "sft",
    "ppo",
    "rm",
    "distillation",
    "loss_fn",
)
_SUFFIXES = (".yaml", ".yml")
_SURE, _LIKELY, _POSSIBLE = 0.97, 0.9, 0.7
_FEW_SECTIONS = 2
_OVERRIDE = "_override_"

_FIELDS: Fields = {
    "policy": {
        "model_name": ("model.name_of_model", text),
        "train_global_batch_size": ("batch.global_batch_size", integer_text),
        "max_total_sequence_length": ("batch.sequence_length", integer_text),
        "sequence_packing": {"enabled": ("batch.packing", boolean)},
    },
    "checkpointing": {
        "enabled": ("checkpoint.enabled", boolean),
        "checkpoint_dir": ("checkpoint.directory", text),
        "save_optimizer": ("checkpoint.save_optimizer", boolean),
    },
    "data": {"num_workers": ("data.workers", integer_text)},
}
_FIXED = fixed_defaults(
    "NeMo-RL has no other way",
    {
        "parallelism.ulysses_size": 1,
        "batch.mode": "fixed",
        "checkpoint.format": "sharded",
        "checkpoint.interval_unit": "steps",
        # Each algorithm asks the checkpointer for its newest one (setup).
        "checkpoint.resume": True,
        "telemetry.log_interval_steps": 1,
        "model.family": "transformer",
        "run.uses_torch": True,
    },
)


def detect(document: Document) -> float:
    """By `policy` with its own keys beside `cluster` or an algorithm.

    A child may state no more than `defaults`, the path of a YAML file, and a section;
    Hydra's `defaults` name groups, without a suffix.
    """
    data = section(document.data)
    policy = not _POLICY_SIGNS.isdisjoint(section(data, "policy"))
    cluster = not _CLUSTER_SIGNS.isdisjoint(section(data, "cluster"))
    if policy and (cluster or algorithm_of(data) is not None):
        return _SURE
    if not _parent_paths(data):
        return 0.0
    count = sum(1 for name in _SECTIONS if isinstance(data.get(name), dict))
    if policy or count >= _FEW_SECTIONS:
        return _LIKELY
    return _POSSIBLE if count else 0.0


def parents(document: Document) -> tuple[Parent, ...]:
    """The files of `defaults`, the last of which wins over those before it."""
    return tuple(Parent(path, at) for path, at in _parent_paths(section(document.data)))


def _parent_paths(data: Mapping[str, object]) -> list[tuple[str, KeyPath]]:
    """The paths of `defaults`; none where one of them is no YAML file."""
    stated = data.get("defaults")
    single: list[tuple[object, KeyPath]] = [(stated, ("defaults",))]
    several: list[tuple[object, KeyPath]] = [
        (one, ("defaults", index)) for index, one in enumerate(items(stated))
    ]
    found = several if isinstance(stated, list) else single
    paths = [
        (one, at)
        for one, at in found
        if isinstance(one, str) and one.endswith(_SUFFIXES)
    ]
    return paths if len(paths) == len(found) else []


def read(document: Document) -> Reading:
    """What the file states with those that it inherits."""
    sheet = FactSheet.of(document)
    data = _overridden(document)
    apply(sheet, data, _FIELDS)
    sheet.derive("run.framework", "nemo-rl", "NeMo-RL's settings", ())
    state_cluster(sheet, data)
    state_policy(sheet, data)
    state_job(sheet, data)
    add_defaults(sheet, _FIXED)
    keyed = keyed_file(document, _FORMAT, None, refuses_duplicates=True)
    return Reading(sheet, keyed, variables=variables_of(sheet, data))


def _overridden(document: Document) -> Mapping[str, object]:
    """The data, with sections marked `_override_` as the file alone states them."""
    data, own = section(document.data), section(document.own_data)
    replaced = {
        name: block
        for name, block in own.items()
        if boolean(section(block).get(_OVERRIDE)) is True
    }
    return {**data, **replaced} if replaced else data


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=_SECTIONS,
    interpolates=True,
    parents=parents,
)
