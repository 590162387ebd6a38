"""What operators paste of a machine is read as node evidence, whichever form it has."""
# ruff: noqa: E501 - the lines of the tools are as wide as they are

import json
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

QUERY = """\
==============NVSMI LOG==============

Timestamp                                 : Mon Nov 23 10:00:00 2026
Driver Version                            : 570.124.06
CUDA Version                              : 12.8

Attached GPUs                             : 1
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    Clocks Event Reasons
        Idle                              : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
        SW Thermal Slowdown               : Not Active
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Uncorrectable            : 0
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 0
        Pending                           : No
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 41 C
"""
TABLE = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.124.06             Driver Version: 570.124.06     CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   41C    P0             70W /  700W |       1MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
COLUMNS = (
    "index, name, pci.bus_id, ecc.mode.current, ecc.mode.pending, "
    "ecc.errors.uncorrected.volatile.total, remapped_rows.pending, "
    "remapped_rows.failure, clocks_event_reasons.hw_thermal_slowdown, temperature.gpu, "
    "mig.mode.current, mig.mode.pending, driver_version"
)
ROW = (
    "0, NVIDIA H100 80GB HBM3, 00000000:1B:00.0, Enabled, Enabled, 0, No, No, "
    "Not Active, 41, Disabled, Disabled, 570.124.06"
)
CSV = f"{COLUMNS}\n{ROW}\n"
LINKS = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5d0f29c1)\n" + "".join(
    f"\t Link {link}: 26.562 GB/s\n" for link in range(18)
)
DIAGNOSIS = """\
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Deployment  --------+------------------------------------------------|
| Page Retirement/Row Remap | Pass                                           |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Pass - All                                     |
+---------------------------+------------------------------------------------+
"""
BURN = "Killing processes.. done\n\nTested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: OK\n"
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus."
MATRIX = """\
\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV18\tNV18\tPIX\t0-47\t0
GPU1\tNV18\t X \tNV18\tPXB\t0-47\t0
GPU2\tNV18\tNV18\t X \tPXB\t0-47\t0
"""


def judged(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, name: str = "paste.txt"
) -> tuple[int, str, set[tuple[str, str]]]:
    """Return the exit code, the format, and each failure as level and rule."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    code = main([str(path), "--isolated", "--output", "json"])
    report = json.loads(capsys.readouterr().out)
    failures = {
        (finding["level"], finding["rule"])
        for finding in report["findings"]
        if finding["outcome"] == "fail" and finding["level"] != "info"
    }
    return code, str(report["files"][0]["format"]), failures


@pytest.mark.parametrize(
    ("text", "name", "form"),
    [
        (QUERY, "q.txt", "nvidia-smi"),
        (QUERY.replace("\n", "\r\n"), "q.txt", "nvidia-smi"),
        (TABLE, "table.txt", "nvidia-smi"),
        (TABLE.replace("Driver Version", "KMD Version"), "table.txt", "nvidia-smi"),
        (CSV, "gpus.csv", "nvidia-smi"),
        (LINKS, "links.txt", "nvidia-smi-nvlink"),
        (DIAGNOSIS, "diag.txt", "dcgm-diagnosis-text"),
        (BURN, "burn.log", "dcgm-diagnosis-text"),
        (MATRIX, "topo.txt", "nvidia-smi-topology"),
    ],
)
def test_a_sound_machine_has_no_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, name: str, form: str
) -> None:
    assert judged(tmp_path, capsys, text, name) == (0, form, set())


@pytest.mark.parametrize(
    ("text", "old", "new", "finding"),
    [
        (QUERY, "Temp                  : 41 C", "Temp : ERR!", "error reading_fails"),
        (QUERY, "SEC-DED    : 0", "SEC-DED    : 3", "error memory_fault_pending"),
        (QUERY, "        Pending                           : No", "        Pending : Yes",
         "error memory_fault_pending"),
        (QUERY, "Thermal Slowdown           : Not", "Thermal Slowdown : ",
         "warning slowed_by_hardware"),
        (QUERY, "SW Thermal Slowdown               : Not", "SW Thermal Slowdown :",
         "warning slowed_by_hardware"),
        (QUERY, "Current                           : Disabled", "Current : Enabled",
         "error gpu_partitioned"),
        (TABLE, "             Disabled |", "              Enabled |",
         "error gpu_partitioned"),
        (TABLE, "             Disabled |", "            Disabled* |",
         "error gpu_partitioned"),
        (TABLE, "N/A   41C ", "ERR!  ERR!", "error reading_fails"),
        (CSV, "Enabled, 0, No", "Enabled, 7, No", "error memory_fault_pending"),
        (CSV, "No, No, Not", "No, Yes, Not", "error memory_fault_pending"),
        (CSV, "Not Active", "Active", "warning slowed_by_hardware"),
        (CSV, "Enabled, Enabled", "Disabled, Disabled", "error error_correction_off"),
        (CSV, "0, No, No, Not Active, 41", "[GPU is lost], , , , ",
         "error gpu_needs_recovery"),
        (LINKS, "Link 9: 26.562 GB/s", "Link 9: <inactive>", "error nvlink_down"),
        (LINKS, "Link 9: 26.562", "Link 9: 13.281", "error nvlink_slow"),
        (DIAGNOSIS, "Remap | Pass", "Remap | Fail", "error diagnosis_failed"),
        (DIAGNOSIS, "Pass - All  ", "Fail - GPU: 2", "error diagnosis_failed"),
        (DIAGNOSIS, "Pass - All  ", "Warn - GPU: 2", "warning diagnosis_warned"),
        (BURN, "GPU 1: OK", "GPU 1: FAULTY", "error diagnosis_failed"),
        (MATRIX, "GPU1\tNV18\t X \tNV18", "GPU1\tNV18\t X \tNV17",
         "error nvlink_pairs_uneven"),
    ],
)  # fmt: skip
def test_a_symptom_that_was_read_is_never_a_go(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    old: str,
    new: str,
    finding: str,
) -> None:
    assert old in text
    name = "gpus.csv" if text == CSV else "paste.txt"
    _, _, failures = judged(tmp_path, capsys, text.replace(old, new, 1), name)
    level, rule = finding.split()
    assert (level, rule) in failures


@pytest.mark.parametrize(
    "prefix",
    [
        "[   12.345678] ",
        "<4>[   12.345678] ",
        "[Tue Mar  4 10:24:12 2025] ",
        "kern  :warn  : 2025-03-04T10:24:12,283302+00:00 ",
        "Mar  4 10:24:12 node7 kernel: ",
        "Mar  4 10:24:12 node7 kernel: [   12.345678] ",
        "2025-03-04T10:24:12.283302+00:00 node7 kernel: ",
        "4,3973,227996636,-;",
        "",
    ],
)
def test_a_log_is_read_in_each_form_of_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prefix: str
) -> None:
    code, form, failures = judged(tmp_path, capsys, f"{prefix}{XID}\n", "dmesg.log")
    assert (code, form, failures) == (1, "kernel-log", {("error", "fatal_xid")})


def test_a_log_of_two_hosts_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"Mar  4 10:24:12 {host} kernel: {XID}" for host in ("node7", "node8")]
    path = tmp_path / "messages"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert main([str(path), "--isolated"]) == 2
    assert "a log of two hosts: node7 on line 1, node8 on line 2" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_program_that_failed_is_no_fault_of_the_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "[   12.345678] NVRM: Xid (PCI:0000:1b:00): 31, pid=1, MMU Fault\n"
    assert judged(tmp_path, capsys, line)[2] == set()


def test_a_gpu_that_does_not_answer_stands_beside_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = "Unable to determine the device handle for GPU 0000:BA:00.0: Unknown Error\n"
    assert judged(tmp_path, capsys, lost)[2] == {("error", "reading_fails")}
    _, _, failures = judged(tmp_path, capsys, lost + TABLE)
    assert ("error", "reading_fails") in failures


def test_a_link_that_a_paste_leaves_off_is_not_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n...\n"
    assert judged(tmp_path, capsys, LINKS + cut)[2] == set()


def test_the_middle_of_a_capture_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, *rest = TABLE.splitlines(keepends=True)
    middle = "".join(rest[5:]).replace("              0 |", "             12 |")
    assert judged(tmp_path, capsys, middle)[1] == "nvidia-smi"
    sections = QUERY[QUERY.index("    Product") :].replace(
        "DRAM Uncorrectable            : 0", "DRAM Uncorrectable : 2"
    )
    code, form, failures = judged(tmp_path, capsys, sections)
    assert (code, form) == (1, "nvidia-smi")
    assert ("error", "memory_fault_pending") in failures


def test_the_last_row_of_a_gpu_is_its_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = ROW.replace("Enabled, 0, No, No", "Enabled, 7, Yes, No")
    series = f"{COLUMNS}\n{ROW}\n{bad}\n"
    _, form, failures = judged(tmp_path, capsys, series, "gpus.csv")
    assert form == "nvidia-smi"
    assert ("error", "memory_fault_pending") in failures


def test_a_gpu_that_is_counted_and_not_shown_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = QUERY[QUERY.index("GPU 0000") :].replace(":1B:", ":2B:")
    text = QUERY.replace("GPUs                             : 1", "GPUs : 3") + second
    assert ("error", "gpu_not_shown") in judged(tmp_path, capsys, text)[2]
