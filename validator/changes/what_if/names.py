"""The short names of `--what-if`, and what each of them sets."""

from speccheck.validator.evidence.plan import leaf_names

# In the order of --help; docs/what-if.md shows the same table, and a test holds it.
SHORT_NAMES: dict[str, str] = {
    "nodes": "cluster.nodes",
    "gpus_per_node": "cluster.gpus_per_node",
    "gpus": "cluster.world_size",
    "gpu": "cluster.accelerator",
    "instance": "cluster.instance_type",
    "fabric": "cluster.fabric",
    "nvlink_domain": "cluster.nvlink_domain_size",
    "mtbf_hours": "cluster.job_mtbf_hours",
    "tp": "parallelism.tensor_parallel_size",
    "pp": "parallelism.pipeline_parallel_size",
    "vpp": "parallelism.virtual_stages",
    "cp": "parallelism.context_parallel_size",
    "ulysses": "parallelism.ulysses_size",
    "ep": "parallelism.expert_parallel_size",
    "etp": "parallelism.expert_tensor_parallel_size",
    "dp": "parallelism.data_parallel_size",
    "sp": "parallelism.sequence_parallel",
    "zero": "parallelism.sharding_stage",
    "shards": "parallelism.shard_size",
    "replicas": "parallelism.replicate_size",
    "micro_batch": "batch.micro_batch_size",
    "grad_accum": "batch.gradient_accumulation_steps",
    "global_batch": "batch.global_batch_size",
    "sequence": "batch.sequence_length",
    "precision": "precision.compute_dtype",
    "recompute": "memory.recompute_mode",
    "offload_optimizer": "memory.optimizer_offload_device",
    "offload_parameters": "memory.parameter_offload_device",
    "attention": "kernels.attention_backend",
    "optimizer": "optimizer.name_of_optimizer",
    "interval": "checkpoint.interval_steps",
    "interval_seconds": "checkpoint.interval_seconds",
    "save_seconds": "checkpoint.save_seconds",
    "async_save": "checkpoint.asynchronous",
    "parameters": "model.parameters",
    "layers": "model.layers",
    "role": "run.role",
    "steps": "run.steps",
    "hours": "run.hours",
    "step_seconds": "run.step_seconds",
    "framework_version": "run.framework_version",
    "nccl": "run.nccl_version",
}


class WhatIfError(Exception):
    """`--what-if` names no value of the plan, or gives one that it cannot have."""


def leaf_of(written: str) -> str:
    """The leaf that a name means; raises WhatIfError with the nearest known name."""
    name = written.strip().lower().replace("-", "_")
    leaves = leaf_names()
    if name in SHORT_NAMES:
        return SHORT_NAMES[name]
    if name in leaves:
        return name
    fields = [leaf for leaf in leaves if leaf.partition(".")[2] == name]
    close = fields[0] if len(fields) == 1 else _nearest(name, leaves)
    hint = f"did you mean {close}?" if close else "speccheck --help lists the names"
    message = f"--what-if {written}: no such value of a plan; {hint}"
    raise WhatIfError(message)


def _nearest(name: str, leaves: tuple[str, ...]) -> str | None:
    from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

    short = nearest(name, SHORT_NAMES)
    if short is not None:
        return short
    fields = {leaf.partition(".")[2]: leaf for leaf in leaves}
    return nearest(name, leaves) or fields.get(nearest(name, fields) or "")


def names_help() -> str:
    """The short names with their leaves, for --help."""
    lines = ["\nNames for --what-if (or any section.field of the plan):"]
    lines += [f"  {name:<26} {leaf}" for name, leaf in SHORT_NAMES.items()]
    return "\n".join(lines)
