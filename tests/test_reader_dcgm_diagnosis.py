"""What dcgmi diag -j writes, of DCGM 2 to 4, becomes results by GPU."""

import json
from pathlib import Path

import pytest

from printed_measurements import node_of, parts, read_mutated, reason
from speccheck.validator.cli.main import main
from speccheck.validator.sources.formats import dcgm_diagnosis
from speccheck.validator.sources.reader import Reader


def results(folder: Path, content: object) -> list[dict[str, object]]:
    found, node = node_of(folder, json.dumps(content), "diag.json")
    assert found == "dcgm-diagnosis"
    return parts(node, "diagnostic_results")


THREE = {
    "DCGM Diagnostic": {
        "test_categories": [
            {
                "category": "Deployment",
                "tests": [
                    {"name": "Denylist", "results": [{"status": "Pass"}]},
                    {
                        "name": "Persistence Mode",
                        "results": [
                            {
                                "gpu_id": 1,
                                "status": "Fail",
                                "warnings": [
                                    {
                                        "warnings": "Persistence mode is off",
                                        "error_id": 33,
                                    }
                                ],
                            }
                        ],
                    },
                ],
            },
            {
                "category": "Hardware",
                "tests": [
                    {
                        "name": "GPU Memory",
                        "results": [
                            {"gpu_id": "0", "status": "Pass", "info": "98.6% in use"},
                            {
                                "gpu_id": "1",
                                "status": "Warn",
                                "warnings": [
                                    {"warning": "a page is pending", "error_id": 10},
                                    {"warning": "reset the GPU", "error_id": 11},
                                ],
                            },
                        ],
                    }
                ],
            },
        ]
    },
    "Driver Version Detected": "535.104.05",
    "version": "3.3.5",
}
SHARED = {"tool": "dcgm", "tool_version": "3.3.5"}


def test_dcgm_3_names_gpus_by_id(tmp_path: Path) -> None:
    memory = {**SHARED, "category": "Hardware", "name": "GPU Memory"}
    assert results(tmp_path, THREE) == [
        {**SHARED, "category": "Deployment", "name": "Denylist", "result": "pass"},
        {
            **SHARED,
            "category": "Deployment",
            "name": "Persistence Mode",
            "gpu_index": 1,
            "result": "fail",
            "message": "Persistence mode is off",
            "error_code": 33,
        },
        {**memory, "gpu_index": 0, "result": "pass", "message": "98.6% in use"},
        {
            **memory,
            "gpu_index": 1,
            "result": "warn",
            "message": "a page is pending; reset the GPU",
            "error_code": 10,
        },
    ]


def test_dcgm_2_names_several_gpus_at_once(tmp_path: Path) -> None:
    test = {
        "name": "PCIe",
        "results": [{"gpu_ids": "0,1,2", "status": "Skip", "warnings": "no P2P"}],
    }
    content = {"test_categories": [{"category": "Integration", "tests": [test]}]}
    found = results(tmp_path, {"DCGM GPU Diagnostic": {**content, "version": "2.0.4"}})
    assert [finding["gpu_index"] for finding in found] == [0, 1, 2]
    assert {finding["result"] for finding in found} == {"skip"}
    assert {finding["message"] for finding in found} == {"no P2P"}
    assert found[0]["tool_version"] == "2.0.4"


def entity(number: int, status: str, **more: object) -> dict[str, object]:
    result = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": number}
    return {**result, "status": status, **more}


def test_dcgm_4_names_entities_and_sums_up(tmp_path: Path) -> None:
    warning = {
        "error_category": 7,
        "error_id": 95,
        "error_severity": 2,
        "warning": "NVLink 3 is down",
    }
    tests = [
        {
            "name": "pcie",
            "results": [entity(0, "Pass"), entity(1, "Fail", warnings=[warning])],
            "test_summary": {"status": "Fail"},
        },
        {"name": "eud", "results": [], "test_summary": {"status": "Not Run"}},
        {
            "name": "cpu_eud",
            "results": [
                {
                    "entity_group": "CPU",
                    "entity_group_id": 7,
                    "entity_id": 0,
                    "status": "Pass",
                }
            ],
            "test_summary": {"status": "Sideways"},
        },
    ]
    content = {
        "DCGM Diagnostic": {
            "test_categories": [{"category": "Integration", "tests": tests}]
        },
        "metadata": {"version": "4.2.3", "Driver Version Detected": "570.124.06"},
        "entity_groups": [],
    }
    found = results(tmp_path, content)
    assert [
        (finding["name"], finding.get("gpu_index"), finding["result"])
        for finding in found[:-1]
    ] == [
        ("pcie", 0, "pass"),
        ("pcie", 1, "fail"),
        ("eud", None, "not_run"),
        ("cpu_eud", None, "pass"),
    ]
    assert (found[1]["message"], found[1]["error_code"]) == ("NVLink 3 is down", 95)
    assert {finding["tool_version"] for finding in found} == {"4.2.3"}
    assert reason(found[-1]["result"]) == "says 'sideways'"


def test_a_diagnosis_that_did_not_run_says_so(tmp_path: Path) -> None:
    content = {"DCGM Diagnostic": {"runtime_error": "another instance is running"}}
    (item,) = results(tmp_path, content)
    assert (item["result"], item["message"]) == (
        "not_run",
        "another instance is running",
    )


@pytest.mark.parametrize(
    "diagnosis",
    [
        {"test_categories": {}},
        {"test_categories": [None, {"tests": 3}, {"tests": [1, {"results": "x"}]}]},
        {"test_categories": [{"tests": [{"results": [{"gpu_id": [], "status": 3}]}]}]},
        {"test_categories": [{"tests": [{"results": [{"gpu_id": "9" * 9000}]}]}]},
        {"version": 3, "runtime_error": []},
    ],
)
def test_odd_values_are_passed_over(
    diagnosis: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "diag.json"
    path.write_text(json.dumps({"DCGM Diagnostic": diagnosis}), "utf-8")
    assert main([str(path)]) in {0, 1, 3}


def test_odd_documents_are_read_as_far_as_they_go() -> None:
    reader = dcgm_diagnosis.READER
    assert isinstance(reader, Reader)
    read_mutated(reader, THREE, 13, 150)
