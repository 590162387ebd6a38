"""Probes that read files, on machines that are faulty or lack something."""

from pathlib import Path
from typing import Any

import pytest

from machine_files import (
    DMI,
    Files,
    process,
)
from probed import content, healthy_but, node
from speccheck.validator.evidence.node.node import SEVERAL, SINGLES

CPU = "/sys/devices/system/cpu"


def leaf(found: dict[str, Any], kind: str, name: str) -> object:
    """Return the value of a leaf, or its status where it has none."""
    item = found[kind][name]
    return item["status"] if isinstance(item, dict) else item


ONE_LEAF: dict[str, tuple[Files, str, str, object]] = {
    "limited locked memory": (
        {"/proc/self/limits": "Max locked memory         8388608    8388608   bytes\n"},
        "host",
        "locked_memory_bytes",
        8_388_608,
    ),
    "limits without the row": (
        {"/proc/self/limits": "Max locked memory\n"},
        "host",
        "locked_memory_bytes",
        "failed",
    ),
    "meminfo with garbage": (
        {"/proc/meminfo": "MemTotal:  lots kB\n"},
        "host",
        "memory_total_bytes",
        "absent",
    ),
    "mixed governors": (
        {f"{CPU}/cpufreq/policy3/scaling_governor": "powersave\n"},
        "host",
        "governors",
        ["performance", "powersave"],
    ),
    "uncorrected memory errors": (
        {"/sys/devices/system/edac/mc/mc1/ue_count": "2\n"},
        "host",
        "memory_errors_uncorrected",
        2,
    ),
    "memory controller that does not answer": (
        {"/sys/devices/system/edac/mc/mc1/ue_count": "?\n"},
        "host",
        "memory_errors_uncorrected",
        "failed",
    ),
    "huge pages always": (
        {"/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"},
        "host",
        "transparent_hugepages",
        "always",
    ),
    "degraded array": (
        {
            "/proc/mdstat": "md0 : active raid1 a[0]\n  99 blocks [2/1] [U_]\n"
            "md1 : inactive b[0]\nmd2 : active raid1\n 9 blocks [2/2] [UU]\n"
        },
        "host",
        "degraded_arrays",
        ["md0", "md1"],
    ),
    "zombies": (process(50, "python", "Z"), "host", "zombie_processes", 1),
    "stuck process": (process(51, "python", "D"), "host", "stuck_processes", 1),
    "process whose text is odd": (
        {"/proc/52/stat": "52 (x) D\n", "/proc/53/stat": b"\xff\x00"},
        "host",
        "stuck_processes",
        0,
    ),
    "bare metal of Amazon": (
        {"/proc/cpuinfo": "model name : X\nflags\t: fpu tsc\n"},
        "host",
        "virtualisation",
        "none",
    ),
    "unknown hypervisor": (
        {f"{DMI}/sys_vendor": "Nobody\n"},
        "host",
        "virtualisation",
        "unnamed",
    ),
    "virtual Arm machine": (
        {"/proc/cpuinfo": "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"},
        "host",
        "virtualisation",
        "amazon",
    ),
    "whole Arm machine": (
        {
            "/proc/cpuinfo": "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n",
            f"{DMI}/product_name": "c7g.metal\n",
        },
        "host",
        "virtualisation",
        "none",
    ),
    "Arm machine of a maker of both": (
        {
            "/proc/cpuinfo": "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n",
            f"{DMI}/sys_vendor": "NVIDIA\n",
            f"{DMI}/product_name": "GB200 NVL\n",
        },
        "host",
        "virtualisation",
        "absent",
    ),
    "Arm processor": (
        {"/proc/cpuinfo": "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"},
        "host",
        "processor_model",
        "Arm 0x41 0xd4f",
    ),
    "clock from the governor": (
        {
            "/proc/cpuinfo": "CPU implementer\t: 0x41\n",
            f"{CPU}/cpufreq/policy0/scaling_cur_freq": "3400000\n",
        },
        "host",
        "processor_mhz",
        3400.0,
    ),
    "base clock of the firmware": (
        {
            f"{CPU}/cpu0/cpufreq/base_frequency": "none\n",
            f"{CPU}/cpu0/acpi_cppc/nominal_freq": "2250\n",
        },
        "host",
        "processor_base_mhz",
        2250.0,
    ),
    "processor list with garbage": (
        {f"{CPU}/online": "0-x\n"},
        "host",
        "processors",
        "failed",
    ),
    "topology of one processor unknown": (
        {f"{CPU}/cpu3/topology/core_id": "\n"},
        "host",
        "cores",
        "failed",
    ),
    "docker": ({"/.dockerenv": ""}, "host", "container", "docker"),
    "pod": (
        {"/proc/self/environ": "KUBERNETES_SERVICE_HOST=10.0.0.1\0"},
        "host",
        "container",
        "kubernetes",
    ),
    "container by its control group": (
        {"/proc/1/cgroup": "0::/kubepods.slice/pod1/cri-1.scope\n"},
        "host",
        "container",
        "kubernetes",
    ),
    "host that runs docker": (
        {"/proc/self/cgroup": "0::/system.slice/docker.service\n"},
        "host",
        "container",
        "none",
    ),
    "root of another container": (
        {"/proc/self/mounts": "overlay / overlay rw 0 0\n"},
        "host",
        "container",
        "unnamed",
    ),
    "limit of an outer group": (
        {"/sys/fs/cgroup/system.slice/memory.max": "1073741824\n"},
        "host",
        "memory_limit_bytes",
        1 << 30,
    ),
    "unlimited group of version 1": (
        {
            "/proc/self/cgroup": "5:cpu:/\n4:memory:/job\n",
            "/sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n",
        },
        "host",
        "memory_limit_bytes",
        -1,
    ),
    "limited group of version 1": (
        {
            "/proc/self/cgroup": "5:cpu:/\n4:memory:/job\n",
            "/sys/fs/cgroup/memory/job/memory.limit_in_bytes": "4096\n",
        },
        "host",
        "memory_limit_bytes",
        4096,
    ),
    "group that climbs out": (
        {"/proc/self/cgroup": "0::/../../../../etc\n"},
        "host",
        "memory_limit_bytes",
        -1,
    ),
    "load that is no number": (
        {"/proc/loadavg": "nan 1 1\n"},
        "host",
        "load_one_minute",
        "failed",
    ),
    "degraded pool": (
        {
            "/proc/spl/kstat/zfs/scratch/state": "DEGRADED\n",
            "/proc/spl/kstat/zfs/tank/state": "ONLINE\n",
            "/proc/spl/kstat/zfs/dbgmsg": "text\n",
        },
        "host",
        "degraded_arrays",
        ["scratch"],
    ),
    "aperture devices": (
        {"/dev/aperture_devices/0000:04:00.0": ""},
        "driver",
        "device_nodes",
        [
            "aperture_devices",
            "nvidia-uvm",
            "nvidia0",
            "nvidiactl",
            "infiniband/uverbs0",
        ],
    ),
    "proprietary module": (
        {
            "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel "
            "Module  535.161.08  Sat Feb\n"
        },
        "driver",
        "dma_buf_is_exported",
        False,
    ),
    "version of the proprietary module": (
        {
            "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel "
            "Module  535.161.08  Sat Feb\n"
        },
        "driver",
        "kernel_module_version",
        "535.161.08",
    ),
    "older kernel of a vendor": (
        {"/proc/sys/kernel/osrelease": "4.18.0-513.el8.x86_64\n"},
        "driver",
        "dma_buf_is_exported",
        "absent",
    ),
    "module that names no version": (
        {"/proc/driver/nvidia/version": "garbage", "/sys/module/nvidia/version": "1.2"},
        "driver",
        "kernel_module_version",
        "1.2",
    ),
    "empty library": (
        {"/usr/lib/x86_64-linux-gnu/libcuda.so.1": ""},
        "driver",
        "libraries_empty",
        ["/usr/lib/x86_64-linux-gnu/libcuda.so.1"],
    ),
    "two releases of NCCL": (
        {
            "/proc/self/environ": "LD_LIBRARY_PATH=relative:/venv/nvidia/nccl/lib\0",
            "/venv/nvidia/nccl/lib/libnccl.so.2": "x",
            "/venv/nvidia_nccl_cu12-2.20.5.dist-info/METADATA": "",
        },
        "driver",
        "nccl_version",
        "failed",
    ),
    "both releases of NCCL": (
        {
            "/etc/ld.so.conf.d/venv.conf": "/venv/nvidia/nccl/lib\n",
            "/venv/nvidia/nccl/lib/libnccl.so.2": "x",
            "/venv/nvidia_nccl_cu12-2.20.5.dist-info/METADATA": "",
        },
        "driver",
        "nccl_versions",
        ["2.20.5", "2.21.5"],
    ),
    "OFED by its tool": (
        {"/usr/bin/ofed_info": "#!/bin/bash\necho MLNX_OFED_LINUX-23.10-0.5.5.0:\n"},
        "driver",
        "ofed_version",
        "23.10-0.5.5.0",
    ),
    "driver of the kernel itself": (
        {"/sys/module/mlx5_core/version": "5.0-0\n"},
        "driver",
        "ofed_version",
        "absent",
    ),
    "fabric manager that never ran": (
        {
            "/var/log/fabricmanager.log": "",
            "/var/lib/dpkg/status": "Package: nvidia-fabricmanager-550\n"
            "Status: install ok installed\nVersion: 550.90.07-1\n\nPackage: bash\n"
            "Status: install ok installed\nVersion: 5\n",
        },
        "driver",
        "fabric_manager_version",
        "550.90.07",
    ),
    "fabric manager that was removed": (
        {
            "/var/log/fabricmanager.log": "",
            "/var/lib/dpkg/status": "Package: nvidia-fabricmanager-550\n"
            "Status: deinstall ok config-files\nVersion: 550.90.07-1\n",
        },
        "driver",
        "fabric_manager_version",
        "absent",
    ),
}


@pytest.mark.parametrize("case", ONE_LEAF)
def test_one_leaf(case: str, tmp_path: Path) -> None:
    files, kind, name, expected = ONE_LEAF[case]
    found = content(healthy_but(tmp_path, files), kind)
    assert leaf(found, kind, name) == expected


@pytest.mark.parametrize(
    ("without", "kind", "name", "expected"),
    [
        ("/proc/900/", "driver", "fabric_manager_is_running", False),
        ("/proc/901/", "driver", "persistence_daemon_is_running", False),
        ("/proc/902/", "host", "slurm_daemon_is_running", False),
        # Out of the host's sight: what is seen runs, what is not seen is not known.
        ("/proc/2/", "driver", "fabric_manager_is_running", True),
        ("/proc/2/", "driver", "imex_is_running", "not_permitted"),
        ("/proc/2/", "host", "kubelet_is_running", "not_permitted"),
        ("/proc/2/", "host", "zombie_processes", "not_permitted"),
        ("/proc/mdstat", "host", "degraded_arrays", []),
        ("/usr/sbin/slurmd", "host", "services_installed", ["nv-hostengine"]),
        ("/sys/kernel/mm/mem", "driver", "peer_memory_is_registered", False),
        ("/usr/local/cuda", "driver", "cuda_compatibility_is_installed", False),
        ("/dev/nvidia-caps", "driver", "imex_channels", 0),
        ("/dev/nvidia", "driver", "imex_channels", "absent"),
        ("/dev/", "driver", "device_nodes", "absent"),
        ("/sys/devices/system/edac", "host", "memory_errors_uncorrected", "absent"),
        ("/sys/class/iommu", "host", "iommu_units", "absent"),
        ("/sys/fs/cgroup", "host", "memory_limit_bytes", "absent"),
        ("/etc/os-release", "host", "operating_system", "absent"),
        ("/proc/sys/kernel/arch", "host", "architecture", "absent"),
        ("/usr/lib/x86_64-linux-gnu/libnccl", "driver", "nccl_version", "absent"),
        (("/usr/lib/", "/opt/"), "driver", "libraries", "absent"),
        (("/proc/modules", "/sys/module"), "driver", "modules", "absent"),
    ],
)
def test_one_leaf_of_what_is_missing(
    without: str | tuple[str, ...],
    kind: str,
    name: str,
    expected: object,
    tmp_path: Path,
) -> None:
    paths = (without,) if isinstance(without, str) else without
    found = content(healthy_but(tmp_path, without=paths), kind)
    assert leaf(found, kind, name) == expected


def test_nothing_at_all_is_absent_in_each_leaf(tmp_path: Path) -> None:
    seen = node(tmp_path)
    for single in SINGLES:
        part = seen.single(single)
        for name in part.stated():
            assert not getattr(part, name).is_known, name
    for several in SEVERAL:
        assert not seen.several(several).count.is_known, several
