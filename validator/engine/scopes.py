"""Which live evidence is at hand, in the words of the edition."""

from speccheck.validator.rule import Scope

# What a snapshot of a machine gives.
_OF_NODES = (
    "node.gpus",
    "node.nvlink",
    "node.pcie",
    "node.fabric",
    "node.driver",
    "node.health",
    "node.system",
    "node.nccl_env",
)


# Asked for by themselves, after all plans and after all nodes.
OF_WAIVERS: tuple[Scope, ...] = ("waiver",)
OF_FLEETS: tuple[Scope, ...] = ("fleet",)
_CERTIFIED: tuple[Scope, ...] = ("node", "environment", "measurement", "fleet")


def asked_of(
    use: str, scopes: tuple[Scope, ...], measured: tuple[str, ...]
) -> tuple[tuple[Scope, ...], tuple[str, ...]]:
    """The scopes of the rules to run, and the live evidence that they ask for.

    A certificate asks for machine and measurements whether they are at hand or not:
    what is missing is unknown, and never left out.
    """
    if use != "certify" or scopes in {OF_WAIVERS, OF_FLEETS}:
        return scopes, at_hand_of(scopes, measured)
    from speccheck.validator.evidence.node.node import MEASURED  # noqa: PLC0415

    wide: tuple[Scope, ...] = (*scopes, *(o for o in _CERTIFIED if o not in scopes))
    return wide, (*at_hand_of(wide, tuple(MEASURED)), "report")


def at_hand_of(scopes: tuple[Scope, ...], measured: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of live evidence of a plan.

    Args:
        scopes: of the rules that can judge it.
        measured: the kinds of measurements that it has.

    """
    found: dict[str, None] = dict.fromkeys(_OF_NODES if "node" in scopes else ())
    if scopes == OF_WAIVERS:
        found["waivers"] = None
    if "fleet" in scopes:
        found["fleet"] = None
    if measured:
        # Seldom, and the module knows all parts of a node.
        from speccheck.validator.evidence.node.node import MEASURED  # noqa: PLC0415

        found.update(dict.fromkeys(one for kind in measured for one in MEASURED[kind]))
    return (*found,)
