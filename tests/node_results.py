"""A result line of a node, with all that it may tell."""

from speccheck.validator.node.result import (
    JudgedBy,
    KeptSnapshot,
    NodeResult,
    ResultFinding,
)

COUNTS = {"pass": 51, "fail": 2, "unknown": 4, "not_applicable": 77, "waived": 1}
RESULT = NodeResult(
    node="n17",
    verdict="no-go",
    engine="slurm",
    job="4711",
    rank=17,
    ranks=64,
    nodes=64,
    node_list="n[1-64]",
    attempt=0,
    taken="2026-11-22T07:00:00Z",
    seconds=0.574,
    tier=1,
    reason="1 error",
    counts={**COUNTS, "error": 0},
    findings=(
        ResultFinding(
            "HW-011",
            "memory_fault_pending",
            "error",
            "GPU 3",
            "a row is to be remapped",
            "RESET_GPU",
        ),
        ResultFinding(
            "HW-080", "clock_off", "warning", "node", "no time service", None
        ),
    ),
    missing=("cluster.fabric",),
    facts={"driver.version": "570.86.15", "gpus": "8"},
    snapshot=KeptSnapshot("/shared/n17.json", "ab" * 32),
    edition=JudgedBy("1.0", "cd" * 32),
)
