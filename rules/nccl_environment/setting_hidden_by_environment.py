"""A line of nccl.conf that another layer hides with another value.

Why it hurts: NCCL never replaces a variable that is set. The environment wins over the
file of the user, and that over /etc/nccl.conf, without a message: who edits the losing
line sees no change.

What passes: variables that stand in one layer only, or in several with one value.

Where it does not apply: plans without a nccl.conf, or with nothing beside it.

Source: NVIDIA/nccl src/misc/param.cc (initEnvFunc, setEnvFile).

Bad::

    nccl.conf: NCCL_IB_TC=41        and        job.sh: export NCCL_IB_TC=106

Good::

    nccl.conf: NCCL_IB_TC=106
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="CONF-062", about=("NCCL_*",))
def setting_hidden_by_environment(environment: Environment) -> Verdicts:
    """Judge each line of a nccl.conf against what wins over it."""
    conf_files = [name for name in environment.files if name.endswith(".conf")]
    if not conf_files or len(environment.files) == 1:
        return
    agreed, is_clean = [], True
    for hidden in environment.hidden:
        winner = environment.find(hidden.name)
        if winner is None or winner.value == hidden.value:
            agreed.append(hidden.place)
            continue
        is_clean = False
        at = [hidden.place, winner.place]
        if winner.value is None:
            message = f"{hidden.name} in {hidden.place.file} loses to an unknown value"
            yield unknown(message, missing=[hidden.name], at=at)
            continue
        yield fail(
            f"{hidden.name}={hidden.value} in {hidden.place.file} has no effect: "
            f"{winner.place.file} sets it to {winner.value}, which wins",
            at=at,
            measured=hidden.value,
            required=winner.value,
            cost="who edits the losing line sees no change",
            remedy="Delete the line that loses, or make both agree.",
        )
    if is_clean:
        yield passed(at=agreed)
