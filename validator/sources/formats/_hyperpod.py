"""Recipes of SageMaker HyperPod, and what the Launcher around a recipe says.

A recipe has `run` and `trainer` as NeMo does, and below `training_config` the settings
of another library: verl, or `llmft` with the arguments of OpenRLHF (its train/train_sft
and utils/deepspeed: the batch is that of all ranks, save_steps below 1 saves nothing on
the way). Source: aws/sagemaker-hyperpod-recipes, recipes_collection/ and launcher/.
"""

from collections.abc import Iterator, Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.framework_keys import StatedVersion
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.sources.context import instance_facts
from speccheck.validator.sources.documents.document import Document, SectionDocument
from speccheck.validator.sources.formats._config import Config
from speccheck.validator.sources.formats._nemo1 import state_cluster
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    number,
    one_of,
    placeholder,
    section,
    text,
)
from speccheck.validator.sources.pinned_versions import versions_of_image
from speccheck.validator.sources.reader import FactSheet, Reading, keyed_file

Settings = Mapping[str, object]

_VERL = "verl"
_ARGUMENTS: KeyPath = ("training_config", "training_args")
_FSDP: KeyPath = (*_ARGUMENTS, "strategy", "fsdp_config")
_STAGES = {
    "full_shard": 3,
    "hybrid_shard": 3,
    "shard_grad_op": 2,
    "_hybrid_shard_zero2": 2,
    "no_shard": 0,
}
_RECOMPUTE = {True: "full", False: "none"}
_FORMATS = one_of(
    {
        "full_state_dict": "full",
        "sharded_state_dict": "sharded",
        "local_state_dict": "local",
    }
)


def _recompute(value: object) -> object:
    switch = boolean(value)
    return _RECOMPUTE[switch] if isinstance(switch, bool) else switch


def _device(value: object) -> object:
    """Return where an offload goes: a switch, with the CPU behind it."""
    switch = boolean(value)
    if isinstance(switch, bool):
        return "cpu" if switch else "none"
    return switch


_FIELDS: Fields = {
    "model_config": {
        "model_name_or_path": ("model.name_of_model", text),
        "attn_implementation": (
            "kernels.attention_backend",
            one_of(
                {
                    "flash_attention_2": "flash",
                    "flash_attention_3": "flash",
                    "sdpa": "sdpa",
                    "eager": "eager",
                    "flex_attention": "flex",
                }
            ),
        ),
        "peft_config": {"peft_type": ("model.adapter", lower_text)},
    },
    "training_args": {
        "train_batch_size": ("batch.global_batch_size", integer_text),
        "micro_train_batch_size": ("batch.micro_batch_size", integer_text),
        "max_len": ("batch.sequence_length", integer_text),
        "packing_samples": ("batch.packing", boolean),
        "ring_attn_size": ("parallelism.context_parallel_size", integer_text),
        "ulysses_sequence_parallel_size": ("parallelism.ulysses_size", integer_text),
        "gradient_checkpointing": ("memory.recompute_mode", _recompute),
        "learning_rate": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "max_norm": ("optimizer.clip_norm", number),
        "lr_scheduler": ("optimizer.schedule", lower_text),
        "lr_warmup_ratio": ("optimizer.warmup_ratio", number),
        "load_checkpoint": ("checkpoint.resume", boolean),
        "max_ckpt_num": ("checkpoint.keep_last", integer_text),
        "logging_steps": ("telemetry.log_interval_steps", integer_text),
        "max_epochs": ("run.epochs", number),
        "seed": ("run.seed", integer_text),
        "strategy": {
            "fsdp_config": {
                "cpu_offload": ("memory.parameter_offload_device", _device),
                "state_dict_type": ("checkpoint.format", _FORMATS),
            }
        },
    },
}
_NOT_PARALLEL = fixed_defaults(
    "the recipe has no key for it",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "batch.mode": "fixed",
    },
)


def read_wrapped(document: Document) -> Reading:
    """Return what the recipe says, and what the settings inside say."""
    data = section(document.data)
    inner = SectionDocument(document, ("training_config",))
    keyed = keyed_file(document, "nemo1", keys_of_format("nemo1"))
    if section(data, "run").get("model_type") == _VERL:
        # Its keys are those of a fork: HyperPod's, not verl's.
        reading = _read_verl(inner)._replace(keyed=keyed)
    else:
        reading = Reading(FactSheet.of(document), keyed)
        at = ("training_config",)
        reading.facts.derive("run.framework", "hyperpod", "a recipe of HyperPod", at)
        _state_arguments(Config(reading.facts, inner.data, at))
    outer = Config(FactSheet.of(document), data)
    state_cluster(outer)
    policy = outer.section("elastic_policy")
    if policy.switch("is_elastic") is True:  # the bounds count only then
        policy.apply(
            {
                "min_nodes": ("recovery.minimum_nodes", integer_text),
                "max_nodes": ("recovery.maximum_nodes", integer_text),
            }
        )
    reading.facts.facts.extend(outer.sheet.facts)
    return reading


def _read_verl(document: Document) -> Reading:
    from speccheck.validator.sources.formats import verl  # noqa: PLC0415 - seldom

    if verl.detect(document) > 0:
        return verl.read(document)
    sheet = FactSheet.of(document)
    sheet.derive("run.framework", _VERL, "model_type: verl", ())
    return Reading(sheet)


def _state_arguments(config: Config) -> None:
    """State the arguments of `llmft`."""
    config.apply(_FIELDS)
    arguments = config.section("training_args")
    if not arguments.data:
        return
    arguments.put_betas("adam_betas")
    block = arguments.section("strategy.fsdp_config")
    if block.data:
        sheet, key = config.sheet, "sharding_strategy"
        engine, note = "parallelism.engine", "strategy.fsdp_config"
        sheet.derive(engine, "fsdp1", note, block.prefix)
        word = lower_text(block.get(key) or "full_shard")
        if isinstance(word, str) and word in _STAGES:
            leaf, at = "parallelism.sharding_stage", key if key in block else ""
            block.derive(leaf, _STAGES[word], f"{key}: {word}", at)
    add_defaults(config.sheet, _NOT_PARALLEL)
    every = arguments.whole("save_steps")
    if every is not None and every > 0:
        arguments.state("checkpoint.interval_steps", every, "save_steps")
        unit = "checkpoint.interval_unit"
        arguments.derive(unit, "steps", "save_steps", "save_steps")
    role, kind = "run.role", arguments.word("trainer_type")
    adapter = "model_config.peft_config"
    if config.get(f"{adapter}.peft_type"):
        config.derive(role, "lora", "peft_type is set", f"{adapter}.peft_type")
    else:
        arguments.first(
            role,
            (kind == "sft", "sft", "trainer_type: sft", "trainer_type"),
            (kind == "dpo", "rl", "trainer_type: dpo", "trainer_type"),
        )
    if adapter in config and not config.get(adapter):
        config.derive("model.adapter", "none", "peft_config: null", adapter)


def state_launcher(reading: Reading, document: Document) -> Reading:
    """Add what the Launcher's own file says: machines, image and environment."""
    outer = Config(FactSheet.of(document), document.data)
    instance = outer.get("instance_type")
    if isinstance(instance, str) and instance and placeholder(instance) is None:
        place = document.place(("instance_type",))
        try:
            instance_facts(outer.sheet, instance, place)
        except UnknownName as error:
            outer.unusable("cluster.instance_type", str(error), "instance_type")
    # The restart policy of the Kubernetes job.
    outer.put("recovery.restart_policy", "cluster.restartPolicy", lower_text)
    if isinstance(outer.get("container"), str):
        outer.turn("run.in_container", "container is set", "container")
    reading.facts.facts.extend(outer.sheet.facts)
    return reading._replace(
        variables=(*reading.variables, *_variables(document, outer.data)),
        versions=(*reading.versions, *_versions(document, outer.data)),
    )


def _variables(document: Document, data: Settings) -> Iterator[Variable]:
    for name, value in section(data, "env_vars").items():
        if value is not None and not isinstance(value, dict | list):
            written = str(value)
            known = written if placeholder(value) is None else None
            place = document.place(("env_vars", name))
            yield Variable(name, known, place, written)


def _versions(document: Document, data: Settings) -> Iterator[StatedVersion]:
    image = data.get("container")
    if isinstance(image, str) and placeholder(image) is None:
        place: Place = document.place(("container",))
        for package, release in versions_of_image(image):
            yield StatedVersion(package, release, place)
