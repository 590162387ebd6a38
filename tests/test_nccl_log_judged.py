"""Logs of NCCL through the whole way in: what healthy ones and faulty ones give."""

from pathlib import Path

import pytest

from nccl_logs import RELEASES, log
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.run.run import run
from speccheck.validator.sources.context import Context

AZURE = Context(instance="azure-nd96isr-h100-v5")
ASKED = {"NCCL_COLLNET_ENABLE": "1"}


def failed(folder: Path, text: str, context: Context = AZURE) -> set[str]:
    """Return the rules that fail on a log."""
    path = folder / "nccl.log"
    path.write_text(text, encoding="utf-8")
    (plan,) = run(
        Request(arguments=(str(path),), judging=Judging(context=context))
    ).plans
    found = [finding.finding for finding in plan.findings]
    assert not [finding for finding in found if finding.outcome == "error"]
    return {finding.rule for finding in found if finding.outcome == "fail"}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("nodes", [1, 2])
def test_a_healthy_log_gives_no_fail(tmp_path: Path, release: str, nodes: int) -> None:
    assert failed(tmp_path, log(release=release, nodes=nodes)) == set()


@pytest.mark.parametrize(
    ("instance", "network"),
    [("aws-p5", "AWS Libfabric"), ("gcp-a3-mega", "FasTrak")],
)
def test_healthy_logs_of_other_fabrics_give_no_fail(
    tmp_path: Path, instance: str, network: str
) -> None:
    text = log(network=network, reach="/GDRDMA" if "aws" in instance else "")
    assert failed(tmp_path, text, Context(instance=instance)) == set()


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            "ran_over_sockets",
            log().replace("via NET/IB/0/GDRDMA", "via NET/Socket/0", 1),
        ),
        (
            "network_without_gpudirect",
            log().replace("via NET/IB/0/GDRDMA", "via NET/IB/0", 1),
        ),
        (
            "multicast_not_used",
            log().replace("support is available", "support is not available", 1),
        ),
        (
            "host_memory_between_gpus",
            log().replace("via P2P/CUMEM", "via SHM/direct/direct", 1),
        ),
        (
            "in_network_reduction_absent",
            log(variables=ASKED),
        ),
        (
            "initialisation_not_finished",
            log().replace("- Init COMPLETE", "- Init", 1),
        ),
        (
            "forced_algorithm_not_taken",
            log(variables={"NCCL_ALGO": "Ring"}),
        ),
        (
            "plugin_not_in_run",
            log(variables={"NCCL_NET_PLUGIN": "aws-ofi"}),
        ),
    ],
)
def test_one_fault_gives_exactly_its_rule(tmp_path: Path, rule: str, text: str) -> None:
    assert failed(tmp_path, text) == {rule}


def test_faults_that_others_judge_are_not_told_twice(tmp_path: Path) -> None:
    text = log(network="Socket", reach="")
    aws = Context(instance="aws-p5")
    assert failed(tmp_path, text, aws) == {"plugin_not_in_run"}
    assert failed(tmp_path, text) == {"ran_over_sockets"}
    other = Context(instance="azure-nd96isr-h100-v5", nccl_version="2.21.5")
    assert failed(tmp_path, log(), other) == {"other_release_ran"}
    multipath = Context(fabric="mrc")
    assert failed(tmp_path, log(), multipath) == {"mrc_not_in_log"}
