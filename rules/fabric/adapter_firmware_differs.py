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
    for rdma_device in devices.each():
        if (
            rdma_device.driver.need() != _EFA
            and rdma_device.board_id.status != "absent"
        ):
            boards.setdefault(rdma_device.board_id.need(), []).append(rdma_device)
    for board, group in boards.items():
        if len(group) == 1:
            continue
        versions: dict[str, list[RdmaDevice]] = {}
        for rdma_device in group:
            versions.setdefault(rdma_device.firmware_version.need(), []).append(
                rdma_device
            )
        common, *others = sorted(versions, key=lambda name: -len(versions[name]))
        if not others:
            yield passed(
                at=[rdma_device.firmware_version for rdma_device in group],
                measured=common,
            )
            continue
        odd = [rdma_device for name in others for rdma_device in versions[name]]
        yield fail(
            f"adapters of board {board} run {len(versions)} releases of firmware: "
            f"{len(versions[common])} have {common}, "
            + ", ".join(
                f"{rdma_device.title} {rdma_device.firmware_version.value}"
                for rdma_device in odd
            ),
            at=[rdma_device.firmware_version for rdma_device in odd],
            measured=len(versions),
            required=1,
            cost="rails behave differently under load",
            remedy=f"Bring {', '.join(rdma_device.title for rdma_device in odd)} "
            f"to {common} "
            "(mlxfwmanager, then mlxfwreset in a maintenance window).",
            action="SUPPORT",
        )
