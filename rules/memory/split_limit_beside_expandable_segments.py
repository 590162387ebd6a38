"""A limit on splitting blocks beside expandable segments.

Why it hurts: an expandable segment is as large as the GPU and is always split, so
max_split_size_mb says nothing of it. Older releases of PyTorch could end in a failed
assertion; others ignore the limit.

What passes: one of the two.

Where it does not apply: neither is set.

Source: pytorch issue 119452 and pull request 120022, by the author of the allocator.

Bad::

    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:512

Good::

    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import variable_set
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_EXPANDABLE, _LIMIT = "expandable_segments:True", "max_split_size_mb"


@rule(clause="CONF-011", about=_NAMES)
def split_limit_beside_expandable_segments(environment: Environment) -> Verdicts:
    """Judge each of the two variables that is set."""
    for name in _NAMES:
        variable = environment.find(name)
        if variable is None or not variable.value:
            continue
        words = variable.value.replace(" ", "").split(",")
        limits = [word for word in words if word.startswith(_LIMIT)]
        if _EXPANDABLE in words and limits:
            yield fail(
                f"{limits[0]} stands beside {_EXPANDABLE}, which has no use for it",
                at=variable.place,
                measured=limits[0],
                required="one of the two",
                cost="the limit is ignored; older releases may stop on an assertion",
                remedy=f"Remove {_LIMIT}.",
                fix=variable_set(
                    variable,
                    ",".join(word for word in words if word not in limits),
                ),
            )
        elif _EXPANDABLE in words or limits:
            yield passed(at=variable.place)
