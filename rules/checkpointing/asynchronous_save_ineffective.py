"""Asynchronous saving asked for, and switched off by Megatron-LM itself.

Why it hurts: Megatron-LM prints one warning and saves in the foreground, so that every
save blocks training although the script says otherwise.

What passes: --async-save together with --use-persistent-ckpt-worker.

Where it does not apply: other frameworks; releases before core_v0.16.0, which save in
the background without the second flag. A job that neither states its release nor has a
flag of a later one is left open.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args at core_v0.15.3
and at core_v0.16.0); an example script of that repository combines them wrongly.

Bad::

    --async-save

Good::

    --async-save --use-persistent-ckpt-worker
"""

from speccheck.validator.evidence.framework_keys import FrameworkKeys, parse_version
from speccheck.validator.evidence.mending import flag_added
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_FLAG = "--async-save"
_WORKER = "--use-persistent-ckpt-worker"
_SINCE = "core_v0.16.0"


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
        needs_worker = _needs_worker(file, file.catalogue)
        if needs_worker is None:
            yield unknown(
                f"from {_SINCE} on --async-save is switched off without {_WORKER}; "
                "which release the job runs on is not stated",
                missing=["run.framework_version"],
                at=places[_FLAG],
            )
        if not needs_worker:
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


def _needs_worker(file: KeyedFile, table: FrameworkKeys) -> bool | None:
    """Return whether the release asks for the second flag; None if not known."""
    since = parse_version(_SINCE)
    if file.version is not None:
        if file.version.surely_before(since):
            return False
        return True if file.version.at_least(since) else None
    rows = (table.lookup(key.path) for key in file.keys)
    starts = (parse_version(row.since) for row in rows if row and row.since)
    return True if any(start.at_least(since) for start in starts) else None
