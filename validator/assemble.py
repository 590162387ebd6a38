"""From the readings of one plan's files to the evidence that rules see."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.framework_version import (
    FrameworkVersion,
    parse_version,
)
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import Conflicts, KeyedFile, StatedKeys
from speccheck.validator.evidence.training_plan import TrainingPlan
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.context import Context, context_facts
from speccheck.validator.sources.derive import derive
from speccheck.validator.sources.facts import Fact
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.merge import merge
from speccheck.validator.sources.reader import Reading
from speccheck.validator.spec.nccl_catalogue import nccl_variables


class PlanEvidence(Record):
    """All evidence of one plan, and the files it comes from."""

    files: tuple[ReadFile, ...]
    plan: TrainingPlan
    by_type: Mapping[type, object]


def assemble(files: Sequence[ReadFile], context: Context) -> PlanEvidence:
    """Merge the readings of files and the command line into one plan's evidence."""
    readings = [reading for file in files for reading in file.readings]
    facts = [*_facts(files), *context_facts(context).facts]
    leaves = derive(merge(facts))
    plan = TrainingPlan(leaves)
    by_type: dict[type, object] = {type(part): part for part in plan.sections()}
    by_type[TrainingPlan] = plan
    by_type[Environment] = _environment(files)
    by_type[StatedKeys] = StatedKeys(tuple(_keyed(readings, plan)))
    by_type[NcclVariables] = nccl_variables()
    by_type[Conflicts] = Conflicts(_conflicts(leaves))
    return PlanEvidence(tuple(files), plan, by_type)


def _facts(files: Sequence[ReadFile]) -> Iterator[Fact]:
    """What the files state, without what a command line that names one replaces."""
    replaced: dict[str, set[str]] = {}
    for file in files:
        for reading in file.readings:
            for one in reading.references:
                if one.replaces:
                    base = one.target.rpartition("/")[2]
                    replaced.setdefault(base, set()).update(one.replaces)
    for file in files:
        hidden = replaced.get(file.status.path.rpartition("/")[2], ())
        for reading in file.readings:
            for fact in reading.facts.facts:
                if fact.name not in hidden:
                    yield fact


def _keyed(readings: Sequence[Reading], plan: TrainingPlan) -> Iterator[KeyedFile]:
    """The keys of the files, with the framework version that the job states."""
    version = _version(plan.value("run.framework_version").value)
    for reading in readings:
        if reading.keyed is not None:
            yield reading.keyed._replace(version=version)


def _version(text: str | None) -> FrameworkVersion | None:
    """A version that cannot be read is not known; the command line refuses it."""
    try:
        return parse_version(text) if text else None
    except ValueError:
        return None


def _environment(files: Sequence[ReadFile]) -> Environment:
    last: dict[str, Variable] = {}
    # NCCL takes from its file only what the environment does not set (param.cc).
    for file in sorted(files, key=lambda one: one.format != "nccl-conf"):
        for reading in file.readings:
            last.update({one.name: one for one in reading.variables})
    names = tuple(file.status.path for file in files if _carries_environment(file))
    return Environment(tuple(last.values()), names)


def _carries_environment(file: ReadFile) -> bool:
    """A script or environment file, or another file that does set variables."""
    return file.source.language == "shell" or any(
        reading.variables for reading in file.readings
    )


def _conflicts(leaves: Mapping[str, Value[Any]]) -> tuple[Value[Any], ...]:
    return tuple(leaf for leaf in leaves.values() if leaf.status == "conflict")
