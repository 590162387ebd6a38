"""accelerate launch on several nodes without a configuration file.

Why it hurts: accelerate then reads the file that `accelerate config` once wrote into
the cache of the user's account. A leftover of another project switches FSDP or
DeepSpeed on, and the next user of the script gets something else.

What passes: --config_file.

Where it does not apply: one node; scripts whose launch options stand in a variable.

Source: huggingface/accelerate commands/launch.py (default_config_file); axolotl issue
394.

Bad::

    accelerate launch --num_machines 4 train.py

Good::

    accelerate launch --config_file fsdp.yaml --num_machines 4 train.py
"""

from speccheck.validator.evidence.plan import Recovery
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-040", confidence="advisory", about=("recovery.launcher",))
def launch_without_configuration_file(
    recovery: Recovery, stated: StatedKeys
) -> Verdicts:
    """Judge whether accelerate is given its file."""
    launcher, named = recovery.launcher, recovery.launch_configuration
    if launcher.value != "accelerate":
        return
    if named.is_known or any(file.format == "accelerate" for file in stated.files):
        yield passed(at=[named, launcher])
        return
    if named.status != "unknown" or named.note:
        return
    yield fail(
        "accelerate launch names no --config_file: the one in the cache of the user's "
        "account decides",
        at=launcher,
        measured="none",
        required="--config_file",
        cost="a leftover of another project may switch FSDP or DeepSpeed on",
        remedy="Pass --config_file.",
    )
