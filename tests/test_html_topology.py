"""The picture of a machine: what is joined to what, and what is odd, in words."""

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from hostile_files import BIDI, ESCAPES, HARMFUL, QUOTES, SCRIPT, STYLE_END
from html_reading import Page
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.node.machine_layout import MachineLayout, layout_of_node
from speccheck.validator.report.topology_svg import specimen_pictures, topology_html
from speccheck.validator.simulation.healthy import healthy_node
from speccheck.validator.sources.formats.snapshot import node_of

Snapshot = dict[str, Any]
UNTOLD = {"status": "error", "message": "the call failed"}


def node(profile: str = "dgx-h100") -> Snapshot:
    return copy.deepcopy(healthy_node(profile))


def made(content: Snapshot) -> Node:
    return node_of(content, "node.json")


def laid(content: Snapshot) -> MachineLayout:
    found = layout_of_node(made(content))
    assert found is not None
    return found


def drawn(content: Snapshot) -> tuple[str, list[str]]:
    """Return the markup, and the words of the drawing and of the list below it."""
    text = topology_html(laid(content))
    Page(f"<h1></h1>{text}")
    words = re.findall(r"<(?:text|li|figcaption)[^>]*>([^<]*)</", text)
    return text, words


def test_eight_gpus_stand_on_their_rails_above_nvswitches() -> None:
    text, words = drawn(node())
    shown = [word for word in words if word.startswith(("GPU ", "mlx5", "NUMA"))]
    assert [item for item in shown if item.startswith("GPU ")][:8] == [
        f"GPU {n}" for n in range(8)
    ]
    # The adapter of a rail stands above its GPU.
    assert shown[:6] == ["NUMA 0", "NUMA 1", "mlx5_0", "GPU 0", "mlx5_1", "GPU 1"]
    assert words.count("18 of 18") == 8
    assert words.count("PCIe switch") == 8
    assert "4 NVSwitches" in words
    assert "\u2717" not in text
    assert '<ul class="odd">' not in text
    assert "8 RDMA ports</figcaption>" in text


def test_a_machine_without_nvlink_says_so() -> None:
    _, words = drawn(node("oci-l40s-4"))
    assert "no NVLink: peers over PCIe" in words
    assert words.count("PCIe Gen4 x16") == 4


def test_a_tray_of_a_rack_has_its_switches_elsewhere() -> None:
    _, words = drawn(node("gb200-nvl72"))
    assert "NVSwitches, not on the bus of this node" in words
    assert words.count("C2C 2 of 2") == 4
    assert words.count("18 of 18") == 4


def test_adapters_without_a_place_are_drawn_on_no_rail() -> None:
    text, words = drawn(node("aws-p5"))
    assert "? adapters: their place is not told" in words
    assert "? PCIe path" in words
    assert "Dashed lines: the snapshot does not tell the PCIe path" in text
    assert 'class="wire"' not in text
    assert "PCIe switch" not in words


def test_gpus_that_are_joined_directly_have_arcs() -> None:
    content = node("oci-l40s-4")
    addresses = [gpu["pci_address"] for gpu in content["gpus"]]
    for own, gpu in zip(addresses, content["gpus"], strict=True):
        ends = [item for item in addresses if item != own for _ in range(4)]
        gpu["nvlink_is_active"] = [True] * 12
        gpu["nvlink_remote_type"] = [0] * 12
        gpu["nvlink_remote_pci_address"] = ends
    text, _ = drawn(content)
    assert text.count('class="nvlink"') == 6
    assert "<title>GPU 0 to GPU 3: 4 links</title>" in text


def _link_down(item: Snapshot) -> None:
    item["gpus"][5]["nvlink_is_active"][17] = False


def _narrow(item: Snapshot) -> None:
    item["gpus"][2]["pcie_width"] = 8


def _slower(item: Snapshot) -> None:
    item["gpus"][2]["pcie_generation_maximum"] = 4


def _lost(item: Snapshot) -> None:
    item["gpus"][3]["is_lost"] = True


def _missing(item: Snapshot) -> None:
    del item["gpus"][7]


def _port_down(item: Snapshot) -> None:
    item["rdma_ports"][2]["state"] = "DOWN"


def _port_slow(item: Snapshot) -> None:
    item["rdma_ports"][6]["rate_gbit_per_second"] = 200.0


def _port_untold(item: Snapshot) -> None:
    item["rdma_ports"][7]["state"] = UNTOLD


def _links_untold(item: Snapshot) -> None:
    item["gpus"][6]["nvlink_is_active"] = UNTOLD


def _one_link_untold(item: Snapshot) -> None:
    item["gpus"][6]["nvlink_is_active"][4] = UNTOLD


def _width_untold(item: Snapshot) -> None:
    item["gpus"][1]["pcie_width"] = UNTOLD


@pytest.mark.parametrize(
    ("change", "result", "state"),
    [
        (_link_down, "✗ GPU 5 (0000:60:00.0): 17 of 18 NVLinks up", "bad"),
        (_narrow, "✗ GPU 2 (0000:30:00.0): PCIe x8 of x16", "bad"),
        (
            _slower,
            "≠ GPU 2 (0000:30:00.0): PCIe Gen4 x16, peers have Gen5 x16",
            "unlike",
        ),
        (_lost, "✗ GPU 3 (0000:40:00.0): lost by the driver", "bad"),
        (
            _missing,
            "✗ GPU ? (0000:80:00.0): on the bus, not listed by the driver",
            "bad",
        ),
        (_port_down, "✗ mlx5_2 port 1: DOWN", "bad"),
        (_port_slow, "≠ mlx5_6 port 1: 200 Gbit/s, most have 400", "unlike"),
        (_port_untold, "? mlx5_7 port 1: state not known", "unknown"),
        (_links_untold, "? GPU 6 (0000:70:00.0): NVLinks not known", "unknown"),
        (
            _one_link_untold,
            "? GPU 6 (0000:70:00.0): some of 18 NVLinks not known",
            "unknown",
        ),
        (_width_untold, "? GPU 1 (0000:20:00.0): PCIe link not known", "unknown"),
    ],
)
def test_what_is_odd_is_marked_and_told(
    change: Callable[[Snapshot], None], result: str, state: str
) -> None:
    content = node()
    change(content)
    text, words = drawn(content)
    assert [word for word in words if word == result] == [result]
    boxes = re.findall(r'<rect class="(?:gpu|nic) part ([a-z]+)"', text)
    assert sorted({*boxes} - {"told"}) == [state]
    assert boxes.count(state) == 1
    assert "✗ down or degraded, ≠ unlike its peers, ? not known." in text


def test_what_is_not_known_is_never_drawn_as_whole() -> None:
    content = node()
    for gpu in content["gpus"]:
        gpu["nvlink_is_active"] = UNTOLD
    _, words = drawn(content)
    assert "? NVLink not known" in words
    assert "18 of 18" not in words
    content["partly_listed"] = ["gpus", "rdma_ports"]
    _, words = drawn(content)
    assert words.count("GPU server") == 0
    assert any("8 GPUs, perhaps not all" in word for word in words)
    assert any("8 RDMA ports, perhaps not all" in word for word in words)


def test_a_snapshot_without_gpus_and_adapters_has_no_picture() -> None:
    content = node()
    content["gpus"], content["rdma_ports"] = [], []
    assert layout_of_node(made(content)) is None
    content["gpus"] = content["rdma_ports"] = UNTOLD
    assert layout_of_node(made(content)) is None


def test_machines_that_are_joined_alike_are_drawn_once() -> None:
    odd = node()
    _link_down(odd)
    layouts = [laid(node()), laid(node()), laid(odd), None]
    text = "".join(specimen_pictures(layouts))
    assert re.findall("<h3>([^<]*)</h3>", text) == ["Specimens 1-2", "Specimen 3"]
    assert text.count('<figure class="topology">') == 2
    many = [
        layouts[0]._replace(product=f"{n}") for n in range(6) if layouts[0] is not None
    ]
    assert "2 more specimens are not drawn" in "".join(specimen_pictures(many))
    assert specimen_pictures([None]) == []


def test_a_hostile_snapshot_is_drawn_and_bounded() -> None:
    hostile = f"{SCRIPT}{STYLE_END}{QUOTES}{ESCAPES}{BIDI}"
    content = node()
    content["host"]["product"] = hostile
    for gpu in content["gpus"]:
        gpu["name"] = gpu["pci_address"] = hostile
        gpu["nvlink_remote_pci_address"] = [hostile] * 18
        gpu["pcie_width"] = -(10**30)
    for port in content["rdma_ports"]:
        port["device"] = port["state"] = hostile
        port["rate_gbit_per_second"] = 1e308
    for device in content["pci_devices"]:
        device["ancestors"] = [hostile, hostile]
        device["numa_node"] = 10**30
    content["gpus"] *= 50
    content["rdma_ports"] *= 100
    text, _ = drawn(content)
    for harm in HARMFUL:
        assert harm not in text, harm
    assert len(text) < 300_000
    assert "more parts not drawn" in text
