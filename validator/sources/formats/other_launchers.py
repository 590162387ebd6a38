"""Launches by composer, colossalai and xtuner in scripts, and by python alone.

What they state is that of their account: options of the first two, variables of the
last. Each starts one process for each GPU of a node. Of python nothing follows: the
program may start processes itself.

Sources: composer cli/launcher.py; ColossalAI colossalai/cli/launcher; xtuner
entry_point.py (NNODES, NPROC_PER_NODE, NODE_RANK, ADDR, PORT).
"""

from functools import partial

from speccheck.validator.evidence.launch import Launch
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import Value
from speccheck.validator.sources.launch_account import launch_accounts
from speccheck.validator.sources.launching import references
from speccheck.validator.sources.reader import (
    Fact,
    FactSheet,
    Reading,
    ScriptReader,
    Source,
)

# Formats by their launchers; `xtuner` alone is the format of its configurations.
_FORMATS = {
    "colossalai": "colossalai",
    "composer": "composer",
    "xtuner": "xtuner-launch",
}
# What its name says that it trains; `train.py`, not `prepare_training_data.py`.
_TRAINS = lazy_pattern(
    r"(?:pre)?train|fine_?tune|sft|dpo|grpo|ppo|run_(?:clm|mlm|pretraining)|"
    r"(?:\w+_)?(?:pretrain|train|finetune|sft|dpo|grpo|ppo)(?:_\w+)?"
)
_NO_TRAINING = ("convert", "data", "eval", "export", "infer", "plot", "prepare", "test")


def _detect(name: str, source: Source) -> float:
    """Recognise it by a launch of this name."""
    if name not in source.text:
        return 0.0
    return 0.7 if _launches(name, source) else 0.0


def _launches(name: str, source: Source) -> list[Launch]:
    accounts = launch_accounts(source)
    return [launch for launch in accounts if launch.launcher.value == name]


def _read(name: str, source: Source) -> Reading:
    """Return nodes, processes and where they meet, of a launch that is alone."""
    sheet = FactSheet(source.name)
    launches = _launches(name, source)
    if len(launches) == 1:
        launch = launches[0]
        each = launch.processes_of_task
        note = f"{name} starts one process for each GPU"
        _put(sheet, "recovery.launcher", launch.launcher)
        _put(sheet, "cluster.nodes", launch.nodes)
        _put(sheet, "cluster.world_size", launch.world)
        _put(sheet, "recovery.processes_per_node", each)
        _put(sheet, "recovery.rendezvous_endpoint", launch.rendezvous.address)
        if each.is_known and launch.spreader.value in {None, "ssh"}:
            places = each.places
            sheet.derive("cluster.gpus_per_node", each.value, note, *places)
    return Reading(sheet, references=references(source))


def _put(sheet: FactSheet, name: str, value: Value[int] | Value[str]) -> None:
    if value.is_known or value.places:
        fact = Fact(name, value.value, value.status, value.places, value.note)
        sheet.facts.append(fact)


def _detect_python(source: Source) -> float:
    """Recognise it by a program of Python that trains by its name."""
    return 0.5 if any(map(_trains, _launches(_PYTHON, source))) else 0.0


def _trains(launch: Launch) -> bool:
    path = launch.program[0] if launch.program else ""
    name = path.removesuffix(".py").replace(".", "/").rpartition("/")[2].lower()
    has_other_use = any(part in name for part in _NO_TRAINING)
    return _TRAINS.fullmatch(name) is not None and not has_other_use


def _read_python(source: Source) -> Reading:
    """Return the files that the program is given; python itself states nothing."""
    return Reading(FactSheet(source.name), references=references(source))


_PYTHON = "python"
_OF_LAUNCHERS = tuple(
    ScriptReader(
        format_id,
        "launcher",
        partial(_detect, name),
        partial(_read, name),
        words=(*_FORMATS,),
    )
    for name, format_id in _FORMATS.items()
)
READERS = (
    *_OF_LAUNCHERS,
    ScriptReader(
        "python-launch", "launcher", _detect_python, _read_python, words=(_PYTHON,)
    ),
)
