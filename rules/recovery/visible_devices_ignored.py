"""A list of visible devices that the deepspeed launcher ignores.

Why it hurts: with --num_gpus, deepspeed deletes CUDA_VISIBLE_DEVICES and takes the
first GPUs of the node: those of somebody else, or those that were meant to stay free.

What passes: the list without such an option; --include localhost:2,3.

Where it does not apply: other launchers; no list.

Source: deepspeed/launcher/runner.py (main: "ignoring it because one or several of
--include/--exclude/--num_gpus/--num_nodes cl args were used"); DeepSpeed issue 662.

Bad::

    CUDA_VISIBLE_DEVICES=2,3 deepspeed --num_gpus 2 train.py

Good::

    deepspeed --include localhost:2,3 train.py
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.launch import Launches
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NAME = "CUDA_VISIBLE_DEVICES"


@rule(clause="CONF-011", about=(_NAME,))
def visible_devices_ignored(environment: Environment, account: Launches) -> Verdicts:
    """Judge the list of devices of each launch by deepspeed."""
    variable = environment.stated(_NAME)
    if variable is None or not variable.value:
        return
    for launch in account.launches:
        if launch.launcher.value != "deepspeed":
            continue
        processes = launch.processes
        if not processes.is_known:
            yield passed(at=[variable.place, *launch.launcher.places])
            continue
        flag = processes.places[0].key
        yield fail(
            f"deepspeed deletes {_NAME}={variable.value} where {flag} is given, and "
            f"takes the first {processes.need()} GPUs of the node",
            at=[variable.place, *processes.places],
            measured=variable.value,
            required=f"no {flag}",
            cost="the run uses other GPUs than the list says",
            remedy=f"Give deepspeed --include localhost:{variable.value} instead of "
            f"{flag}.",
        )
