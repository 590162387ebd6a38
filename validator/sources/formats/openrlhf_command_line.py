"""OpenRLHF's arguments in scripts: `deepspeed --module openrlhf.cli.train_sft ...`.

Releases up to 0.8 write `--micro_train_batch_size`, later ones group the same settings:
`--train.micro_batch_size`. Under Ray each role has GPUs of its own. Sources:
OpenRLHF/OpenRLHF openrlhf/cli/train_sft.py, train_dpo.py and train_ppo_ray.py, at
v0.5.0 and 3c3be623; openrlhf/utils/deepspeed/deepspeed.py (engine and accumulation).
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._overrides import (
    joined_keys,
    keyed_flags,
    read_flags,
)
from speccheck.validator.sources.launching import (
    Leaf,
    is_sure,
    last_options,
    may_hold_options,
    mentions_only,
    option_place,
    shared_facts,
    state_options,
    unabbreviated,
    word_place,
)
from speccheck.validator.sources.mapping import integer_text, number, text
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Reading,
    ScriptReader,
    Source,
)
from speccheck.validator.sources.shell.script import (
    Option,
    ShellCommand,
    ShellWord,
    options,
)

_FORMAT = "openrlhf-arguments"
_FRAMEWORK = "openrlhf"
_MODULE = "openrlhf.cli.train_"
_FILES = ("train_ppo_ray.py", "openrlhf/cli/train_")
_RAY = "train_ppo_ray"
# The reward model's address is one within the job: no store of data.
_SERVICES = frozenset({"remote_rm_url", "remote_url"})
# Those of schemas/catalogues/frameworks/openrlhf.yaml.
_PROGRAMS = frozenset(
    {"train_dpo", "train_kd", "train_kto", "train_ppo", "train_prm", "train_rm"}
    | {"train_sft", _RAY}
)
_OTHERS = "ds.tensor_parallel_size"
_GLOBAL = "batch.global_batch_size"
_OF_ACTOR = (
    ("--actor_num_nodes", "--actor_num_gpus_per_node"),
    ("--actor.num_nodes", "--actor.num_gpus_per_node"),
)
_COLOCATED = frozenset({"--colocate_all_models", "--train.colocate_all"})
_LEARNING_RATES = ("learning_rate", "actor_learning_rate", "adam.lr", "actor.adam.lr")
_LENGTHS = ("max_len", "data.max_len")
_LEAVES: dict[str, Leaf] = {
    f"--{name}": leaf
    for names, leaf in (
        (
            ("micro_train_batch_size", "train.micro_batch_size"),
            Leaf("batch.micro_batch_size", integer_text),
        ),
        (("train_batch_size", "train.batch_size"), Leaf(_GLOBAL, integer_text)),
        (_LENGTHS, Leaf("batch.sequence_length", integer_text)),
        (
            ("zero_stage", "ds.zero_stage"),
            Leaf("parallelism.sharding_stage", integer_text),
        ),
        (
            ("ds_tensor_parallel_size", _OTHERS),
            Leaf("parallelism.tensor_parallel_size", integer_text),
        ),
        (
            ("ring_attn_size", "ds.ring_attn_size"),
            Leaf("parallelism.context_parallel_size", integer_text),
        ),
        (
            ("pretrain", "model.model_name_or_path", "actor.model_name_or_path"),
            Leaf("model.name_of_model", text),
        ),
        (_LEARNING_RATES, Leaf("optimizer.learning_rate", number)),
        (("lr_warmup_ratio",), Leaf("optimizer.warmup_ratio", number)),
        (("max_norm",), Leaf("optimizer.clip_norm", number)),
        (("max_epochs", "train.max_epochs"), Leaf("run.epochs", number)),
        (("seed", "train.seed"), Leaf("run.seed", integer_text)),
        (("save_path", "ckpt.output_dir"), Leaf("checkpoint.directory", text)),
        (
            ("logging_steps", "logger.logging_steps"),
            Leaf("telemetry.log_interval_steps", integer_text),
        ),
        (("bf16",), Leaf("precision.bf16", text, present=True)),
        (
            ("packing_samples", "ds.packing_samples"),
            Leaf("batch.packing", text, present=True),
        ),
    )
    for name in names
}


class TrainingCommand(Record):
    """A command that trains: the word that names the program, and those after it."""

    program: ShellWord
    arguments: Sequence[ShellWord]

    @property
    def is_own(self) -> bool:
        """Whether it is a program of OpenRLHF itself, not another beside it."""
        name = self.program.text.removesuffix(".py").replace("/", ".")
        return name.rpartition("openrlhf.cli.")[2] in _PROGRAMS

    @property
    def is_distributed_by_ray(self) -> bool:
        """Whether roles have GPUs of their own, which Ray places."""
        return _RAY in self.program.text


def detect(source: Source) -> float:
    """Recognise it by a program of OpenRLHF that trains."""
    return 0.85 if next(_trainings(source), None) is not None else 0.0


def _trainings(source: Source) -> Iterator[TrainingCommand]:
    for command in source.script.commands:
        if not mentions_only(command) and not _holds_another(command, source):
            yield from islice(_training(command), 1)


def _holds_another(command: ShellCommand, source: Source) -> bool:
    """Return whether a command of the script stands in this one's argument."""
    return any(other.outer is command for other in source.script.commands)


def _training(command: ShellCommand) -> Iterator[TrainingCommand]:
    for position, word in enumerate(command.words):
        if _is_program(word.text):
            yield TrainingCommand(word, command.words[position + 1 :])


def _is_program(written: str) -> bool:
    if written.endswith(".py"):
        return any(name in written for name in _FILES)
    return written.startswith(_MODULE) and " " not in written


def read(source: Source) -> Reading:
    """Return what the arguments of the training commands state and share."""
    sheet = FactSheet(source.name)
    trainings = [*_trainings(source)]
    parts = [_facts(source.name, training) for training in trainings]
    if parts:
        sheet.facts.extend(shared_facts(parts, "training commands"))
    keyed = joined_keys(
        [_keyed(source.name, training) for training in trainings if training.is_own]
    )
    return Reading(sheet, keyed)


def _keyed(file: str, training: TrainingCommand) -> KeyedFile:
    """Return the flags for the rules on configuration hygiene."""
    table = load_framework(_FRAMEWORK)
    flags = read_flags(file, training.arguments, table, _key_path)
    keyed = keyed_flags(file, _FORMAT, flags, table)
    keys = tuple(key for key in keyed.keys if key.path[-1] not in _SERVICES)
    keyed = keyed._replace(keys=keys)
    if flags.hidden:
        keyed = keyed._replace(hidden=f"may be given in {flags.hidden[:60]}")
    return keyed


def _key_path(flag: str, table: FrameworkKeys) -> KeyPath | None:
    """Return the key of a flag, which argparse takes by its beginning as well."""
    if not flag.startswith("--"):
        return None
    names = [f"--{name}" for name in table.rows]
    name = unabbreviated(_plain(flag), names).removeprefix("--")
    return (*name.split("."),)


def _facts(file: str, training: TrainingCommand) -> list[Fact]:
    sheet = FactSheet(file)
    given = last_options(options(training.arguments))
    known = {_plain(flag): option for flag, option in given.items()}
    at = word_place(file, training.program.text, training.program)
    sheet.derive("run.framework", "openrlhf", training.program.text, at)
    sheet.derive("run.uses_torch", True, "OpenRLHF runs on PyTorch", at)  # noqa: FBT003 - the value
    sheet.derive("parallelism.engine", "deepspeed", "OpenRLHF trains by DeepSpeed", at)
    if training.is_distributed_by_ray:
        sheet.derive("run.role", "rl", training.program.text, at)
        _state_roles(sheet, known)
    state_options(sheet, known, _LEAVES)
    _state_unseen(sheet, training, given)
    return sheet.facts


def _plain(flag: str) -> str:
    """Return a flag with underscores, as all of OpenRLHF's are declared."""
    return f"--{flag[2:].replace('-', '_')}" if flag.startswith("--") else flag


def _state_roles(sheet: FactSheet, known: dict[str, Option]) -> None:
    """Take the global batch out where only some of the GPUs share it.

    Roles on the same GPUs have as many as the actor: train_ppo_ray.py demands it.
    """
    if not known.keys().isdisjoint(_COLOCATED):
        _state_shared_devices(sheet, known)
        return
    for flag, leaf in _LEAVES.items():
        option = known.get(flag)
        if leaf.name == _GLOBAL and option is not None and is_sure(option):
            reason = f"the GPUs of the actor alone share the batch of {flag}"
            sheet.unusable(_GLOBAL, reason, option_place(sheet.file, option))
            del known[flag]


def _state_shared_devices(sheet: FactSheet, known: dict[str, Option]) -> None:
    """State the GPUs of the actor, which are all that there are."""
    for flags in _OF_ACTOR:
        given = [known[flag] for flag in flags if flag in known]
        counts = [
            int(values[0].text)
            for _, values, _ in given
            if values and values[0].resolved and values[0].text.isdecimal()
        ]
        if len(counts) == len(flags) and all(map(is_sure, given)):
            nodes, devices = counts
            note = f"all roles share the actor's {nodes} x {devices} GPUs"
            places = [option_place(sheet.file, option) for option in given]
            sheet.derive("cluster.world_size", nodes * devices, note, *places)


def _state_unseen(
    sheet: FactSheet, training: TrainingCommand, given: dict[str, Option]
) -> None:
    """State what is unknown where a variable may hold more flags."""
    taken = {value for _, values, _ in given.values() for value in values[:1]}
    hidden = next(
        (
            word
            for word in training.arguments
            if word not in taken and may_hold_options(word)
        ),
        None,
    )
    if hidden is None:
        return
    names = {fact.name for fact in sheet.facts}
    place = word_place(sheet.file, hidden.text, hidden)
    for leaf in _LEAVES.values():
        if leaf.name not in names:
            names.add(leaf.name)
            sheet.unusable(leaf.name, f"may be given in {hidden.text[:60]}", place)


READER = ScriptReader(
    _FORMAT, "config", detect, read, words=("openrlhf", "train_ppo_ray")
)
