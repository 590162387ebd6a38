"""Adapters of one type with different firmware.

Why it hurts: releases differ in congestion control and in faults; the slower half is
hard to find afterwards.

What passes: one firmware release on all adapters of the same board.

Where it does not apply: boards of which the node has one; EFA, whose firmware is the
provider's.

Source: facebookresearch/gcm, check of InfiniBand firmware.

Bad::

    mlx5_0 28.39.1002    mlx5_3 28.36.1010

Good::

    mlx5_0 28.39.1002    mlx5_3 28.39.1002
"""

from speccheck.validator.evidence.node.rdma import RdmaDevice, RdmaDevices
from speccheck.validator.rule import Verdicts, fail, passed, rule

_EFA = "efa"


@rule(clause="FAB-022")
def adapter_firmware_differs(devices: RdmaDevices) -> Verdicts:
    """Compare the firmware of the adapters of each board."""
    boards: dict[str, list[RdmaDevice]] = {}
    for one in devices.each():
        if one.driver.need() != _EFA and one.board_id.status != "absent":
            boards.setdefault(one.board_id.need(), []).append(one)
    for board, group in boards.items():
        if len(group) == 1:
            continue
        versions: dict[str, list[RdmaDevice]] = {}
        for one in group:
            versions.setdefault(one.firmware_version.need(), []).append(one)
        common, *others = sorted(versions, key=lambda name: -len(versions[name]))
        if not others:
            yield passed(at=[one.firmware_version for one in group], measured=common)
            continue
        odd = [one for name in others for one in versions[name]]
        yield fail(
            f"adapters of board {board} run {len(versions)} releases of firmware: "
            f"{len(versions[common])} have {common}, "
            + ", ".join(f"{one.title} {one.firmware_version.value}" for one in odd),
            at=[one.firmware_version for one in odd],
            measured=len(versions),
            required=1,
            cost="rails behave differently under load",
            remedy=f"Bring {', '.join(one.title for one in odd)} to {common} "
            "(mlxfwmanager, then mlxfwreset in a maintenance window).",
            action="SUPPORT",
        )
