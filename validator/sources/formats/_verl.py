"""What verl's trainer of reinforcement learning makes of its configuration.

Sources: verl 0.2 to 0.7, verl/workers/fsdp_workers.py, megatron_workers.py,
verl/trainer/ppo/ray_trainer.py, verl/utils/checkpoint.
"""

from collections.abc import Mapping

from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.formats._verl_fields import (
    ALWAYS,
    DEFAULTS,
    DEFAULTS_OF,
    FIELDS,
    FSDP,
    FSDP_ONLY,
    FSDP_WORKERS,
    MEGATRON,
    MEGATRON_FIELDS,
    MEGATRON_WORKERS,
    SHARDED,
    count,
    kept,
)
from speccheck.validator.sources.mapping import (
    Unusable,
    add_defaults,
    apply,
    boolean,
    derive_switch,
    fixed_defaults,
    integer_text,
    items,
    lower_text,
    number,
    put,
    put_numbers,
    section,
    tabulated_defaults,
)
from speccheck.validator.sources.reader import Fact, FactSheet

Settings = Mapping[str, object]

_FORMAT = "verl"
_ENGINES = {FSDP: "fsdp1", "fsdp2": "fsdp2", MEGATRON: "megatron"}
_ACTOR = ("actor_rollout_ref", "actor")
_MODEL = ("actor_rollout_ref", "model")
_FULL_SHARD, _SHARD_GRAD_OP = 3, 2


def state_training(sheet: FactSheet, data: Settings, inherited: str) -> None:
    """State what the trainer of reinforcement learning runs.

    Args:
        sheet: takes the facts.
        data: the whole configuration.
        inherited: the back end of verl's own configuration that this one extends,
            whose defaults then hold; empty for a file that stands by itself.
    """
    apply(sheet, data, FIELDS)
    actor = section(data, *_ACTOR)
    put_numbers(
        sheet,
        ("optimizer.beta1", "optimizer.beta2"),
        section(actor, "optim").get("betas"),
        (*_ACTOR, "optim", "betas"),
    )
    _cluster(sheet, data)
    backend = _engine(sheet, actor, inherited)
    _batch(sheet, data, inherited)
    _warmup(sheet, section(actor, "optim"))
    _adapter(sheet, section(data, *_MODEL), inherited)
    state_trainer(sheet, section(data, "trainer"))
    state_contents(sheet, section(actor, "checkpoint"), (*_ACTOR, "checkpoint"))
    _profiler(sheet, data)
    if inherited:
        rows = (*DEFAULTS, *DEFAULTS_OF.get(backend, ()))
        add_defaults(sheet, tabulated_defaults(_FORMAT, rows))
    add_defaults(sheet, ALWAYS)


def _cluster(sheet: FactSheet, data: Settings) -> None:
    """The nodes that train; others that only generate make the job larger."""
    trainer = section(data, "trainer")
    separate = _separate_pool(data)
    for key, leaf in (
        ("nnodes", "cluster.nodes"),
        ("n_gpus_per_node", "cluster.gpus_per_node"),
    ):
        at = ("trainer", key)
        if separate:
            sheet.unusable(leaf, f"{separate} has nodes beside those of trainer", at)
        elif trainer.get(key) is not None:
            put(sheet, leaf, count(trainer[key]), at)


def _separate_pool(data: Settings) -> str:
    for name in ("rollout", "distillation"):
        if section(data, name).get("nnodes") is not None:
            return name
    pool = section(data, "reward_model").get("enable_resource_pool")
    return "reward_model" if boolean(pool) is True else ""


def _engine(sheet: FactSheet, actor: Settings, inherited: str) -> str:
    """State the back end that trains the actor, and what belongs to it."""
    leaf = "parallelism.engine"
    stated = actor.get("strategy")
    strategy = lower_text(stated) if stated is not None else inherited
    if stated is None and not strategy:
        strategy = MEGATRON if section(actor, "megatron") else ""
    if not isinstance(strategy, str) or strategy not in _ENGINES:
        if stated is not None:
            reason = f"strategy {stated!s:.40}: not known"
            sheet.unusable(leaf, reason, (*_ACTOR, "strategy"))
        return ""
    engine = _ENGINES[strategy]
    if stated is not None:
        sheet.derive(leaf, engine, f"strategy: {strategy}", (*_ACTOR, "strategy"))
    elif strategy == MEGATRON:
        sheet.default(leaf, engine, "the configuration of verl's Megatron trainer")
    else:
        sheet.default(leaf, engine, "strategy is not set: fsdp in verl's trainer")
    if strategy == MEGATRON:
        _megatron(sheet, actor)
        return MEGATRON
    _sharding(sheet, actor, engine)
    return FSDP


def _megatron(sheet: FactSheet, actor: Settings) -> None:
    apply(sheet, {"actor_rollout_ref": {"actor": actor}}, MEGATRON_FIELDS)
    # Without tensor parallelism Megatron's workers turn it off.
    degree = count(section(actor, "megatron").get("tensor_model_parallel_size"))
    switch = section(actor, "megatron").get("sequence_parallel")
    if isinstance(degree, int) and degree > 1 and switch is not None:
        at = (*_ACTOR, "megatron", "sequence_parallel")
        put(sheet, "parallelism.sequence_parallel", boolean(switch), at)
    add_defaults(sheet, MEGATRON_WORKERS)


def _sharding(sheet: FactSheet, actor: Settings, engine: str) -> None:
    apply(sheet, {"actor_rollout_ref": {"actor": actor}}, SHARDED)
    block, at = section(actor, "fsdp_config"), (*_ACTOR, "fsdp_config")
    reshard = boolean(block.get("reshard_after_forward"))
    leaf = "parallelism.sharding_stage"
    if isinstance(reshard, bool):
        stage = _FULL_SHARD if reshard else _SHARD_GRAD_OP
        kept_until = "the forward pass" if reshard else "the backward pass"
        note = f"parameters are freed after {kept_until}"
        sheet.derive(leaf, stage, note, (*at, "reshard_after_forward"))
    else:
        note = "FSDP shards fully unless told otherwise"
        add_defaults(sheet, fixed_defaults(note, {leaf: _FULL_SHARD}))
    _groups(sheet, actor)
    if engine == "fsdp2" and boolean(block.get("offload_policy")) is True:
        for name in ("parameter", "optimizer"):
            leaf = f"memory.{name}_offload_device"
            sheet.derive(leaf, "cpu", "CPUOffloadPolicy", (*at, "offload_policy"))
    add_defaults(sheet, FSDP_ONLY)
    add_defaults(sheet, FSDP_WORKERS)


def _groups(sheet: FactSheet, actor: Settings) -> None:
    """`fsdp_size` below the number of GPUs makes replicas of shard groups.

    Ulysses ranks hold shards too: with them the groups are no data-parallel ones.
    """
    size = integer_text(section(actor, "fsdp_config").get("fsdp_size"))
    ulysses = actor.get("ulysses_sequence_parallel_size")
    world = _stated_world(sheet)
    if not isinstance(size, int) or ulysses not in (None, 1) or world is None:
        return
    if 0 < size < world:
        at = (*_ACTOR, "fsdp_config", "fsdp_size")
        sheet.state("parallelism.shard_size", size, at)


def _stated_world(sheet: FactSheet) -> int | None:
    known: dict[str, Fact] = {fact.name: fact for fact in sheet.facts}
    sizes = [
        known[leaf].value
        for leaf in ("cluster.nodes", "cluster.gpus_per_node")
        if leaf in known
    ]
    if len(sizes) == 2 and all(isinstance(size, int) for size in sizes):  # noqa: PLR2004
        return int(sizes[0] * sizes[1])
    return None


def _batch(sheet: FactSheet, data: Settings, inherited: str) -> None:
    """An optimizer step takes `ppo_mini_batch_size` prompts with `n` answers each."""
    actor = section(data, *_ACTOR)
    micro = "ppo_micro_batch_size_per_gpu"
    if boolean(actor.get("use_dynamic_bsz")) is True:
        reason = "use_dynamic_bsz: micro-batches are made up by their tokens"
        sheet.unusable("batch.micro_batch_size", reason, (*_ACTOR, "use_dynamic_bsz"))
    elif actor.get(micro) is not None:
        put(
            sheet,
            "batch.micro_batch_size",
            integer_text(actor[micro]),
            (*_ACTOR, micro),
        )
    answers = section(data, "actor_rollout_ref", "rollout").get("n")
    places: list[KeyPath] = [(*_ACTOR, "ppo_mini_batch_size")]
    if answers is None and inherited:
        answers = 1
    elif answers is not None:
        places.append(("actor_rollout_ref", "rollout", "n"))
    prompts, answers = (
        integer_text(actor.get("ppo_mini_batch_size")),
        integer_text(answers),
    )
    if isinstance(prompts, int) and isinstance(answers, int):
        note = f"{prompts:,} prompts x {answers} answers"
        sheet.derive("batch.global_batch_size", prompts * answers, note, *places)
    _sequence(sheet, section(data, "data"))


def _sequence(sheet: FactSheet, data: Settings) -> None:
    keys = ("max_prompt_length", "max_response_length")
    parts = [integer_text(data.get(key)) for key in keys]
    numbers = [part for part in parts if isinstance(part, int)]
    if len(numbers) == len(keys):
        note = f"{numbers[0]:,} of the prompt + {numbers[1]:,} of the answer"
        places = [("data", key) for key in keys]
        sheet.derive("batch.sequence_length", sum(numbers), note, *places)


def _warmup(sheet: FactSheet, optimizer: Settings) -> None:
    """`lr_warmup_steps` wins unless it is negative or null."""
    steps = integer_text(optimizer.get("lr_warmup_steps"))
    at = (*_ACTOR, "optim", "lr_warmup_steps")
    ratio = optimizer.get("lr_warmup_steps_ratio")
    if isinstance(steps, int) and steps >= 0:
        sheet.state("optimizer.warmup_steps", steps, at)
    elif ratio is not None:
        at = (*_ACTOR, "optim", "lr_warmup_steps_ratio")
        put(sheet, "optimizer.warmup_ratio", number(ratio), at)
    peak, least = number(optimizer.get("lr")), number(optimizer.get("min_lr_ratio"))
    if isinstance(peak, float) and isinstance(least, float):
        note = f"{least:g} of the peak {peak:g}"
        at = (*_ACTOR, "optim", "min_lr_ratio")
        sheet.derive("optimizer.minimum_learning_rate", peak * least, note, at)


def _adapter(sheet: FactSheet, model: Settings, inherited: str) -> None:
    recompute = boolean(model.get("enable_gradient_checkpointing"))
    spoken_of = {fact.name: fact.value for fact in sheet.facts}
    if isinstance(recompute, bool) and spoken_of.get("parallelism.engine") != MEGATRON:
        at = (*_MODEL, "enable_gradient_checkpointing")
        mode = "full" if recompute else "none"
        sheet.state("memory.recompute_mode", mode, at)
    for path in (("lora_rank",), ("lora", "rank")):
        rank = integer_text(section(model, *path[:-1]).get(path[-1]))
        if isinstance(rank, int):
            adapter = "lora" if rank > 0 else "none"
            at = (*_MODEL, *path)
            sheet.derive("model.adapter", adapter, f"rank {rank}", at)
            return
    if inherited:
        sheet.default("model.adapter", "none", "no rank of an adapter is set")


def state_trainer(sheet: FactSheet, trainer: Settings) -> None:
    """State when checkpoints are written and read, how many stay, who is told."""
    frequency = trainer.get("save_freq")
    if frequency is not None:
        _saving(sheet, integer_text(frequency))
    tested = integer_text(trainer.get("test_freq"))
    if isinstance(tested, int) and tested > 0:
        at: KeyPath = ("trainer", "test_freq")
        sheet.state("checkpoint.evaluation_interval_steps", tested, at)
    for key in ("max_actor_ckpt_to_keep", "max_ckpt_to_keep"):
        if key in trainer:
            put(sheet, "checkpoint.keep_last", kept(trainer[key]), ("trainer", key))
    if trainer.get("resume_mode") is not None:
        put(
            sheet,
            "checkpoint.resume",
            _resumes(trainer["resume_mode"]),
            ("trainer", "resume_mode"),
        )
    loggers = trainer.get("logger")
    if loggers is not None:
        names = [loggers] if isinstance(loggers, str) else items(loggers)
        words = [name for name in names if isinstance(name, str)]
        sinks = tuple(word for word in words if word != "console")
        sheet.state("telemetry.sinks", sinks, ("trainer", "logger"))


def _saving(sheet: FactSheet, frequency: object) -> None:
    """Checkpoints come every `save_freq` steps; 0 and below turn them off."""
    at: KeyPath = ("trainer", "save_freq")
    if not isinstance(frequency, int):
        reason = frequency.reason if isinstance(frequency, Unusable) else "no number"
        sheet.unusable("checkpoint.enabled", reason, at)
        return
    note = f"save_freq: {frequency}"
    derive_switch(sheet, "checkpoint.enabled", note, at, is_on=frequency > 0)
    unit = "steps" if frequency > 0 else "never"
    sheet.derive("checkpoint.interval_unit", unit, note, at)
    if frequency > 0:
        sheet.state("checkpoint.interval_steps", frequency, at)


def _resumes(value: object) -> object:
    """`auto` takes the newest checkpoint of the directory, if there is one."""
    if value == "resume_path":
        return Unusable("a fixed path: it may not be the newest checkpoint")
    if value in ("auto", "disable"):
        return value == "auto"
    return Unusable(f"{value!r:.60} is no mode of resuming")


def state_contents(sheet: FactSheet, block: Settings, at: KeyPath) -> None:
    """State what a checkpoint holds; `extra` is schedule and random state."""
    for key in ("save_contents", "contents"):
        names = items(block.get(key))
        if names:
            for leaf, part in (("optimizer", "optimizer"), ("random_state", "extra")):
                switch = part in names
                derive_switch(
                    sheet,
                    f"checkpoint.save_{leaf}",
                    f"{key} {'names' if switch else 'leaves out'} {part}",
                    (*at, key),
                    is_on=switch,
                )


def _profiler(sheet: FactSheet, data: Settings) -> None:
    for path in (("global_profiler", "steps"), ("trainer", "profile_steps")):
        steps = section(data, path[0]).get(path[1])
        if steps is not None:
            note = f"{path[1]} is set"
            derive_switch(sheet, "telemetry.profiler", note, path, is_on=bool(steps))
            return
