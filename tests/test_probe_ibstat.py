"""Our reading of RDMA ports against that of the real `ibstat`, on the same files."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from probed import content, healthy_but

IBSTAT = shutil.which("ibstat") or ""
UNSHARE = shutil.which("unshare") or ""
_SHOW = 'mount --bind "$0" /sys/class && exec "$1"'


def ibstat(folder: Path) -> dict[str, str]:
    """Return what it says of a copy's only port, shown in place of /sys/class."""
    classes = str(folder / "sys/class")
    command = (UNSHARE, "-m", "sh", "-c", _SHOW, classes, IBSTAT)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"ibstat cannot be shown a copy: {done.stderr.strip()[:80]}")
    return dict(re.findall(r"^\s*([\w ]+): (.+)$", done.stdout, re.MULTILINE))


@pytest.mark.skipif(not (IBSTAT and UNSHARE), reason="needs ibstat and unshare")
@pytest.mark.parametrize(
    ("state", "physical", "rate"),
    [
        ("4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"),
        ("1: DOWN", "2: Polling", "10 Gb/sec (4X SDR)"),
        ("2: INIT", "5: LinkUp", "200 Gb/sec (4X HDR)"),
    ],
)
def test_ports_are_read_as_ibstat_reads_them(
    state: str, physical: str, rate: str, tmp_path: Path
) -> None:
    port = "/sys/class/infiniband/mlx5_0/ports/1"
    machine = healthy_but(
        tmp_path,
        {
            f"{port}/state": f"{state}\n",
            f"{port}/phys_state": f"{physical}\n",
            f"{port}/rate": f"{rate}\n",
        },
    )
    result = ibstat(machine)
    found = content(machine, "rdma")
    ours, device = found["rdma_ports"][0], found["rdma_devices"][0]
    states = {"ACTIVE": "Active", "DOWN": "Down", "INIT": "Initializing"}
    assert result["State"] == states[ours["state"]]
    assert result["Physical state"] == ours["physical_state"]
    assert float(result["Rate"]) == ours["rate_gbit_per_second"]
    assert int(result["Base lid"]) == ours["lid"]
    assert int(result["SM lid"]) == ours["subnet_manager_lid"]
    assert result["Link layer"] == ours["link_layer"]
    assert result["CA type"] == device["type"]
    assert result["Firmware version"] == device["firmware_version"]
    guid = int(device["node_guid"].replace(":", ""), 16)
    assert int(result["Node GUID"], 16) == guid
