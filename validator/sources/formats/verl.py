"""verl's configurations: the trainer of reinforcement learning, and that of SFT.

Hydra composes and OmegaConf loads them, so that `1e-6` is a number. Sources:
verl/trainer/config/*.yaml, verl/trainer/main_ppo.py, fsdp_sft_trainer.py, 0.2 to 0.7.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._huggingface import state_offload
from speccheck.validator.sources.formats._hydra import hydra_parents
from speccheck.validator.sources.formats._verl import (
    state_contents,
    state_trainer,
    state_training,
)
from speccheck.validator.sources.formats._verl_fields import FSDP, MEGATRON, count
from speccheck.validator.sources.mapping import (
    Fields,
    add_defaults,
    apply,
    boolean,
    fixed_defaults,
    integer_text,
    items,
    lower_text,
    number,
    put_numbers,
    section,
    text,
    texts,
)
from speccheck.validator.sources.reader import (
    FactSheet,
    Parent,
    Reader,
    Reading,
    keyed_file,
)

_FORMAT = "verl"
_OWN = "actor_rollout_ref"
# Beside it, what a file of the trainer has, and what a file that extends one has.
_COMPANIONS = ("trainer", "data", "algorithm", "critic", "reward_model", "defaults")
# They come with the package; their defaults are tabulated.
_INSTALLED = {
    "ppo_trainer": FSDP,
    "dp_actor": FSDP,
    "ppo_megatron_trainer": MEGATRON,
    "megatron_actor": MEGATRON,
}
_MODEL_ENGINES = {"dp": FSDP, "megatron": MEGATRON}
_INSTALLED_GROUPS = frozenset(
    {
        "dp_critic",
        "dp_ref",
        "dp_reward_loop",
        "dp_reward_model",
        "hf_model",
        "legacy_data",
        "megatron_critic",
        "megatron_ref",
        "megatron_reward_loop",
        "megatron_reward_model",
        "npu_profile",
        "reward_manager",
        "rollout",
        "rollout_correction",
    }
)
_SFT_KEYS = ("ulysses_sequence_parallel_size", "use_remove_padding")
_SFT_SECTIONS = frozenset({"data", "model", "optim", "trainer"})

_SFT_FIELDS: Fields = {
    "data": {
        "train_files": ("data.paths", texts),
        "train_batch_size": ("batch.global_batch_size", integer_text),
        "micro_batch_size_per_gpu": ("batch.micro_batch_size", integer_text),
        "max_length": ("batch.sequence_length", integer_text),
    },
    "model": {
        "partial_pretrain": ("model.name_of_model", text),
        "path": ("model.name_of_model", text),
        "trust_remote_code": ("security.trusts_remote_code", boolean),
        "use_liger": ("kernels.fused_normalization", boolean),
    },
    "optim": {
        "lr": ("optimizer.learning_rate", number),
        "weight_decay": ("optimizer.weight_decay", number),
        "clip_grad": ("optimizer.clip_norm", number),
        "warmup_steps_ratio": ("optimizer.warmup_ratio", number),
        "lr_warmup_steps_ratio": ("optimizer.warmup_ratio", number),
        "lr_scheduler": ("optimizer.schedule", lower_text),
        "lr_scheduler_type": ("optimizer.schedule", lower_text),
    },
    "ulysses_sequence_parallel_size": ("parallelism.ulysses_size", count),
    "trainer": {
        "total_epochs": ("run.epochs", number),
        "total_training_steps": ("run.steps", integer_text),
        "default_local_dir": ("checkpoint.directory", text),
        "seed": ("run.seed", integer_text),
    },
}
_SFT_ENGINES = {"fsdp": "fsdp1", "fsdp2": "fsdp2"}
_SFT_TRAINER = fixed_defaults(
    "verl's trainer of SFT runs FSDP and nothing else",
    {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.sharding_stage": 3,
        "run.uses_torch": True,
        "precision.compute_dtype": "bf16",
    },
)


def detect(document: Document) -> float:
    """By `actor_rollout_ref` and a section beside it, or the sections of SFT."""
    data = section(document.data)
    if isinstance(data.get(_OWN), dict):
        companions = sum(key in data for key in _COMPANIONS)
        return min(0.95, 0.6 + 0.1 * companions)
    if not _SFT_SECTIONS.issubset(data) or _SFT_KEYS[0] not in data:
        return 0.0
    return 0.9 if "partial_pretrain" in section(data, "model") else 0.4


def read(document: Document) -> Reading:
    """What the configuration states, with what it inherits from verl's own."""
    sheet = FactSheet.of(document)
    data = section(document.data)
    sheet.derive("run.framework", "verl", "verl's sections", ())
    if _OWN in data:
        sheet.derive("run.role", "rl", "verl's reinforcement learning", (_OWN,))
        state_training(sheet, data, _backend(data))
    else:
        _fine_tuning(sheet, data)
    return Reading(sheet, keyed_file(document, _FORMAT, keys_of_format(_FORMAT)))


def _backend(data: Mapping[str, object]) -> str:
    """The back end of the configuration of verl that the defaults list names.

    Where verl has one configuration for all back ends, `model_engine` chooses.
    """
    inherited = _inherited_backend(data)
    engine = data.get("model_engine")
    if not inherited or engine is None:
        return inherited
    return _MODEL_ENGINES.get(str(engine), "")


def _inherited_backend(data: Mapping[str, object]) -> str:
    for entry in items(data.get("defaults")):
        names = [entry] if isinstance(entry, str) else [*section(entry).values()]
        for name in names:
            backend = _INSTALLED.get(_base(str(name)))
            if backend is not None:
                return backend
    return ""


def _parents(document: Document) -> tuple[Parent, ...]:
    """Files of verl itself may lie elsewhere: nothing is missing without them."""
    return tuple(
        one._replace(is_optional=True) if _is_installed(_base(one.target)) else one
        for one in hydra_parents(document)
    )


def _is_installed(name: str) -> bool:
    return name in _INSTALLED or name in _INSTALLED_GROUPS


def _base(target: str) -> str:
    return target.rpartition("/")[2].removesuffix(".yaml")


def _fine_tuning(sheet: FactSheet, data: Mapping[str, object]) -> None:
    """SFT runs under torchrun, which alone decides on nodes and GPUs."""
    apply(sheet, data, _SFT_FIELDS)
    model = section(data, "model")
    betas = section(data, "optim").get("betas")
    leaves = ("optimizer.beta1", "optimizer.beta2")
    put_numbers(sheet, leaves, betas, ("optim", "betas"))
    strategy = model.get("strategy")
    if isinstance(strategy, str) and strategy.lower() in _SFT_ENGINES:
        engine = _SFT_ENGINES[strategy.lower()]
        at = ("model", "strategy")
        sheet.derive("parallelism.engine", engine, f"strategy: {strategy}", at)
    rank = integer_text(model.get("lora_rank"))
    if isinstance(rank, int):
        adapter, role = ("lora", "lora") if rank > 0 else ("none", "sft")
        at = ("model", "lora_rank")
        sheet.derive("model.adapter", adapter, f"rank {rank}", at)
        sheet.derive("run.role", role, "verl's trainer of SFT", at)
    else:
        sheet.derive("run.role", "sft", "verl's trainer of SFT", ("model",))
    recompute = boolean(model.get("enable_gradient_checkpointing"))
    if isinstance(recompute, bool):
        mode = "full" if recompute else "none"
        at = ("model", "enable_gradient_checkpointing")
        sheet.state("memory.recompute_mode", mode, at)
    offload = boolean(section(model, "fsdp_config").get("offload_params"))
    if isinstance(offload, bool):
        state_offload(sheet, ("model", "fsdp_config", "offload_params"), is_on=offload)
    trainer = section(data, "trainer")
    state_trainer(sheet, trainer)
    state_contents(sheet, section(trainer, "checkpoint"), ("trainer", "checkpoint"))
    add_defaults(sheet, _SFT_TRAINER)


READER = Reader(
    _FORMAT,
    "config",
    detect,
    read,
    keys=(_OWN, *_SFT_KEYS),
    interpolates=True,
    parents=_parents,
)
