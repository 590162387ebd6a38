"""What the rules say of every published row of busbw.csv, through the engine.

Each measured row becomes a file of measurements with one size, beside what the row
tells of the machine: its type, its adapters, NVLink between nodes, NVLS. Thresholds of
vendors are held to the model.
"""

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from predictions.prediction import rows
from speccheck.validator.catalogue.hardware import readings_of, resolve_instance
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.models.bus_bandwidth import GIGA, Collective
from speccheck.validator.models.expectation import (
    NO_THRESHOLD_BELOW,
    CollectiveSetting,
    Floors,
    expectation,
    implausible,
)
from speccheck.validator.run.run import run
from speccheck.validator.sources.context import Context

Row = Mapping[str, str]

RULES = (
    "all_reduce_below_floor",
    "all_reduce_below_usual",
    "gather_below_floor",
    "all_to_all_below_floor",
    "bandwidth_above_ceiling",
    "rank_count_contradicted",
)
_FLOORS = ("COMM-010", "COMM-074", "COMM-076")
# The machine that a row names, where the hardware catalogue has it.
INSTANCES = {
    "DGX H100": "dgx-h100",
    "CoreWeave HGX H100": "coreweave-hgx-h100",
    "CoreWeave GB200 NVL72": "coreweave-gb200-nvl72",
    "AWS p6-b200": "aws-p6-b200",
    "AWS p6": "aws-p6-b200",
    "AWS p5en": "aws-p5en",
    "AWS p5 H100": "aws-p5",
    "AWS p5": "aws-p5",
    "AWS p5/p5e/p5en": "aws-p5",
    "AWS p4d": "aws-p4d",
    "GCP a3-mega": "gcp-a3-mega",
    "GCP GB200": "gcp-a4x",
    "GCP a3-highgpu": "gcp-a3-high",
    "GCP a3-megagpu": "gcp-a3-mega",
    "GCP a3-ultragpu": "gcp-a3-ultra",
    "GCP a4": "gcp-a4",
    "GCP a4x": "gcp-a4x",
    "Azure ND A100 v4": "azure-nd96asr-v4",
    "Azure ND H100 v5": "azure-nd96isr-h100-v5",
    "Azure ND H200 v5": "azure-nd96isr-h200-v5",
    "Azure ND MI300X v5": "azure-nd96isr-mi300x-v5",
    "DGX A100 (superbench fixture)": "dgx-a100",
    "DGX A100 8xHDR": "dgx-a100",
    "OCI A100": "oci-gpu4-8",
    "OCI BM.GPU4.8 / A100-v2.8": "oci-gpu4-8",
    "OCI BM.GPU.H100.8": "oci-h100-8",
    "OCI BM.GPU.H200.8": "oci-h200-8",
    "OCI BM.GPU.B200.8": "oci-b200-8",
    "OCI BM.GPU.B300.8": "oci-b300-8",
    "EKS H100": "aws-p5",
    "EKS GB200 network path": "aws-p6e-gb200",
    "Azure GB300": "azure-nd128isr-gb300-v6",
    "AKS H100": "azure-nd96isr-h100-v5",
}
_GPUS = {
    "A100": "A100-SXM4-80GB",
    "A100-40GB": "A100-SXM4-40GB",
    "A100-80GB": "A100-SXM4-80GB",
    "H100-80GB": "H100-SXM5-80GB",
    "H100-NVL": "H100 NVL",
    "H200": "H200-SXM",
    "B200": "B200-SXM",
    "B300": "B300-SXM",
    "A100-80GB-PCIe": "A100-PCIe-80GB",
    "V100-32GB": "V100-SXM2-32GB",
}
_LARGE = 16 * 2**30  # what a row means that names no size
_WHOLE_RATE = 400.0  # of the adapters of a port, Gbit/s


class Judged(NamedTuple):
    """A row, what is said of it before a run and for a certificate, and why.

    verdict: pass, warn, fail, unknown; of thresholds plausible, weak, implausible,
    not judged.
    """

    row: Row
    verdict: str
    certified: str
    why: str


def judged_rows() -> list[Judged]:
    """Return all rows, in their order."""
    return [
        measured(row) if row["kind"] == "measured" else threshold(row)
        for row in rows("busbw")
    ]


def measured(row: Row) -> Judged:
    """Return what the engine says of a measured row."""
    verdict, why = _verdict(findings(row, "preflight"), row)
    certified, _ = _verdict(findings(row, "certify"), row)
    return Judged(row, verdict, certified, why)


def findings(row: Row, use: str) -> list[Finding]:
    """Return the findings about a row as a file of measurements."""
    return judge_snapshot(snapshot(row), INSTANCES.get(row["platform"]), use)


def judge_snapshot(
    document: Mapping[str, Any], instance: str | None, use: str
) -> list[Finding]:
    """Return the findings of the rules on bandwidth about a file of measurements."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        request = Request(
            arguments=(str(path),),
            judging=Judging(
                context=Context(instance=instance), selection=Selection(select=RULES)
            ),
            use=use,
            full=True,
        )
        plans = run(request).plans
    return [finding.finding for plan in plans for finding in plan.findings]


def snapshot(row: Row) -> dict[str, Any]:
    """Return what a row tells, in the form of a snapshot."""
    result: dict[str, Any] = {
        "schema": "speccheck-snapshot/1",
        "collective_runs": [_run(row)],
    }
    ranks = int(row["ranks"] or 0)
    outcome: dict[str, Any] = {"ranks": ranks} if ranks else {}
    if row["nvls"] in {"on", "off"}:
        outcome["nvls_channels"] = 16 if row["nvls"] == "on" else 0
    if joined := _domains(row):
        outcome |= {"is_mnnvl": True, "nvlink_cliques": joined}
    if len(outcome) > 1:
        result["communicators"] = [outcome]
    if "MNNVL off" in row["scope"]:
        result["variables_in_force"] = [{"name": "NCCL_MNNVL_ENABLE", "value": "0"}]
    if row["nic_gbps_per_gpu"] and row["platform"] not in INSTANCES:
        result |= _adapters(row)
    return result


def _run(row: Row) -> dict[str, Any]:
    size = float(row["size_bytes"] or _LARGE)
    leaves: dict[str, Any] = {
        "tool": "nccl-tests",
        "backend": "nccl",
        "collective": row["collective"],
        "is_complete": True,
        "size_bytes": [int(size)],
        "bus_bytes_per_second": [float(row["busbw_gbps"]) * GIGA],
    }
    if row["algbw_gbps"]:
        leaves["algorithm_bytes_per_second"] = [float(row["algbw_gbps"]) * GIGA]
    if row["gpu"]:
        leaves["gpu"] = _GPUS.get(row["gpu"], row["gpu"])
    for name in ("ranks", "nodes"):
        if row[name]:
            leaves[name] = int(row[name])
    if algorithm := _algorithm(row["algorithm"]):
        leaves["algorithm"] = algorithm
    return leaves


def _algorithm(text: str) -> str:
    """Return what ran, where the row says it of this one size."""
    word = text.removesuffix(" forced").lower()
    return word if word in {"ring", "nvls", "nvlstree"} else ""


def _domains(row: Row) -> int:
    """Return the NVLink domains of a row that says NVLink joins the nodes; else 0."""
    scope, _, _ = row["scope"].partition(" rack")
    if scope.isdecimal():
        return int(scope)
    return 1 if "NVLink domain" in (row["scope"], row["note"]) else 0


def _adapters(row: Row) -> dict[str, Any]:
    """Return GPUs and ports of a node whose type is not surely in the catalogue."""
    gpus = int(row["gpus_per_node"] or 0)
    rate = float(row["nic_gbps_per_gpu"])
    ports = round(gpus * rate / min(rate, _WHOLE_RATE))
    return {
        "gpus": [{"name": row["gpu"]} for _ in range(gpus)],
        "rdma_ports": [
            {
                "device": f"rdma_{number}",
                "number": 1,
                "state": "ACTIVE",
                "link_layer": "Unspecified",  # EFA
                "rate_gbit_per_second": min(rate, _WHOLE_RATE),
            }
            for number in range(ports)
        ],
    }


def _verdict(result: Iterable[Finding], row: Row) -> tuple[str, str]:
    """Return the verdict of a row, and why it does not pass."""
    by_clause = {
        finding.clause: finding
        for finding in result
        if finding.outcome != "not_applicable"
    }
    failed = [finding for finding in by_clause.values() if finding.outcome == "fail"]
    errors = [finding for finding in failed if finding.level == "error"]
    for word, several in (("fail", errors), ("warn", failed)):
        if several:
            return word, "; ".join(_why(finding, row) for finding in several)
    floors = [by_clause[text] for text in _FLOORS if text in by_clause]
    opened = [floor for floor in floors if floor.outcome == "unknown"]
    if opened or not floors:
        return "unknown", "; ".join(_why(finding, row) for finding in opened)
    return "pass", ""


def _why(finding: Finding, row: Row) -> str:
    text = finding.message.partition(": ")[2] or finding.message
    size = "" if row["size_bytes"] else "size not stated, taken as 16 GiB; "
    if row["algorithm"].endswith(" forced"):
        size += f"{row['algorithm']}; "
    return f"{size}{text.removesuffix('; one run: repeat it before a node is blamed')}"


def threshold(row: Row) -> Judged:
    """Return whether a vendor's threshold is within reach and shows anything."""
    word, why = _of_threshold(row)
    return Judged(row, word, "", why)


def _of_threshold(row: Row) -> tuple[str, str]:
    setting = threshold_setting(row)
    if isinstance(setting, str):
        return "not judged", setting
    size = int(float(row["size_bytes"] or 0))
    rate = float(row["busbw_gbps"]) * GIGA
    is_open = setting.domains > 1 and not row["nodes"]
    nodes = "on two nodes, which reach most: " if is_open else ""
    if why := implausible(setting, rate, size):
        return "implausible", nodes + why
    look = expectation(setting, size or _LARGE, Floors(least_bytes=NO_THRESHOLD_BELOW))
    if look.fail_below is None:
        if look.ceiling is None:
            return "not judged", look.reason
        ceiling = f"{look.ceiling / GIGA:.4g} GB/s"
        return "plausible", f"{nodes}below the ceiling of {ceiling}; {look.reason}"
    share = rate / look.fail_below * Floors().fail
    if rate < look.fail_below:
        return "weak", f"{nodes}{share:.2f} of {look.basis}: lets slow machines pass"
    return "plausible", f"{nodes}{share:.2f} of {look.basis}"


def threshold_setting(row: Row) -> CollectiveSetting | str:
    """Return the setting that a threshold is meant for, or why it is not known."""
    gpu = readings_of(_GPUS.get(row["gpu"], row["gpu"]))
    if gpu is None:
        return "the GPUs are not known"
    if row["scope"] == "NIC loopback":
        return "of one adapter, not of a collective"
    name = INSTANCES.get(row["platform"])
    machine = resolve_instance(name) if name else None
    each = int(row["gpus_per_node"] or (machine.gpus_per_node if machine else 0))
    if row["platform"].endswith("NVLS path") or (
        row["scope"].startswith(("1 rack", "NVLink domain"))
    ):
        return CollectiveSetting("all_reduce", int(row["ranks"] or gpu.gpus), 1, gpu)
    nodes = int(row["nodes"] or 2)
    total = machine.network_gigabytes_per_second if machine else None
    if nodes > 1 and (total is None or not each):
        return "adapters and NVLink of the machines are not stated"
    bytes_per_gpu = total * GIGA / each if total and nodes > 1 else None
    is_gather = row["collective"] == "all_gather"
    collective: Collective = "all_gather" if is_gather else "all_reduce"
    ranks = int(row["ranks"] or nodes * each)
    return CollectiveSetting(collective, ranks, nodes, gpu, bytes_per_gpu)


def whole_table(prefix: str) -> dict[str, Any]:
    """Return all sizes of one published run as one file of measurements."""
    result = [row for row in rows("busbw") if row["id"].startswith(prefix)]
    document = snapshot(result[0])
    run_of_all = document["collective_runs"][0]
    for leaf in ("size_bytes", "bus_bytes_per_second", "algorithm_bytes_per_second"):
        run_of_all[leaf] = [
            item for row in result for item in _run(row).get(leaf, (None,))
        ]
    return document


def average_gigabytes(document: Mapping[str, Any]) -> float:
    """Return what nccl-tests print as the average bus bandwidth."""
    rates = document["collective_runs"][0]["bus_bytes_per_second"]
    return float(sum(rates) / len(rates) / GIGA)
