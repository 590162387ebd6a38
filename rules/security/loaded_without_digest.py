"""Shards and checkpoints that are loaded without a digest.

Why it hurts: a flipped bit of a store, or a replaced file, is trained on or restored as
if nothing had happened, and shows weeks later as a loss that nobody can explain.

What passes: the digest of the clause, verified when a file is loaded.

Where it does not apply: nothing is said of digests. No training framework has a key
for it; the native format states it.

Source: engineering practice; torch.distributed.checkpoint verifies none by itself.

Bad::

    security: {verified_digest: none}

Good::

    security: {verified_digest: sha256}
"""

from speccheck.validator.evidence.plan import Security
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Digest(Numbers):
    """The digest that is asked for."""

    digest: str


@rule(clause="SEC-004", about=("security.verified_digest",))
def loaded_without_digest(security: Security, digest: Digest) -> Verdicts:
    """Judge the digest that is verified on load."""
    value = security.verified_digest
    if not value.is_known:
        return
    if value.need() == digest.digest:
        yield passed(at=value, measured=value.need())
        return
    yield fail(
        f"shards and checkpoints are verified by {value.need()} when they are loaded",
        at=value,
        measured=value.need(),
        required=digest.digest,
        cost="corrupt or replaced files are trained on and restored",
    )
