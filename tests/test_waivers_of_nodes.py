"""Waivers of machines: by host, by part, and only as far as they say."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.simulation.healthy import healthy_node

ENTRY = """schema: speccheck-waivers/1
waivers:
  - rule: gpu_too_hot
    {}
    reason: the fan of the row is replaced on Monday
    owner: datacenter
    permanent: true
"""
Judge = Callable[..., list[tuple[str, str, bool]]]


@pytest.fixture
def judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Judge:
    """Judge the snapshot of a machine whose GPUs 1 and 3 are too hot."""
    monkeypatch.chdir(tmp_path)

    def judged(where: str, host: str = "node-017") -> list[tuple[str, str, bool]]:
        node = deepcopy(healthy_node("dgx-h100"))
        node["host"]["name"] = host
        for number in (1, 3):
            node["gpus"][number]["temperature_celsius"] = 93
        Path("node.json").write_text(json.dumps(node))
        Path("waivers.yaml").write_text(ENTRY.format(where))
        main(["node.json", "--waivers", "waivers.yaml", "--output", "json"])
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return [
            (finding["rule"], finding["subject"] or "", finding["waived"])
            for finding in document["findings"]
            if finding["outcome"] == "fail" and finding["level"] != "info"
        ]

    return judged


def of_heat(waived: tuple[bool, ...] = (False, False)) -> list[tuple[str, str, bool]]:
    return [
        ("gpu_too_hot", subject, is_waived)
        for subject, is_waived in zip(("GPU 1", "GPU 3"), waived, strict=True)
    ]


@pytest.mark.parametrize(
    ("where", "waived"),
    [
        ("nodes: node-[001-064]", (True, True)),
        ("nodes: [other, 'NODE-017']", (True, True)),
        ("nodes: node-0*", (True, True)),
        ("nodes: node-[018-064]", (False, False)),
        ("nodes: node-17", (False, False)),
        ("subject: GPU 3", (False, True)),
        ("subject: gpu ?", (True, True)),
        ("nodes: node-017\n    subject: GPU 1", (True, False)),
        ("nodes: node-018\n    subject: GPU 1", (False, False)),
        ("files: node.json\n    subject: [GPU 1, GPU 7]", (True, False)),
        ("files: other.json\n    subject: GPU 1", (False, False)),
    ],
)
def test_which_machines_and_parts_are_meant(
    judge: Judge, where: str, waived: tuple[bool, ...]
) -> None:
    assert judge(where) == of_heat(waived)


def test_a_machine_without_a_name_is_no_machine_that_is_named(judge: Judge) -> None:
    assert judge("nodes: node*", host="") == of_heat()


def test_an_entry_that_no_machine_of_it_needs_is_told_of(judge: Judge) -> None:
    """Where each that it names was in the run, and only there."""
    entry = ENTRY.replace("gpu_too_hot", "gpu_partitioned")

    def told(where: str) -> list[str]:
        Path("waivers.yaml").write_text(entry.format(where))
        main(["node.json", "--waivers", "waivers.yaml", "--output", "json=out.json"])
        document = json.loads(Path("out.json").read_text())
        return [
            finding["message"]
            for finding in document["findings"]
            if finding["clause"] == "CONF-082" and finding["outcome"] == "fail"
        ]

    judge("subject: GPU 3")
    assert told("nodes: node-[017-018]") == []
    assert told("nodes: node-*") == []
    (message,) = told("nodes: node-017")
    assert "gpu_partitioned was judged and does not fail where it holds" in message
