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
from speccheck.validator.sources.formats._nemo1_run import state_cluster
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer_text,
    lower_text,
    number,
    one_of,
    placeholder,
    put_numbers,
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
    """Where an offload goes: a switch, with the CPU behind it."""
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
    """What the recipe says, and what the settings inside say."""
    data = section(document.data)
    inner = SectionDocument(document, ("training_config",))
    keyed = keyed_file(document, "nemo1", keys_of_format("nemo1"))
    if section(data, "run").get("model_type") == _VERL:
        # Its keys are those of a fork: HyperPod's, not verl's.
        reading = _read_verl(inner)._replace(keyed=keyed)
        sheet = reading.facts
    else:
        sheet = FactSheet.of(document)
        reading = Reading(sheet, keyed)
        at: KeyPath = ("training_config",)
        sheet.derive("run.framework", "hyperpod", "a recipe of HyperPod", at)
        _state_arguments(sheet, section(inner.data))
    outer = FactSheet.of(document)
    state_cluster(outer, data)
    _elastic(outer, section(data, "elastic_policy"))
    sheet.facts.extend(outer.facts)
    return reading


def _read_verl(document: Document) -> Reading:
    from speccheck.validator.sources.formats import verl  # noqa: PLC0415 - seldom

    if verl.detect(document) > 0:
        return verl.read(document)
    sheet = FactSheet.of(document)
    sheet.derive("run.framework", _VERL, "model_type: verl", ())
    return Reading(sheet)


def _state_arguments(sheet: FactSheet, inner: Settings) -> None:
    """State the arguments of `llmft`."""
    apply(sheet, inner, _FIELDS, ("training_config",))
    if (arguments := section(inner, "training_args")) == {}:
        return
    betas = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, betas, arguments.get("adam_betas"), (*_ARGUMENTS, "adam_betas"))
    _sharding(sheet, section(arguments, "strategy", "fsdp_config"))
    add_defaults(sheet, _NOT_PARALLEL)
    every = integer_text(arguments.get("save_steps"))
    if isinstance(every, int) and every > 0:
        at = (*_ARGUMENTS, "save_steps")
        sheet.state("checkpoint.interval_steps", every, at)
        sheet.derive("checkpoint.interval_unit", "steps", "save_steps", at)
    _role(sheet, inner, arguments)


def _sharding(sheet: FactSheet, block: Settings) -> None:
    if not block:
        return
    key = "sharding_strategy"
    word = lower_text(block.get(key) or "full_shard")
    at = (*_FSDP, key) if key in block else _FSDP
    sheet.derive("parallelism.engine", "fsdp1", "strategy.fsdp_config", _FSDP)
    if isinstance(word, str) and word in _STAGES:
        note = f"{key}: {word}"
        sheet.derive("parallelism.sharding_stage", _STAGES[word], note, at)


def _role(sheet: FactSheet, inner: Settings, arguments: Settings) -> None:
    kind = lower_text(arguments.get("trainer_type"))
    block = section(inner, "model_config")
    at: KeyPath = (*_ARGUMENTS, "trainer_type")
    if section(block, "peft_config").get("peft_type"):
        at = ("training_config", "model_config", "peft_config", "peft_type")
        sheet.derive("run.role", "lora", "peft_type is set", at)
    elif kind == "sft":
        sheet.derive("run.role", "sft", "trainer_type: sft", at)
    elif kind == "dpo":
        sheet.derive("run.role", "rl", "trainer_type: dpo", at)
    if "peft_config" in block and not block["peft_config"]:
        at = ("training_config", "model_config", "peft_config")
        sheet.derive("model.adapter", "none", "peft_config: null", at)


def _elastic(sheet: FactSheet, policy: Settings) -> None:
    """The bounds count only while the job is elastic."""
    if boolean(policy.get("is_elastic")) is True:
        fields: Fields = {
            "min_nodes": ("recovery.minimum_nodes", integer_text),
            "max_nodes": ("recovery.maximum_nodes", integer_text),
        }
        apply(sheet, policy, fields, ("elastic_policy",))


def state_launcher(reading: Reading, document: Document) -> Reading:
    """Add what the Launcher's own file says: machines, image and environment."""
    data = section(document.data)
    outer = FactSheet.of(document)
    instance = data.get("instance_type")
    if isinstance(instance, str) and instance and placeholder(instance) is None:
        place = document.place(("instance_type",))
        try:
            instance_facts(outer, instance, place)
        except UnknownName as error:
            outer.unusable("cluster.instance_type", str(error), place)
    _restarts(outer, section(data, "cluster"))
    if isinstance(data.get("container"), str):
        derive_switch(outer, "run.in_container", "container is set", ("container",))
    reading.facts.facts.extend(outer.facts)
    return reading._replace(
        variables=(*reading.variables, *_variables(document, data)),
        versions=(*reading.versions, *_versions(document, data)),
    )


def _restarts(sheet: FactSheet, cluster: Settings) -> None:
    """The restart policy of the Kubernetes job."""
    fields: Fields = {"restartPolicy": ("recovery.restart_policy", lower_text)}
    apply(sheet, cluster, fields, ("cluster",))


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
