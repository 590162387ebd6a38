"""OLMo-core's `config.json` or YAML: an experiment as its script builds and saves it.

Each block is a dataclass, named by `_CLASS_` (olmo_core/config.py); scripts subclass
them at will. Batch sizes are numbers of tokens. Sources: allenai/OLMo-core
internal/experiment.py, train/config.py, train/train_module/transformer/config.py,
distributed/parallel and nn/transformer/config.py, at 2.0.0 to fa6c5014c.
"""

from math import ceil

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import Config
from speccheck.validator.sources.mapping import (
    Fields,
    Unusable,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    number,
    one_of,
    section,
    text,
    texts,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "olmo-core"
_MODULE, _PACKAGE = "train_module", "olmo_core."
_BLOCKS = frozenset({"data_loader", "dataset", "model", "trainer"})
_FEWEST_BLOCKS = 2
_DTYPES: dict[str, object] = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
_BACKENDS = one_of(
    {
        **dict.fromkeys(("flash_2", "flash_3", "flash_4"), "flash"),
        "torch": "sdpa",
        "te": "fused",
    }
)
_SINKS = frozenset({"wandb", "comet", "beaker"})
_SAVING = frozenset({"CheckpointerCallback", "checkpointer"})
_MIXER: Fields = {
    "n_heads": ("model.attention_heads", integer_text),
    "n_kv_heads": ("model.key_value_heads", integer_text),
    "head_dim": ("model.head_dimension", integer_text),
    "backend": ("kernels.attention_backend", _BACKENDS),
}
_BLOCK: Fields = {
    "sequence_mixer": _MIXER,
    "attention": _MIXER,  # before 2.5
    "feed_forward": {"hidden_size": ("model.feed_forward_size", integer_text)},
    "feed_forward_moe": {
        "num_experts": ("model.experts", integer_text),
        "router": {"top_k": ("model.experts_per_token", integer_text)},
        "hidden_size": ("model.expert_feed_forward_size", integer_text),
    },
}
_DEGREES = {
    "tp_config": "parallelism.tensor_parallel_size",
    "pp_config": "parallelism.pipeline_parallel_size",
    "cp_config": "parallelism.context_parallel_size",
    "ep_config": "parallelism.expert_parallel_size",
}
_FIELDS: Fields = {
    "init_seed": ("run.seed", integer_text),
    "launch": {
        "num_nodes": ("cluster.nodes", integer_text),
        "num_gpus": ("cluster.gpus_per_node", integer_text),
    },
    "model": {
        "d_model": ("model.hidden_size", integer_text),
        "n_layers": ("model.layers", integer_text),
        "vocab_size": ("model.vocabulary_size", integer_text),
        "tie_word_embeddings": ("model.tied_embeddings", boolean),
        "dtype": ("precision.parameter_dtype", one_of(_DTYPES)),
    },
    "dataset": {"paths": ("data.paths", texts)},
    "data_loader": {
        "seed": ("data.seed", integer_text),
        "num_workers": ("data.workers", integer_text),
        "prefetch_factor": ("data.prefetch_factor", integer_text),
    },
    _MODULE: {
        "max_grad_norm": ("optimizer.clip_norm", number),
        "compile_model": ("kernels.compiled", boolean),
        "optim": {
            "lr": ("optimizer.learning_rate", number),
            "weight_decay": ("optimizer.weight_decay", number),
            "fused": ("kernels.fused_optimizer", boolean),
        },
        "dp_config": {
            "reduce_dtype": ("precision.gradient_reduce_dtype", one_of(_DTYPES))
        },
        "float8_config": {"enabled": ("precision.fp8", boolean)},
    },
    "trainer": {
        "save_folder": ("checkpoint.directory", text),
        "metrics_collect_interval": ("telemetry.log_interval_steps", integer_text),
    },
}
_FIXED = fixed_defaults(
    "OLMo-core has no other way",
    {
        "checkpoint.format": "sharded",
        "checkpoint.interval_unit": "steps",
        "checkpoint.save_optimizer": True,
        "data.resumable": True,
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "model.adapter": "none",
        "run.uses_torch": True,
    },
)


def detect(document: Document) -> float:
    """Recognise the format by its blocks, and by the classes that they name."""
    data = section(document.data)
    module = section(data, _MODULE)
    if not module or len(_BLOCKS.intersection(data)) < _FEWEST_BLOCKS:
        return 0.0
    names = [section(data, name).get("_CLASS_") for name in (*_BLOCKS, _MODULE)]
    is_named = any(str(name).startswith(_PACKAGE) for name in names)
    return 0.98 if is_named else 0.85 if "rank_microbatch_size" in module else 0.0


def read(document: Document) -> Reading:
    """Return what the file states, and what OLMo-core does where it states nothing."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    apply(sheet, data, _FIELDS)
    sheet.derive("run.framework", _FORMAT, "OLMo-core's blocks", ())
    config = Config(sheet, data)
    _model(config.section("model"))
    _parallelism(config.section(_MODULE))
    _batch(config)
    _training(config.section(_MODULE))
    _trainer(config)
    add_defaults(sheet, _FIXED)
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _class(config: Config, name: str) -> str:
    """Return the name of the class of a block, without its module and `Config`."""
    named = str(config.get(f"{name}._CLASS_" if name else "_CLASS_") or "")
    return named.rpartition(".")[2].removesuffix("Config")


def _model(model: Config) -> None:
    """State one kind of block; where blocks differ, their sizes are not stated."""
    block = model.section("block")
    if model.get("block_overrides") or model.get("block_pattern"):
        return
    block.apply(_BLOCK)
    for mixer in map(block.section, ("sequence_mixer", "attention")):
        if mixer.get("n_kv_heads") is None:
            mixer.put("model.key_value_heads", "n_heads", integer_text)
        if mixer.switch("use_flash") is True and mixer.get("backend") is None:
            leaf = "kernels.attention_backend"
            mixer.derive(leaf, "flash", "use_flash: true", "use_flash")
    if (key := "feed_forward.hidden_size") in block:
        block.turn("model.gated_feed_forward", "three matrices", key)


def _degree(value: object) -> object:
    """Return the degree; below zero the experts are split over all ranks."""
    degree = integer_text(value)
    is_all = isinstance(degree, int) and degree < 0
    return Unusable("all ranks: the size of the job tells") if is_all else degree


def _parallelism(module: Config) -> None:
    ulysses = "parallelism.ulysses_size"
    is_ulysses = module.get("cp_config.uly") is not None
    for key, leaf in _DEGREES.items():
        if module.get(key) is None:
            module.default(leaf, 1, f"{key} is not set")
        elif key != "cp_config" or not is_ulysses:
            module.put(leaf, f"{key}.degree", _degree)
    if is_ulysses:
        module.put(ulysses, "cp_config.degree", integer_text)
    else:
        module.default(ulysses, 1, "cp_config.uly is not set")
    key = "dp_config.name"
    name, stage = module.word(key), "parallelism.sharding_stage"
    if name == "ddp":
        module.derive("parallelism.engine", "ddp", f"{key}: ddp", key)
        module.derive(stage, 0, "ddp shards nothing", key)
    elif name in {"fsdp", "hsdp"}:
        module.derive("parallelism.engine", "fsdp2", f"{key}: {name}", key)
        if module.get("pp_config") is None:
            module.derive(stage, 3, f"{name} shards all states", key)
    if name == "hsdp":
        replicas = "dp_config.num_replicas"
        module.put("parallelism.replicate_size", replicas, integer_text)
        module.put("parallelism.shard_size", "dp_config.shard_degree", integer_text)


def _batch(config: Config) -> None:
    """State the numbers of tokens over the length of a sequence."""
    length, key = None, ""
    for key in ("dataset.sequence_length", f"{_MODULE}.max_sequence_length"):
        length = config.whole(key)
        if length is not None and length > 0:
            break
    if length is None or length <= 0:
        return
    config.state("batch.sequence_length", length, key)
    for leaf, key in (
        ("batch.micro_batch_size", f"{_MODULE}.rank_microbatch_size"),
        ("batch.global_batch_size", "data_loader.global_batch_size"),
    ):
        tokens = config.whole(key)
        if tokens is not None and tokens > 0 and tokens % length == 0:
            note = f"{tokens:,} tokens / {length:,} = {tokens // length:,}"
            config.derive(leaf, tokens // length, note, key)


def _training(module: Config) -> None:
    """State the precision, recomputation, the optimizer and its schedule."""
    for key in ("dp_config.param_dtype", "autocast_precision"):
        dtype = _DTYPES.get(module.word(key) or "")
        if isinstance(dtype, str):
            module.state("precision.compute_dtype", dtype, key)
            module.turn_halves(dtype, f"{key}: {dtype}", key)
            break
    if module.get("compile_model") is None:
        module.default("kernels.compiled", value=False, note="compile_model is not set")
    if module.get("max_grad_norm") is None:
        module.default("optimizer.clip_norm", 0.0, "max_grad_norm is not set")
    leaf, mode = "memory.recompute_mode", module.word("ac_config.mode")
    if module.get("ac_config") is None:
        module.default(leaf, "none", "ac_config is not set")
    else:
        kind = "full" if mode in {None, "full"} else "selective"
        module.derive(leaf, kind, f"mode: {mode or 'full'}", "ac_config")
    if name := _class(module, "optim"):
        leaf = "optimizer.name_of_optimizer"
        module.derive(leaf, name.lower(), f"class {name}", "optim._CLASS_")
    module.put_betas("optim.betas")
    if name := _class(module, "scheduler"):
        module.derive("optimizer.schedule", name.lower(), name, "scheduler._CLASS_")
    module.scale_rate("optim.lr", "scheduler.alpha_f")
    if lower_text(module.get("scheduler.units") or "steps") == "steps":
        keys = ("scheduler.warmup", "scheduler.warmup_steps")
        module.put_first("optimizer.warmup_steps", integer_text, *keys)


def _trainer(config: Config) -> None:
    """State how long it runs, what it saves and where it reports."""
    trainer = config.section("trainer")
    key = "max_duration.value"
    count, unit = trainer.whole(key), trainer.word("max_duration.unit")
    batch = config.whole("data_loader.global_batch_size")
    if count is not None and unit == "steps":
        trainer.state("run.steps", count, key)
    elif count is not None and unit == "epochs":
        trainer.state("run.epochs", float(count), key)
    elif count is not None and unit == "tokens" and batch:
        note = f"{count:,} tokens / {batch:,} = {ceil(count / batch):,}"
        trainer.derive("run.steps", ceil(count / batch), note, key)
    saves = trainer.switch("no_checkpoints") is not True
    if not saves:
        note = "no_checkpoints: true"
        trainer.turn("checkpoint.enabled", note, "no_checkpoints", is_on=False)
    sinks = []
    for name in section(trainer.get("callbacks")):
        at = (*trainer.at("callbacks"), name)
        callback = Config(trainer.sheet, trainer.section("callbacks").get(name), at)
        is_on = callback.switch("enabled") is not False
        sinks += [name] if is_on and name in _SINKS else []
        if is_on and saves and (_class(callback, "") or name) in _SAVING:
            _checkpoints(callback)
    if sinks:
        trainer.derive("telemetry.sinks", tuple(sinks), "its callbacks", "callbacks")
    if saves and trainer.known("checkpoint.interval_steps") is None:
        note = "no callback for checkpoints: 250"
        trainer.default("checkpoint.enabled", value=True, note=note)
        trainer.default("checkpoint.interval_steps", 250, note)
    strategy = trainer.word("load_strategy") or "if_available"
    note = f"load_strategy: {strategy}"
    trainer.default("checkpoint.resume", strategy != "never", note)


def _checkpoints(callback: Config) -> None:
    """State the permanent checkpoints, and ephemeral ones for restarts in between."""
    keys = ("ephemeral_save_interval", "save_interval")
    intervals = [(steps, key) for key in keys if (steps := callback.whole(key))]
    if intervals:
        steps, key = min(intervals)
        callback.state("checkpoint.interval_steps", steps, key)
        callback.turn("checkpoint.enabled", f"{key} is set", key)
    callback.put("checkpoint.asynchronous", "save_async", boolean)


READER = Reader(_FORMAT, "config", detect, read, keys=(_MODULE,))
