"""Training ports on adapters of different boards.

Why it hurts: it need not. Boards of one speed differ in firmware, offloads and faults;
after a repair the odd one is worth knowing.

What passes: one board id over all training ports.

Where it does not apply: nodes with one training port; EFA, whose devices tell none.

Source: leptonai/gpud PR 943.

Bad::

    cat /sys/class/infiniband/*/board_id    # MT_0000000838 seven times, MT_0000000834

Good::

    cat /sys/class/infiniband/*/board_id    # MT_0000000838 eight times
"""

from collections import Counter

from speccheck.rules.fabric._rails import EFA, rails
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.rdma import RdmaDevices, RdmaPorts
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="FAB-040")
def adapter_boards_differ(
    ports: RdmaPorts, devices: RdmaDevices, cluster: Cluster, environment: Environment
) -> Verdicts:
    """Compare the board ids of the devices of the training ports."""
    trained = rails(ports, cluster, environment)
    names = {
        rdma_port.device.need()
        for rdma_port in trained
        if rdma_port.link_layer.need() != EFA
    }
    if len(names) <= 1:
        return
    each = [
        rdma_device
        for rdma_device in devices.each()
        if rdma_device.name.need() in names
    ]
    boards = Counter(rdma_device.board_id.need() for rdma_device in each)
    at = [rdma_device.board_id for rdma_device in each]
    if len(boards) <= 1:
        if len(each) == len(names):
            yield passed(at=at, measured=len(boards), required=1)
        return
    (usual, _), *_ = boards.most_common()
    odd = [rdma_device for rdma_device in each if rdma_device.board_id.value != usual]
    text = ", ".join(
        f"{rdma_device.title} is {rdma_device.board_id.value}" for rdma_device in odd
    )
    yield fail(
        f"{text}; {boards[usual]} of {len(each)} are {usual}",
        at=[rdma_device.board_id for rdma_device in odd],
        measured=len(boards),
        required=1,
        remedy="Note it; use adapters of one board where they are replaced anyway.",
        action="MONITOR",
    )
