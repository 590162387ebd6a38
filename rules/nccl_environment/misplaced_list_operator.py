"""A list of interfaces or cards whose operators stand in the wrong place.

Why it hurts: ^ (exclude) and = (exact names) count only at the start of the whole list,
in that order. Anywhere else they become part of a name that nothing matches.

What passes: a, b; ^a,b; =a,b; ^=a,b.

Where it does not apply: the variables are not set.

Source: NVIDIA/nccl src/transport/net_ib and src/misc/socket.cc; nccl-tests issue 150.

Bad::

    NCCL_IB_HCA=^mlx5_2,^mlx5_3

Good::

    NCCL_IB_HCA=^mlx5_2,mlx5_3
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import variable_set
from speccheck.validator.rule import Verdicts, fail, passed, rule

_LISTS = ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME")


@rule(clause="CONF-010", about=_LISTS)
def misplaced_list_operator(environment: Environment) -> Verdicts:
    """Judge where ^ and = stand in a list."""
    for name in _LISTS:
        variable = environment.find(name)
        if variable is None or not variable.value:
            continue
        text = variable.value.strip()
        body = text.removeprefix("^").removeprefix("=")
        if not ("^" in body or "=" in body):
            yield passed(at=variable.place)
            continue
        plain = body.replace("^", "").replace("=", "")
        prefix = "^" if text.startswith(("^", "=^")) else ""
        prefix += "=" if text.startswith(("=", "^=")) else ""
        yield fail(
            f"{name}={text}: ^ and = count only at the start of the list, ^ first",
            at=variable.place,
            measured=text,
            required=prefix + plain,
            cost="an interface that was meant to be left out is used, or none is",
            remedy=f"Write {name}={prefix}{plain}.",
            # A list that begins with neither may mix what is meant and what is not.
            fix=variable_set(variable, prefix + plain) if prefix else None,
        )
