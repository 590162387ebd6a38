"""LitGPT's YAML file of one command: pretraining, full fine-tuning, LoRA, adapters.

jsonargparse reads it with a loader of its own that takes `4e-4` for a number, and
refuses keys that the command lacks. Keys and defaults: schemas/catalogues/frameworks/
litgpt.yaml. Sources, at v0.5.13: litgpt/pretrain.py, litgpt/finetune/{full,lora}.py,
litgpt/args.py.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import ONE_OF_EACH, Config, defaults_of
from speccheck.validator.sources.formats._huggingface import resume
from speccheck.validator.sources.mapping import (
    Fields,
    TabulatedDefault,
    Unusable,
    add_defaults,
    boolean,
    fixed_defaults,
    integer,
    integer_text,
    items,
    number,
    one_of,
    placeholder,
    section,
    tabulated_defaults,
    text,
    weak_default,
)
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_Settings = Mapping[str, object]
_FORMAT = "litgpt"
_FULL_SHARD = 3
_PRETRAIN, _LORA, _FULL = "pretrain", "finetune_lora", "finetune_full"
_COMMON = fixed_defaults(
    "LitGPT has no other way",
    {
        "run.uses_torch": True,
        "batch.mode": "fixed",
        "cluster.nodes": 1,
        **ONE_OF_EACH,
        "optimizer.schedule": "cosine",
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "kernels.attention_backend": "sdpa",
        "checkpoint.format": "full",
        "checkpoint.asynchronous": False,
        "checkpoint.keep_last": 0,
        "checkpoint.interval_unit": "steps",
        "telemetry.throughput": True,
        "model.family": "transformer",
    },
)
_OF_COMMANDS = {
    _PRETRAIN: fixed_defaults(
        "litgpt pretrain has no other way",
        {
            "checkpoint.save_optimizer": True,
            "kernels.compiled": True,
            "kernels.fused_optimizer": True,
            "memory.recompute_mode": "none",
        },
    ),
    _FULL: fixed_defaults(
        "litgpt finetune_full has no other way", {"checkpoint.save_optimizer": True}
    ),
    _LORA: fixed_defaults(
        "LitGPT saves the trained part alone", {"checkpoint.save_optimizer": False}
    ),
}
_TRAIN = frozenset(
    {
        "epochs",
        "global_batch_size",
        "log_interval",
        "lr_warmup_fraction",
        "lr_warmup_steps",
        "max_norm",
        "max_seq_length",
        "max_steps",
        "max_tokens",
        "micro_batch_size",
        "min_lr",
        "save_interval",
        "tie_embeddings",
    }
)
_COMPANIONS = frozenset(
    {
        "checkpoint_dir",
        "devices",
        "eval",
        "initial_checkpoint_dir",
        "logger_name",
        "lora_r",
        "model_name",
        "num_nodes",
        "out_dir",
        "precision",
        "quantize",
        "tokenizer_dir",
    }
)
_FEWEST = 2


def _optimizer_name(value: object) -> object:
    """Return the class, without the modules that hold it."""
    if isinstance(value, str):
        return placeholder(value) or value.rpartition(".")[2].lower()
    return Unusable(f"{value!r:.60} names no class")


def _positive(value: object) -> object:
    """Return a limit in steps; 0 sets none."""
    steps = integer(value)
    return Unusable("0: no limit") if steps == 0 else steps


_PRECISIONS = {
    "bf16-true": ("bf16", "bf16"),
    "bf16-mixed": ("bf16", "fp32"),
    "16-true": ("fp16", "fp16"),
    "16-mixed": ("fp16", "fp32"),
    "32-true": ("fp32", "fp32"),
}
_BITS = one_of(
    {
        "bnb.nf4": 4,
        "bnb.nf4-dq": 4,
        "bnb.fp4": 4,
        "bnb.fp4-dq": 4,
        "bnb.int8-training": 8,
    }
)
_GATED = one_of(
    {"gptneoxmlp": False, "llamamlp": True, "gemmamlp": True, "llamamoe": True}
)
_FIELDS: Fields = {
    "num_nodes": ("cluster.nodes", integer),
    "out_dir": ("checkpoint.directory", text),
    "quantize": ("model.quantized_bits", _BITS),
    "seed": ("run.seed", integer),
    "model_name": ("model.name_of_model", text),
    "train": {
        "global_batch_size": ("batch.global_batch_size", integer),
        "micro_batch_size": ("batch.micro_batch_size", integer),
        "max_seq_length": ("batch.sequence_length", integer),
        "lr_warmup_steps": ("optimizer.warmup_steps", integer),
        "max_norm": ("optimizer.clip_norm", number),
        "epochs": ("run.epochs", number),
        "max_steps": ("run.steps", _positive),
        "save_interval": ("checkpoint.interval_steps", integer),
        "log_interval": ("telemetry.log_interval_steps", integer),
        "tie_embeddings": ("model.tied_embeddings", boolean),
        # up to v0.3.1, before the optimizer had keys of its own
        "beta1": ("optimizer.beta1", number),
        "beta2": ("optimizer.beta2", number),
        "learning_rate": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
    },
    "optimizer": {
        "class_path": ("optimizer.name_of_optimizer", _optimizer_name),
        "init_args": {
            "lr": ("optimizer.learning_rate", number),
            "weight_decay": ("optimizer.weight_decay", number),
            "fused": ("kernels.fused_optimizer", boolean),
        },
    },
    "data": {
        "init_args": {
            "num_workers": ("data.workers", integer),
            "seed": ("data.seed", integer),
        }
    },
    "model_config": {
        "n_layer": ("model.layers", integer),
        "n_embd": ("model.hidden_size", integer),
        "n_head": ("model.attention_heads", integer),
        "n_query_groups": ("model.key_value_heads", integer),
        "head_size": ("model.head_dimension", integer),
        "intermediate_size": ("model.feed_forward_size", integer),
        "padded_vocab_size": ("model.vocabulary_size", integer),
        "padding_multiple": ("model.vocabulary_multiple", integer),
        "block_size": ("model.maximum_positions", integer),
        "n_expert": ("model.experts", integer),
        "n_expert_per_token": ("model.experts_per_token", integer),
        "moe_intermediate_size": ("model.expert_feed_forward_size", integer),
        "mlp_class_name": ("model.gated_feed_forward", _GATED),
    },
}
_DEFAULTS = (
    TabulatedDefault("devices", "cluster.gpus_per_node", integer),
    *defaults_of(
        _FIELDS, "train.micro_batch_size", "train.save_interval", "train.log_interval"
    ),
)


def detect(document: Document) -> float:
    """Recognise the format by the keys of `train` and those of a command beside it."""
    data = section(document.data)
    train = len(_TRAIN.intersection(section(data, "train")))
    companions = len(_COMPANIONS.intersection(data))
    if train < _FEWEST or companions < _FEWEST:
        return 0.0
    return min(0.97, 0.45 + 0.03 * train + 0.05 * companions)


def read(document: Document) -> Reading:
    """Return what the file states, and the command's defaults for what it does not."""
    sheet = FactSheet.of(document)
    config = Config(sheet, document.data)
    config.apply(_FIELDS)
    # The name of a class of torch, or a class with its arguments.
    if isinstance(config.get("optimizer"), str):
        config.put("optimizer.name_of_optimizer", "optimizer", _optimizer_name)
    if items(config.get("optimizer.init_args.betas")):
        config.put_betas("optimizer.init_args.betas")
    _precision(config)
    _state_job(config)
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _precision(config: Config) -> None:
    leaf, key = "precision.compute_dtype", "precision"
    stated = config.get(key)
    if stated is None:
        return
    known = _PRECISIONS.get(stated) if isinstance(stated, str) else None
    if known is None:
        reason = f"{stated!r:.60} is none of {', '.join(_PRECISIONS)}"
        config.unusable(leaf, reason, key)
        return
    (compute, weights), note = known, str(stated)
    config.derive(leaf, compute, note, key)
    config.derive("precision.parameter_dtype", weights, note, key)
    config.turn_halves(compute, note, key)
    # Fabric's FSDPPrecision reduces in the half precision (lightning/fabric/plugins/
    # precision/fsdp.py); on one GPU nothing is reduced.
    config.derive("precision.gradient_reduce_dtype", compute, note, key)


def _state_job(config: Config) -> None:
    """State what follows from several settings, after the fields."""
    sheet = config.sheet
    config.derive("run.framework", "litgpt", "keys of a command of LitGPT", "train")
    _devices(config)
    command = _command(config)
    _model(config)
    _saving(config)
    if command == _PRETRAIN:
        _schedule(config)
    name, key = config.get("logger_name"), "logger_name"
    if isinstance(name, str) and name:
        config.derive("telemetry.sinks", (name.lower(),), key, key)
    if command:
        add_defaults(sheet, tabulated_defaults(_FORMAT, _DEFAULTS, None, command))
        add_defaults(sheet, _OF_COMMANDS[command])
    add_defaults(sheet, _COMMON)
    if command:
        _engine(config, command)


def _devices(config: Config) -> None:
    """State the GPUs that the job takes of each node, which may have more of them."""
    leaf, key = "cluster.gpus_per_node", "devices"
    stated = config.get(key)
    if stated in ("auto", -1, "-1"):
        config.unusable(leaf, f"{stated}: all GPUs of a node", key)
        return
    local, nodes = config.whole(key), integer(config.get("num_nodes", 1))
    if stated is not None and local is None:
        config.put(leaf, key, integer_text)
    elif local is not None and isinstance(nodes, int) and min(local, nodes) > 0:
        note = "devices of each node"
        weak_default(config.sheet, leaf, local, note, config.at(key))
        note = f"{local} devices x {nodes} nodes = {local * nodes:,}"
        leaf = "cluster.world_size"
        if "num_nodes" in config:
            config.derive(leaf, local * nodes, note, key, "num_nodes")
        else:  # a number of nodes that the command line gives says otherwise
            weak_default(config.sheet, leaf, local, note, config.at(key))


def _command(config: Config) -> str:
    """Return the command by its own keys; empty if several commands have them all."""
    role, adapter = "run.role", "model.adapter"
    lora = next((key for key in config.data if key.startswith("lora_")), None)
    if lora is not None:
        config.derive(role, "lora", f"{lora} is set", lora)
        config.derive(adapter, "lora", f"{lora} is set", lora)
        return _LORA
    base, key = config.section("model_config").data, "initial_checkpoint_dir"
    if (base or config.get("model_name")) and "checkpoint_dir" not in config:
        model = "model_name" if config.get("model_name") else "model_config"
        has_weights = config.get(key) is not None
        config.first(
            role,
            (has_weights, "continued", f"on from the weights of {key}", key),
            (True, "pretrain", f"{model}: new weights", model),
        )
        config.default(adapter, "none", "litgpt pretrain trains all weights")
        return _PRETRAIN
    key = "checkpoint_dir"
    if config.get(key) is not None and "quantize" not in config:
        note = f"{key} without keys of an adapter: all weights are fine-tuned"
        config.derive(role, "sft", note, key)
        config.default(adapter, "none", note)
        return _FULL
    return ""


def _model(config: Config) -> None:
    base, key = config.get("checkpoint_dir"), "checkpoint_dir"
    if isinstance(base, str) and base:
        name = base.rstrip("/").rpartition("/")[2]
        note = "the folder of the checkpoint"
        config.derive("model.name_of_model", name, note, key)
    heads = config.whole("model_config.n_head", integer)
    if heads is not None and config.get("model_config.n_query_groups") is None:
        note = "n_query_groups is not set: as many as heads"
        config.default("model.key_value_heads", heads, note)


def _saving(config: Config) -> None:
    """State that it saves every `save_interval` steps; null: final weights alone."""
    leaf, key = "checkpoint.enabled", "train.save_interval"
    if key not in config:
        note = "save_interval is not set: every 1,000 steps"
        config.default(leaf, value=True, note=note)
    elif config.get(key) is None:
        note = "save_interval: null"
        config.turn(leaf, note, key, is_on=False)
        config.derive("checkpoint.interval_unit", "never", note, key)
    else:
        config.turn(leaf, "save_interval is set", key)
    leaf, key = "checkpoint.resume", "resume"
    if config.get(key) == "auto":
        config.state(leaf, value=True, name=key)
    elif not config.put_first(leaf, resume, key):
        config.default(leaf, value=False, note=f"{key} is not set")


def _schedule(config: Config) -> None:
    """State that pretraining ends with its tokens; fine-tuning decays to 0."""
    train = config.section("train")
    train.put("optimizer.minimum_learning_rate", "min_lr", number)
    tokens, samples, length = (
        train.whole(key, integer)
        for key in ("max_tokens", "global_batch_size", "max_seq_length")
    )
    if train.get("max_steps") is None and tokens and samples and length:
        steps = tokens // (samples * length)
        note = f"{tokens:,} tokens / ({samples:,} samples x {length:,}) = {steps:,}"
        train.derive("run.steps", steps, note, "max_tokens")


def _engine(config: Config, command: str) -> None:
    """State FSDP from the second GPU on: hybrid in pretraining, else fully sharded."""
    leaf = "parallelism.sharding_stage"
    nodes, local = map(config.known, ("cluster.nodes", "cluster.gpus_per_node"))
    if not isinstance(nodes, int) or not isinstance(local, int):
        return
    if nodes * local <= 1:
        config.default(leaf, 0, "one GPU: nothing is sharded")
        return
    note = f"LitGPT shards over {nodes * local:,} GPUs with FSDP"
    config.default("parallelism.engine", "fsdp1", note)
    config.default(leaf, _FULL_SHARD, note)
    if command == _PRETRAIN:
        note = f"HYBRID_SHARD: {local} shards on each of {nodes} nodes"
        config.default("parallelism.shard_size", local, note)
        config.default("parallelism.replicate_size", nodes, note)
    else:
        note = f"{note} and recomputes each block"
        recompute = fixed_defaults(note, {"memory.recompute_mode": "full"})
        add_defaults(config.sheet, recompute)


READER = Reader(
    _FORMAT, "config", detect, read, keys=("out_dir", "logger_name", "devices")
)
