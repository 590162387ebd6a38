"""Captures of one machine make one node; of several, several; broken ones say where."""

import json
from pathlib import Path
from typing import Any

import pytest

from captured import (
    DCGMI,
    ENV,
    GPU,
    IBSTAT,
    IBV_DEVINFO,
    LSPCI,
    TOPO,
    TOPOLOGY,
    gpu_at,
    nvidia_smi,
)
from corpus import corpus_folder, needs_corpus
from speccheck.validator.cli.main import main
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.evidence.node.rdma import RdmaPorts
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.xml_elements import load_xml
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.joining.one_node import agree, joined

TWO_GPUS = nvidia_smi(gpu_at("1b", "GPU-1"), gpu_at("43", "GPU-2"))
PENDING = TWO_GPUS.replace("remapped_row_pending>No", "remapped_row_pending>Yes", 1)


def nodes_of(folder: Path, *texts: str) -> list[Node]:
    nodes: list[Node] = []
    for number, text in enumerate(texts):
        path = folder / f"{number}.txt"
        path.write_text(text, encoding="utf-8")
        _, files = read_file(str(path))
        nodes += [item.node for file in files for item in file.readings if item.node]
    assert len(nodes) == len(texts)
    return nodes


def judged(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main([*arguments, "--output", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_what_several_tools_say_of_one_gpu_is_one_gpu(tmp_path: Path) -> None:
    nodes = nodes_of(tmp_path, TWO_GPUS, TOPO)
    assert agree(nodes)
    gpus = joined(nodes).several(Gpus).each()
    assert [gpu.pci_address.value for gpu in gpus] == ["0000:1b:00.0", "0000:43:00.0"]
    assert [gpu.common_ancestors.value for gpu in gpus] == [(0, None), (50, 0)]
    assert [gpu.title for gpu in gpus] == ["GPU 0", "GPU 1"]
    places = gpus[1].pcie_replays.places + gpus[1].common_ancestors.places
    assert [place.file.rpartition("/")[2] for place in places] == ["0.txt", "1.txt"]
    assert all(place.span is not None for place in places)


def test_a_whole_list_completes_one_that_is_not(tmp_path: Path) -> None:
    alone = IBSTAT[: IBSTAT.index("CA 'mlx5_1'")]
    (part,) = nodes_of(tmp_path, alone)
    assert not part.several(RdmaPorts).count.is_known
    both = joined(nodes_of(tmp_path, IBV_DEVINFO, IBSTAT))
    ports = both.several(RdmaPorts)
    assert ports.count.value == 2
    first, second = ports.each()
    assert first.active_mtu_bytes.value == 4096
    assert second.state.value == "INIT"


def test_what_two_tools_say_differently_is_not_known(tmp_path: Path) -> None:
    (first, _) = (
        joined(nodes_of(tmp_path, IBV_DEVINFO, IBSTAT)).several(RdmaPorts).each()
    )
    leaf = first.lid
    assert leaf.value is None
    assert leaf.status == "failed"
    assert "0.txt" in leaf.note
    assert "1.txt" in leaf.note


@pytest.mark.parametrize(
    "other",
    [
        DCGMI,  # one GPU where the other file has two
        DCGMI.replace("GPU-5d0f29c1", "GPU-9"),
        IBSTAT.replace("0x0c42a10300a1b2c4", "0x0c42a10300ffffff"),
    ],
)
def test_what_is_of_another_machine_is_not_joined(tmp_path: Path, other: str) -> None:
    assert not agree(
        [*nodes_of(tmp_path, TWO_GPUS, IBV_DEVINFO), *nodes_of(tmp_path, other)]
    )


def test_files_of_one_machine_are_one_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {
        "a.xml": TWO_GPUS,
        "b.txt": TOPO,
        "c.txt": IBSTAT,
        "d": ENV,
        "e": LSPCI,
        "f.xml": TOPOLOGY.replace("0000:1b", "0000:17"),
    }
    names = [str(tmp_path / name) for name in texts]
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    code, report = judged(capsys, *names)
    assert len(report["plans"]) == 1
    assert [file["format"] for file in report["files"]] == [
        "nvidia-smi",
        "nvidia-smi-topology",
        "ibstat",
        "environment-dump",
        "lspci",
        "nccl-topology",
    ]
    assert code == 1  # the GPUs of the capture count five uncorrectable errors


def test_a_finding_stands_on_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "node.xml"
    path.write_text(PENDING, encoding="utf-8")
    _, report = judged(capsys, str(path), "--select", "memory_fault_pending")
    failed = [finding for finding in report["findings"] if finding["outcome"] == "fail"]
    lines = PENDING.splitlines()
    stands = [
        (place["key"], lines[place["line"] - 1].strip())
        for item in failed
        for place in item["places"]
    ]
    assert stands == [
        (
            "gpus[0].remap_is_pending",
            "<remapped_row_pending>Yes</remapped_row_pending>",
        ),
        (
            "gpus[1].ecc_uncorrected_volatile",
            "<sram_uncorrectable_secded>1</sram_uncorrectable_secded>",
        ),
    ]


def test_of_some_gpus_what_is_seen_is_judged_and_the_rest_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "node.xml"
    path.write_text(nvidia_smi(GPU, attached=8), encoding="utf-8")
    _, report = judged(capsys, str(path), "--select", "memory_fault_pending", "--full")
    found = [
        (finding["outcome"], finding["message"])
        for finding in report["findings"]
        if finding["rule"] == "memory_fault_pending"
    ]
    assert found == [
        (
            "fail",
            (
                "5 uncorrectable memory errors since the driver was loaded; at most 0 "
                "may be"
            ),
        ),
        ("unknown", "needs gpus (shows 1 of 8 GPUs)"),
    ]
    (node,) = nodes_of(tmp_path, nvidia_smi(GPU, attached=8))
    assert [gpu.title for gpu in node.several(Gpus).shown] == ["GPU 0000:1b:00.0"]


ENTITIES = """\
<?xml version="1.0"?>
<!DOCTYPE nvidia_smi_log [
  <!ENTITY a "aaaaaaaaaa">
  <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
]>
<nvidia_smi_log><timestamp>&b;</timestamp></nvidia_smi_log>
"""
EXTERNAL = """\
<!DOCTYPE system [<!ENTITY secret SYSTEM "file:///etc/passwd">]>
<system><cpu><pci busid="0000:1b:00.0">&secret;</pci></cpu></system>
"""


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (ENTITIES, 3, "declares an entity"),
        (EXTERNAL, 1, "declares an entity"),
        (TWO_GPUS[:900], 22, "the XML ends in the middle: <"),
        (TWO_GPUS.replace("</uuid>", "</serial>", 1), 13, "mismatched tag"),
        (
            "<project>\n</project>\n",
            1,
            "XML of <project>, which speccheck does not know",
        ),
        ("\n\n<html><br></html>", 3, "mismatched tag"),
        ("<nvidia_smi_log>" + "<a>" * 200, 1, "deeper than 100 levels"),
        ("<beans><nvidia_smi_log></nvidia_smi_log></beans>", 1, "its first element is"),
        ("<", 1, "no XML"),
    ],
)
def test_xml_that_is_broken_or_foreign_is_refused_by_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    line: int,
    says: str,
) -> None:
    path = tmp_path / "node.xml"
    path.write_text(text, encoding="utf-8")
    assert main([str(path)]) == 2
    printed = " ".join(capsys.readouterr().out.split())
    assert f"node.xml:{line}:" in printed
    assert says in printed


def test_elements_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = "speccheck.validator.sources.documents.xml_elements"
    monkeypatch.setattr(f"{loader}.MAXIMUM_ELEMENTS", 10)
    with pytest.raises(ReadError, match="more than 10 elements") as refused:
        load_xml("many.xml", "<system>" + "\n<pci/>" * 11 + "</system>")
    assert refused.value.line == 11


def test_an_entity_that_nobody_declares_is_no_value() -> None:
    with pytest.raises(ReadError, match="undefined entity"):
        load_xml("a.xml", "<system>&unknown;</system>")


@needs_corpus
@pytest.mark.parametrize("name", ["nodes", "topology"])
def test_real_captures_are_read_and_nothing_fails_on_them(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = sorted(str(path) for path in corpus_folder(name).glob("*.xml"))
    assert len(paths) == 4
    for path in paths:
        code, report = judged(capsys, path)
        assert code in {0, 3}, path
        assert [file["status"] for file in report["files"]] == ["judged"]
        assert [
            finding for finding in report["findings"] if finding["outcome"] == "fail"
        ] == []


NUMBER = "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        IBSTAT.replace("ports: 1", f"ports: {NUMBER}").replace("26", NUMBER),
        IBV_DEVINFO.replace("[  2]", f"[{NUMBER}]").replace("4X", f"{NUMBER}X"),
        LSPCI.replace("x16", f"x{NUMBER}").replace("node: 0", "node: --5"),
        TOPO.replace("NV18", f"NV{NUMBER}"),
        TOPOLOGY.replace('numaid="1"', f'numaid="{NUMBER}"'),
        nvidia_smi(GPU.replace("345 MHz", NUMBER), attached=8),
    ],
)
def test_absurd_numbers_are_no_values(tmp_path: Path, text: str) -> None:
    (node,) = nodes_of(tmp_path, text)
    for kind, found in node.by_type():
        assert not hasattr(found, "shown") or found.shown is not None, kind
