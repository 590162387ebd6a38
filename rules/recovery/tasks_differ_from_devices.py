"""Slurm tasks on a node that differ from the devices of Lightning.

Why it hurts: under Slurm, Lightning takes each task for one rank. It compares the tasks
of a node with its devices and stops with an error; older releases wait for ranks that
never come.

What passes: as many tasks on a node as trainer.devices.

Where it does not apply: other frameworks; a launcher such as torchrun, which starts the
ranks itself; tasks that are not stated.

Source: lightning fabric/plugins/environments/slurm.py (validate_settings); Lightning
issues 8707, 10098, 6206.

Bad::

    #SBATCH --ntasks-per-node=1       # trainer.devices: 8

Good::

    #SBATCH --ntasks-per-node=8       # trainer.devices: 8
"""

from speccheck.validator.evidence.finding import to_set
from speccheck.validator.evidence.mending import combined
from speccheck.validator.evidence.plan import Recovery
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_TASKS = "--ntasks-per-node"


@rule(clause="COMM-017", frameworks=("nemo1",), about=("recovery.tasks_per_node",))
def tasks_differ_from_devices(recovery: Recovery, stated: StatedKeys) -> Verdicts:
    """Judge tasks on a node = trainer.devices."""
    tasks = recovery.tasks_per_node
    if tasks.status != "stated" or recovery.launcher.is_known:
        return
    if any(place.key != _TASKS for place in tasks.places):
        return
    for file in stated.files:
        devices = _devices(file)
        if devices is None or not isinstance(devices.value, int):
            continue
        at = [tasks.places[0], devices.place]
        if devices.value == tasks.need():
            yield passed(at=at, measured=tasks.need(), required=devices.value)
            continue
        yield fail(
            f"{_TASKS} is {tasks.need()} and trainer.devices is {devices.value}: each "
            f"task is one rank of Lightning",
            at=at,
            measured=tasks.need(),
            required=devices.value,
            cost="Lightning stops at start-up, after the allocation is granted",
            remedy=f"Set {_TASKS}={devices.value}.",
            fix=combined(
                f"set {_TASKS}={devices.value}",
                [to_set(tasks.places[0], devices.value)],
            )
            if len(tasks.places) == 1
            else None,
        )


def _devices(file: KeyedFile) -> StatedKey | None:
    """Return the devices of Lightning's trainer, where a file of NeMo states them."""
    if not file.format.startswith("nemo1"):
        return None
    paths = (("trainer", "devices"), ("training", "trainer", "devices"))
    return next((key for key in file.keys if key.path in paths), None)
