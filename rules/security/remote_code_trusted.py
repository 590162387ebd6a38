"""Code of a model repository that is run on loading.

Why it hurts: trust_remote_code downloads Python from the repository of the model and
runs it with the rights of the job. A changed repository then runs on the cluster.

What passes: the switch is off, as most architectures allow today.

Where it does not apply: the plan does not say.

Source: huggingface/transformers auto_factory.py.

Bad::

    trust_remote_code: true

Good::

    trust_remote_code: false
"""

from speccheck.validator.evidence.plan import Security
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="SEC-005", confidence="advisory", about=("security.trusts_remote_code",))
def remote_code_trusted(security: Security) -> Verdicts:
    """Judge trust_remote_code."""
    trusted = security.trusts_remote_code
    if not trusted.is_known:
        return
    if not trusted.need():
        yield passed(at=trusted)
        return
    yield fail(
        "code from the repository of the model runs on loading",
        at=trusted,
        measured="on",
        required="off",
        cost="a changed repository runs its code with the rights of the job",
        remedy="Remove trust_remote_code, or pin the revision of the repository.",
    )
