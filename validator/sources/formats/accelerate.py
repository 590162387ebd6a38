"""The file of `accelerate launch --config_file`, YAML or JSON.

Keys and defaults: schemas/catalogues/frameworks/accelerate.yaml. Blocks are copied into
environment variables (accelerate/commands/launch.py), so texts count as numbers here.
"""

from typing import Any

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.launch import Launch, NodeRank, Rendezvous
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.context import instance_facts
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._config import Config
from speccheck.validator.sources.formats._huggingface import (
    FULL_SHARD,
    fsdp_version,
    state_fsdp,
)
from speccheck.validator.sources.mapping import (
    Convert,
    Fields,
    Unusable,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    lower_text,
    number,
    placeholder,
    section,
    text,
    weak_default,
    words_loaded_as_false,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Reader,
    Reading,
    Reference,
    keyed_file,
)

_FORMAT = "accelerate"
_COMPANIONS = frozenset(
    {
        "num_machines",
        "num_processes",
        "mixed_precision",
        "fsdp_config",
        "deepspeed_config",
        "machine_rank",
        "main_process_ip",
    }
)
_FEWEST_COMPANIONS = 2


def _count(value: object) -> object:
    """Return a number of processes or machines; -1 stands for not set."""
    count = integer_text(value)
    if isinstance(count, int) and count < 1:
        return Unusable(f"{count}: not set")
    return count


def _word(value: object) -> object:
    """Return a text, where YAML 1.1 may have read `no` as false."""
    return "no" if value is False else lower_text(value)


_FIELDS: Fields = {
    "num_machines": ("cluster.nodes", _count),
    "num_processes": ("cluster.world_size", _count),
    "deepspeed_config": {
        "zero_stage": ("parallelism.sharding_stage", integer_text),
        "gradient_accumulation_steps": (
            "batch.gradient_accumulation_steps",
            integer_text,
        ),
        "gradient_clipping": ("optimizer.clip_norm", number),
        "offload_optimizer_device": ("memory.optimizer_offload_device", lower_text),
        "offload_optimizer_nvme_path": ("memory.optimizer_offload_path", text),
        "offload_param_device": ("memory.parameter_offload_device", lower_text),
        "offload_param_nvme_path": ("memory.parameter_offload_path", text),
    },
    "parallelism_config": {
        "parallelism_config_tp_size": (
            "parallelism.tensor_parallel_size",
            integer_text,
        ),
        "parallelism_config_cp_size": (
            "parallelism.context_parallel_size",
            integer_text,
        ),
        "parallelism_config_sp_size": ("parallelism.ulysses_size", integer_text),
        "parallelism_config_dp_replicate_size": (
            "parallelism.replicate_size",
            integer_text,
        ),
        "parallelism_config_dp_shard_size": ("parallelism.shard_size", integer_text),
    },
    "megatron_lm_config": {
        "megatron_lm_tp_degree": ("parallelism.tensor_parallel_size", integer_text),
        "megatron_lm_pp_degree": ("parallelism.pipeline_parallel_size", integer_text),
        "megatron_lm_context_parallel_size": (
            "parallelism.context_parallel_size",
            integer_text,
        ),
        "megatron_lm_expert_model_parallel_size": (
            "parallelism.expert_parallel_size",
            integer_text,
        ),
        "megatron_lm_expert_tensor_parallel_size": (
            "parallelism.expert_tensor_parallel_size",
            integer_text,
        ),
        "megatron_lm_sequence_parallelism": ("parallelism.sequence_parallel", boolean),
        "megatron_lm_num_micro_batches": (
            "batch.gradient_accumulation_steps",
            integer_text,
        ),
        "megatron_lm_gradient_clipping": ("optimizer.clip_norm", number),
        "megatron_lm_use_distributed_optimizer": ("optimizer.is_distributed", boolean),
        "megatron_lm_recompute_granularity": ("memory.recompute_mode", lower_text),
        "megatron_lm_recompute_method": ("memory.recompute_method", lower_text),
        "megatron_lm_recompute_num_layers": ("memory.recompute_layers", integer_text),
        "megatron_lm_attention_backend": ("kernels.attention_backend", lower_text),
    },
}
# Flags of the launch command replace these, which `accelerate config` always writes.
_WEAK_FIELDS: Fields = {"rdzv_backend": ("recovery.rendezvous_backend", lower_text)}
_NO_MODEL_PARALLELISM = fixed_defaults(
    "not set; every size is 1 in accelerate",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
    },
)
_LAUNCHED = fixed_defaults(
    "a configuration of accelerate launch",
    {
        "run.framework": "accelerate",
        "run.uses_torch": True,
        "recovery.launcher": "accelerate",
    },
)
_FULLY_SHARDED = fixed_defaults(
    "FSDP shards fully unless told otherwise",
    {"parallelism.sharding_stage": FULL_SHARD},
)
# accelerate/utils/dataclasses.py: FSDP_AUTO_WRAP_POLICY, "NO_WRAP" where it is not set.
_NOT_WRAPPED = fixed_defaults(
    "fsdp_auto_wrap_policy is not set: NO_WRAP", {"parallelism.wrap_policy": "none"}
)
# With DDP every rank holds the whole model.
_NOT_SHARDED = fixed_defaults(
    "data parallel without sharding", {"parallelism.sharding_stage": 0}
)
_HALF = ("bf16", "fp16")
_PRECISIONS = frozenset({"no", *_HALF})


def detect(document: Document) -> float:
    """Recognise it by `distributed_type`, which it must have, and companions."""
    data = section(document.data)
    if "distributed_type" not in data:
        return 0.0
    companions = len(_COMPANIONS.intersection(data))
    if "compute_environment" in data or companions >= _FEWEST_COMPANIONS:
        return 0.95
    return 0.5 if companions else 0.2


def read(document: Document) -> Reading:
    """Return what the launcher's file states of cluster, engine and precision."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    config = Config(sheet, data)
    config.apply(_FIELDS)
    apply(sheet, data, _WEAK_FIELDS, weakly=True)
    address, port = config.get("main_process_ip"), config.get("main_process_port")
    if isinstance(address, str) and placeholder(address) is None:
        endpoint = f"{address}:{port}" if isinstance(port, int | str) else address
        leaf, key = "recovery.rendezvous_endpoint", "main_process_ip"
        weak_default(sheet, leaf, endpoint, key, config.at(key))
    _instance(sheet, config.get("ec2_instance_type"))
    _precision(config)
    _engine(config)
    key = "dynamo_config.dynamo_backend"
    if lower_text(config.get(key, "no")) != "no":
        config.turn("kernels.compiled", "a backend of torch.compile", key)
    key = "megatron_lm_config.megatron_lm_recompute_activations"
    if config.switch(key) is True:
        config.state("memory.recompute_mode", "selective", key)
    add_defaults(sheet, _LAUNCHED)
    add_defaults(sheet, _NO_MODEL_PARALLELISM)
    keyed = keyed_file(document, _FORMAT, keys_of_format(_FORMAT))
    # Launching calls .lower() on it (accelerate/utils/launch.py), unless the command
    # line gives another; a distributed_type of false does no harm.
    loaded_as = words_loaded_as_false(
        document, ("mixed_precision",), fatal=True, unless="--mixed_precision"
    )
    references: tuple[Reference, ...] = ()
    key = "deepspeed_config.deepspeed_config_file"
    target = config.get(key)
    if isinstance(target, str) and target:
        references = (Reference(target, sheet.place(config.at(key)), is_opened=True),)
    return Reading(
        sheet,
        keyed._replace(loaded_as=loaded_as),
        references=references,
        launches=(_launch(config),),
    )


def _launch(config: Config) -> Launch:
    """Return what the file says of the launch, beside what a command gives."""
    at = config.sheet.place(("distributed_type",))
    rank = _stated(config, "launch.node_rank", "machine_rank", integer_text)
    return Launch(
        Value("launch.launcher", _FORMAT, "stated", (at,)),
        nodes=_stated(config, "launch.nodes", "num_machines", _count),
        world=_stated(config, "launch.world", "num_processes", _count),
        node_rank=NodeRank(rank),
        rendezvous=Rendezvous(
            _stated(config, "launch.rendezvous_address", "main_process_ip", text),
            _stated(config, "launch.rendezvous_port", "main_process_port", text),
            _stated(config, "launch.rendezvous_backend", "rdzv_backend", lower_text),
        ),
        is_file=True,
    )


def _stated(config: Config, name: str, key: str, convert: Convert) -> Value[Any]:
    """Return a value of the launch; unknown where the key has none that is usable."""
    written = config.get(key)
    value = None if written is None else convert(written)
    if value is None or isinstance(value, Unusable) or placeholder(written):
        return Value(name)
    return Value(name, value, "stated", (config.sheet.place(config.at(key)),))


def _instance(sheet: FactSheet, name: object) -> None:
    """State the instance type: SageMaker's names are those of EC2 after `ml.`."""
    if not isinstance(name, str):
        return
    place = sheet.place(("ec2_instance_type",))
    try:
        instance_facts(sheet, name.removeprefix("ml."), place)
    except UnknownName as error:
        sheet.unusable("cluster.instance_type", str(error), place)


def _precision(config: Config) -> None:
    """State the half precision of the launcher.

    `no` says nothing for sure: the Trainer replaces it by its own bf16 and fp16.
    """
    key = "mixed_precision"
    stated = config.get(key)
    if stated is None:
        return
    word = _word(stated)
    if isinstance(word, Unusable):
        config.unusable("precision.compute_dtype", word.reason, key)
    elif word == "fp8":
        config.turn("precision.fp8", "mixed_precision: fp8", key)
        for name in ("fp8_config.fp8_backend", "fp8_config.backend"):
            config.put("precision.fp8_recipe", name, lower_text)
    elif word in _PRECISIONS:
        for name in _HALF:
            if name == word:
                config.turn(f"precision.{name}", f"{key}: {name}", key)
            else:
                note = f"{key} is {word}"
                config.default(f"precision.{name}", value=False, note=note)


def _engine(config: Config) -> None:
    sheet, leaf, key = config.sheet, "parallelism.engine", "distributed_type"
    kind = _word(config.get(key))
    if kind == "fsdp":
        block = config.get("fsdp_config")
        stated = fsdp_version(block)
        version = stated if isinstance(stated, int) else 1
        note = "fsdp_version" if stated == version else "fsdp_version 1 by default"
        config.derive(leaf, f"fsdp{version}", note, key)
        state_fsdp(sheet, block, version, ("fsdp_config",))
        add_defaults(sheet, _FULLY_SHARDED)
        if section(block):  # without a block the program sets its plugin up itself
            add_defaults(sheet, _NOT_WRAPPED)
    elif kind == "deepspeed":
        config.state(leaf, "deepspeed", key)
    elif kind == "megatron_lm":
        config.state(leaf, "megatron", key)
    elif isinstance(kind, str) and kind.startswith("multi_"):
        # The Trainer's own `deepspeed` or `fsdp` works under such a launcher.
        weak_default(sheet, leaf, "ddp", f"{key}: {kind}", config.at(key))
        add_defaults(sheet, _NOT_SHARDED)
    elif kind == "no":
        config.default("cluster.world_size", 1, f"{key}: NO runs one process")


READER = Reader(_FORMAT, "launcher", detect, read, keys=("distributed_type",))
