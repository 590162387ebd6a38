"""`--what-if tp=4,nodes=16`: what a user wrote, as facts about the plan."""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.evidence.framework_keys import parse_version
from speccheck.validator.evidence.plan import leaf_names
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place
from speccheck.validator.sources.context import (
    COMMAND_LINE,
    fabric_facts,
    gpu_facts,
    instance_facts,
)
from speccheck.validator.sources.formats.native import RefusedValue, value_of_text
from speccheck.validator.sources.reader import Fact, FactSheet

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
    """Return the leaf that a name means; raises WhatIfError with the nearest name."""
    name = written.strip().lower().replace("-", "_")
    leaves = leaf_names()
    if name in SHORT_NAMES:
        return SHORT_NAMES[name]
    if name in leaves:
        return name
    fields = [leaf for leaf in leaves if leaf.partition(".")[2] == name]
    close = fields[0] if len(fields) == 1 else _nearest(name, leaves)
    hint = f"did you mean {close}?" if close else "speccheck help what-if lists them"
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
    """Return the short names with their leaves, for `speccheck help what-if`."""
    lines = ["\nNames for --what-if (or any section.field of the plan):"]
    lines += [f"  {name:<26} {leaf}" for name, leaf in SHORT_NAMES.items()]
    return "\n".join(lines)


FLAG = "--what-if"
_HARDWARE = {
    "cluster.accelerator": gpu_facts,
    "cluster.instance_type": instance_facts,
    "cluster.fabric": fabric_facts,
}


class Assignment(Record):
    """One leaf that is set: as written, and all facts that follow from it alone."""

    text: str
    leaf: str
    facts: tuple[Fact, ...]


def assignments(texts: Sequence[str]) -> tuple[Assignment, ...]:
    """Return what all `--what-if` options set; raises WhatIfError."""
    result: dict[str, Assignment] = {}
    for text in _split(texts):
        assignment = _assignment(text)
        known = result.get(assignment.leaf)
        if known is not None and known.facts[0].value != assignment.facts[0].value:
            message = f"{FLAG} {assignment.text}: {known.text} is set as well"
            raise WhatIfError(message)
        result[assignment.leaf] = assignment
    return tuple(result.values())


def _split(texts: Iterable[str]) -> Iterator[str]:
    """Yield single assignments; a comma without one after it belongs to the value."""
    for text in texts:
        parts: list[str] = []
        for part in text.split(","):
            if parts and "=" not in part:
                parts[-1] += f",{part}"
            else:
                parts.append(part)
        yield from parts


def _assignment(text: str) -> Assignment:
    name, equal, value = (part.strip() for part in text.partition("="))
    if not equal or not name or not value:
        message = f"{FLAG} {text}: write NAME=VALUE, such as tp=4 or nodes=16"
        raise WhatIfError(message)
    leaf = leaf_of(name)
    written = f"{name}={value}"
    return Assignment(written, leaf, _facts(leaf, value, written))


def set_leaf(leaf: str, value: object, text: str) -> Assignment:
    """Return an assignment of a value that is typed already."""
    return Assignment(text, leaf, (Fact(leaf, value, "stated", (_place(text),)),))


def _facts(leaf: str, value: str, written: str) -> tuple[Fact, ...]:
    place = _place(written)
    sheet = FactSheet(COMMAND_LINE)
    hardware = _HARDWARE.get(leaf)
    try:
        if hardware is not None:
            hardware(sheet, value, place)
        elif leaf == "run.framework_version":
            _state_version(sheet, value, place)
        else:
            _state(sheet, leaf, value, place)
    except (UnknownName, ValueError) as error:
        message = f"{FLAG} {written}: {error}"
        raise WhatIfError(message) from error
    return tuple(sheet.facts)


def _place(written: str) -> Place:
    return Place(COMMAND_LINE, f"{FLAG} {written}")


def _state(sheet: FactSheet, leaf: str, value: str, place: Place) -> None:
    result = value_of_text(leaf, value)
    if isinstance(result, RefusedValue):
        message = f"{result.loaded} is not {result.expected}"
        raise ValueError(message)  # noqa: TRY004 - the text, not its type, is wrong
    sheet.state(leaf, result, place)


def _state_version(sheet: FactSheet, value: str, place: Place) -> None:
    version = parse_version(value)
    sheet.state("run.framework_version", value, place)
    if version.framework:
        sheet.derive("run.framework", version.framework, value, place)
