"""Asynchronous saving asked for, and switched off by Megatron-LM itself.

Why it hurts: Megatron-LM prints one warning and saves in the foreground, so that every
save blocks training although the script says otherwise.

What passes: --async-save together with --use-persistent-ckpt-worker.

Where it does not apply: other frameworks; releases without the second flag.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args, main branch of
2026); an example script of that repository combines them wrongly.

Bad::

    --async-save

Good::

    --async-save --use-persistent-ckpt-worker
"""

from speccheck.validator.evidence.mending import flag_added
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FLAG = "--async-save"
_WORKER = "--use-persistent-ckpt-worker"


@rule(clause="CONF-011", confidence="advisory")
def asynchronous_save_ineffective(stated: StatedKeys) -> Verdicts:
    """Judge the two flags of one command line."""
    for file in stated.files:
        if file.format != "megatron-cli" or file.catalogue is None:
            continue
        places = {str(key.path[0]): key.place for key in file.keys}
        if _FLAG not in places:
            continue
        if _WORKER in places:
            yield passed(at=[places[_FLAG], places[_WORKER]])
            continue
        if file.catalogue.too_new((_WORKER,), file.version):
            continue
        yield fail(
            "--async-save is switched off again: Megatron-LM saves in the background "
            "only with --use-persistent-ckpt-worker",
            at=places[_FLAG],
            measured="off",
            required=_WORKER,
            cost="every save blocks training",
            remedy="Add --use-persistent-ckpt-worker.",
            fix=flag_added(places[_FLAG], _WORKER),
        )
