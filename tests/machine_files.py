"""Files of machines, for `--sysroot`: a healthy one, to be made faulty by tests.

Paths and texts are those of a node with two sockets, two GPUs behind one PCIe switch
each, two ConnectX-7 and a drive; small, and complete in what probes read.
"""

import os
from pathlib import Path

Files = dict[str, str | bytes]

DMI = "/sys/devices/virtual/dmi/id"
PCI = "/sys/devices/pci0000:10"
GPU, NIC, DRIVE = "0000:1b:00.0", "0000:1c:00.0", "0000:31:00.0"
PORT, SWITCH, SLOT = "0000:10:01.0", "0000:18:00.0", "0000:19:00.0"
XID = "NVRM: Xid (PCI:0000:1b:00): {code}, pid=4242, name=python, {rest}"


def build(folder: Path, files: Files, links: dict[str, str] | None = None) -> Path:
    """Write the files; links: where they lead, absolute or from where they stand."""
    for path, content in files.items():
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            place.write_text(content, encoding="utf-8")
        else:
            place.write_bytes(content)
    for path, target in (links or {}).items():
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        where = (
            os.path.relpath(folder / target.lstrip("/"), place.parent)
            if target.startswith("/")
            else target
        )
        place.symlink_to(where.removeprefix("out:"))
    return folder


def healthy() -> tuple[Files, dict[str, str]]:
    """Return the files and links of a healthy node."""
    files = {
        **_identity(),
        **_processors(),
        **_memory(),
        **_state(),
        **_processes(),
        **_driver(),
        **_settings(),
        **_rdma(),
    }
    pci, links = _pci()
    files |= pci
    links |= {
        "/sys/class/infiniband/mlx5_0/device": f"{PCI}/{PORT}/{SWITCH}/{SLOT}/{NIC}",
        "/sys/class/net/ib0/device": f"{PCI}/{PORT}/{SWITCH}/{SLOT}/{NIC}",
        "/usr/lib/x86_64-linux-gnu/libnccl.so.2": (
            "/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5"
        ),
        "/opt/amazon/ofi-nccl/lib/libnccl-net.so": (
            "/opt/amazon/ofi-nccl/lib/libnccl-net.so.0.0.0"
        ),
    }
    return files, links


def _identity() -> Files:
    return {
        f"{DMI}/sys_vendor": "Amazon EC2\n",
        f"{DMI}/product_name": "p5.48xlarge\n",
        f"{DMI}/board_name": "Not Specified\n",
        "/proc/sys/kernel/osrelease": "6.8.0-1021-aws\n",
        "/proc/sys/kernel/hostname": "node-17\n",
        "/proc/sys/kernel/arch": "x86_64\n",
        "/etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"\n',
        "/proc/self/mounts": "/dev/root / ext4 rw,relatime 0 0\n",
        "/proc/cmdline": (
            "BOOT_IMAGE=/vmlinuz root=UUID=0f5a ro iommu=pt intel_iommu=on "
            "numa_balancing=disable secret=abc\n"
        ),
    }


def _processors() -> Files:
    """Return two sockets of two cores of two threads."""
    cpu = "/sys/devices/system/cpu"
    info = "".join(
        f"processor\t: {number}\nmodel name\t: Intel(R) Xeon(R) Platinum 8480C\n"
        f"cpu MHz\t\t: {2000 + 100 * (number % 2)}.000\n"
        "flags\t\t: fpu vme hypervisor tsc\n\n"
        for number in range(8)
    )
    files: Files = {"/proc/cpuinfo": info, f"{cpu}/online": "0-7\n"}
    for number in range(8):
        topology = f"{cpu}/cpu{number}/topology"
        files[f"{topology}/physical_package_id"] = f"{number % 4 // 2}\n"
        files[f"{topology}/core_id"] = f"{number % 2}\n"
        files[f"{topology}/die_id"] = "0\n"
        governor = f"{cpu}/cpufreq/policy{number}/scaling_governor"
        files[governor] = "performance\n"
    files[f"{cpu}/cpu0/cpufreq/base_frequency"] = "2000000\n"
    files["/sys/devices/system/node/has_cpu"] = "0-1\n"
    files["/proc/self/status"] = (
        "Name:\tcat\nUid:\t1000\t1000\t1000\t1000\nCpus_allowed_list:\t0-7\n"
    )
    return files


def _memory() -> Files:
    return {
        "/proc/meminfo": (
            "MemTotal:       2113465048 kB\nMemFree:         1000 kB\n"
            "MemAvailable:   2080000000 kB\nSwapTotal:             0 kB\n"
            "HugePages_Total:    5128\nHugepagesize:       2048 kB\n"
        ),
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "/proc/sys/kernel/numa_balancing": "0\n",
        "/proc/buddyinfo": (
            "Node 0, zone      DMA      0      0      0      0      0      0      0"
            "      0      1      1      2 \n"
            "Node 0, zone   Normal      9      9      9      9      9      9      9"
            "      9     20     30     40 \n"
            "Node 1, zone   Normal      9      9      9      9      9      9      9"
            "      9    200    300    400 \n"
        ),
        "/sys/devices/system/edac/mc/mc0/ue_count": "0\n",
        "/sys/devices/system/edac/mc/mc1/ue_count": "0\n",
        "/proc/self/cgroup": "0::/system.slice/slurmd.service\n",
        "/sys/fs/cgroup/cgroup.controllers": "memory\n",
        "/sys/fs/cgroup/system.slice/memory.max": "max\n",
        "/sys/fs/cgroup/system.slice/slurmd.service/memory.max": "1099511627776\n",
        "/proc/self/limits": (
            "Limit                     Soft Limit           Hard Limit   Units\n"
            "Max processes             8192000              8192000       processes \n"
            "Max open files            1048576              1048576      files\n"
            "Max locked memory         unlimited            unlimited           bytes\n"
        ),
    }


def _state() -> Files:
    clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    return {
        clock: "tsc\n",
        "/proc/uptime": "86400.55 690000.12\n",
        "/proc/loadavg": "1.50 1.20 1.10 2/3000 12345\n",
        "/proc/stat": "cpu 1 2 3\n",
        "/proc/mdstat": (
            "Personalities : [raid1]\nmd0 : active raid1 nvme1n1[1] nvme0n1[0]\n"
            "      937560384 blocks super 1.2 [2/2] [UU]\n\nunused devices: <none>\n"
        ),
        "/sys/class/iommu/dmar0/name": "",
        "/sys/class/iommu/dmar1/name": "",
        "/dev/kmsg": (
            "5,0,0,-;Linux version 6.8.0-1021-aws (buildd@lcy02)\n"
            "6,1,1500000,-;pci 0000:10:01.0: [8086:352a] type 01\n"
            " SUBSYSTEM=pci\n"
            "30,2,9000000,-;systemd[1]: NVRM: Xid (PCI:0000:1b:00): 79, not it\n"
            "6,3,12250000,-;mlx5_core 0000:1c:00.0: firmware version: 28.39.3004\n"
        ),
    }


def process(number: int, name: str, state: str = "S", flags: int = 4194304) -> Files:
    """Return one process, as proc(5) describes its stat."""
    fields = f"1 {number} {number} 0 -1 {flags} " + "0 " * 12 + f"{number * 10} 0 0"
    return {f"/proc/{number}/stat": f"{number} ({name}) {state} {fields}\n"}


def _processes() -> Files:
    thread = 0x00200040
    return {
        **process(1, "systemd"),
        **process(2, "kthreadd", flags=thread),
        **process(77, "md0_raid1", "D", thread),
        **process(900, "nv-fabricmanage"),
        **process(901, "nvidia-persiste"),
        **process(902, "slurmd"),
        "/usr/sbin/slurmd": "",
        "/usr/bin/nv-hostengine": "",
        **process(903, "a) b (c"),
    }


def _driver() -> Files:
    return {
        "/proc/driver/nvidia/version": (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  "
            "Release Build  (dvs-builder@U16)\nGCC version:  gcc version 11.4.0\n"
        ),
        "/proc/modules": (
            "nvidia_peermem 16384 0 - Live 0x0000000000000000 (OE)\n"
            "nvidia_uvm 4956160 0 - Live 0x0000000000000000 (OE)\n"
            "nvidia 54124544 2 nvidia_uvm, Live 0x0000000000000000 (OE)\n"
            "snd 1 0 - Live 0x0000000000000000\n"
        ),
        "/sys/module/mlx5_core/version": "24.10-0.7.0\n",
        "/dev/nvidia0": "",
        "/dev/nvidiactl": "",
        "/dev/nvidia-uvm": "",
        "/dev/null": "",
        "/dev/infiniband/uverbs0": "",
        "/dev/nvidia-caps-imex-channels/channel0": "",
        "/var/log/fabricmanager.log": (
            "[Nov 01 2026] Fabric Manager version is : 535.54.03\n"
            "[Nov 20 2026] Fabric Manager version is : 550.54.15\n"
        ),
        "/sys/kernel/mm/memory_peers/nv_mem/version": "550.54.15\n",
        "/usr/local/cuda/compat/libcuda.so.1": "x",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1": "x",
        "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "x",
        "/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5": "x",
        "/opt/amazon/openmpi/bin/mpirun": "x",
        "/opt/amazon/ofi-nccl/lib/libnccl-net.so.0.0.0": (
            b"\x7fELF\0\0Initializing aws-ofi-nccl 1.13.2-aws\0\xff"
        ),
    }


def _settings() -> Files:
    return {
        "/proc/self/environ": (
            "NCCL_DEBUG=WARN\0PATH=/bin\0AWS_SECRET_ACCESS_KEY=hidden\0"
            "NCCL_DEBUG=INFO\0odd\0HOME=/elsewhere\0"
        ),
        "/etc/passwd": "root:x:0:0::/root:/bin/sh\nada:x:1000:9::/home/ada:/bin/sh\n",
        "/home/ada/.nccl.conf": (
            "# own\nNCCL_IB_HCA=mlx5\nNCCL_TOPO_FILE=/etc/topo.xml\nno assignment\n"
        ),
        "/etc/topo.xml": (
            '<system><pci busid="0000:1B:00.0"/><pci busid="0000:1c:00.0"/></system>'
        ),
        "/etc/nccl.conf": "NCCL_SOCKET_IFNAME=eth0\nNCCL_IB_HCA=ignored\n",
    }


def _rdma() -> Files:
    device, port = (
        "/sys/class/infiniband/mlx5_0",
        ("/sys/class/infiniband/mlx5_0/ports/1"),
    )
    return {
        f"{device}/fw_ver": "28.39.3004\n",
        f"{device}/board_id": "MT_0000000838\n",
        f"{device}/hca_type": "MT4129\n",
        f"{device}/node_guid": "9803:9b03:0012:3456\n",
        f"{device}/node_type": "1: CA\n",
        f"{device}/sys_image_guid": "9803:9b03:0012:3456\n",
        f"{port}/state": "4: ACTIVE\n",
        f"{port}/phys_state": "5: LinkUp\n",
        f"{port}/link_layer": "InfiniBand\n",
        f"{port}/rate": "400 Gb/sec (4X NDR)\n",
        f"{port}/lid": "0x1a\n",
        f"{port}/lid_mask_count": "0\n",
        f"{port}/sm_lid": "0x1\n",
        f"{port}/sm_sl": "0\n",
        f"{port}/cap_mask": "0xa651e848\n",
        f"{port}/pkeys/0": "0xffff\n",
        f"{port}/gids/0": "fe80:0000:0000:0000:9803:9b03:0012:3456\n",
        f"{port}/gids/1": "0000:0000:0000:0000:0000:0000:0000:0000\n",
        f"{port}/gid_attrs/types/0": "IB/RoCE v1\n",
        f"{port}/gid_attrs/ndevs/0": "ib0\n",
        f"{port}/counters/symbol_error": "0\n",
        f"{port}/counters/link_downed": "0\n",
        f"{port}/counters/port_xmit_wait": "4294967295\n",
        f"{port}/hw_counters/out_of_sequence": "3\n",
        "/sys/class/net/ib0/operstate": "up\n",
        "/sys/class/net/ib0/mtu": "4092\n",
        "/sys/class/net/ib0/speed": "400000\n",
        "/sys/class/net/ib0/carrier_changes": "2\n",
        "/sys/class/net/ib0/address": "00:00:10:49:fe:80\n",
        **{
            f"/sys/class/net/ib0/ecn/roce_{point}/enable/{priority}": f"{state}\n"
            for point, states in (("np", "10010000"), ("rp", "00000000"))
            for priority, state in enumerate(states)
        },
        "/sys/class/net/lo/operstate": "unknown\n",
        "/proc/net/route": "Iface\tDestination\tGateway\nib0\t0000A8C0\t00000000\n",
        "/proc/net/dev": "Inter-|   Receive\n",
        "/proc/net/if_inet6": (
            "fe800000000000009a039b0300123456 03 40 20 80      ib0\n"
        ),
    }


def config_space(
    *, read_request: int = 5, access_control: int | None = None, length: int = 4096
) -> bytes:
    """Return a configuration space with a PCI Express capability at 0x60.

    read_request: coded, 5 is 4096 bytes; access_control: behind another capability.
    """
    space = bytearray(length)
    if length <= 64:
        return bytes(space)
    space[0x06] = 0x10
    space[0x34] = 0x40
    space[0x40:0x42] = b"\x01\x60"  # power management first
    space[0x60:0x62] = b"\x10\x00"
    space[0x68:0x6A] = (read_request << 12 | 0x0810).to_bytes(2, "little")
    space[0x100:0x104] = (0x0001 | 1 << 16 | 0x148 << 20).to_bytes(4, "little")
    if access_control is not None:
        space[0x148:0x14C] = (0x000D | 1 << 16).to_bytes(4, "little")
        space[0x14E:0x150] = access_control.to_bytes(2, "little")
    return bytes(space)


def _pci() -> tuple[Files, dict[str, str]]:
    """Return a GPU and a network adapter behind a switch, a drive, a sound card."""
    above = f"{PCI}/{PORT}/{SWITCH}/{SLOT}"
    rows = (
        (f"{PCI}/{PORT}", "0x8086", "0x352a", "0x060400", "pcieport"),
        (f"{PCI}/{PORT}/{SWITCH}", "0x1000", "0xc030", "0x060400", "pcieport"),
        (above, "0x1000", "0xc030", "0x060400", "pcieport"),
        (f"{above}/{GPU}", "0x10de", "0x2330", "0x030200", "nvidia"),
        (f"{above}/{NIC}", "0x15b3", "0x1021", "0x020700", "mlx5_core"),
        (f"{PCI}/{DRIVE}", "0x144d", "0xa824", "0x010802", "nvme"),
        (f"{PCI}/0000:32:00.0", "0x8086", "0x1234", "0x040300", "snd"),
        (f"{PCI}/0000:33:00.0", "0x10de", "0x22a3", "0x068000", "nvidia-nvswitch"),
        (f"{PCI}/0000:34:00.0", "0x8086", "0x0b00", "0x068000", "other"),
    )
    files: Files = {}
    links: dict[str, str] = {}
    for path, vendor, device, code, driver in rows:
        name = path.rpartition("/")[2]
        links[f"/sys/bus/pci/devices/{name}"] = path
        links[f"{path}/driver"] = f"/sys/bus/pci/drivers/{driver}"
        links[f"{path}/iommu_group"] = "/sys/kernel/iommu_groups/41"
        files[f"/sys/bus/pci/drivers/{driver}/module"] = ""
        bridge = code == "0x060400"
        files |= {
            f"{path}/vendor": f"{vendor}\n",
            f"{path}/device": f"{device}\n",
            f"{path}/class": f"{code}\n",
            f"{path}/numa_node": "0\n",
            f"{path}/current_link_speed": "32.0 GT/s PCIe\n",
            f"{path}/max_link_speed": "32.0 GT/s PCIe\n",
            f"{path}/current_link_width": "16\n",
            f"{path}/max_link_width": "16\n",
            f"{path}/aer_dev_correctable": "RxErr 1\nBadTLP 2\nTOTAL_ERR_COR 3\n",
            f"{path}/aer_dev_nonfatal": "Undefined 0\nTOTAL_ERR_NONFATAL 0\n",
            f"{path}/aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 0\n",
            f"{path}/config": config_space(access_control=0 if bridge else None),
        }
    files["/sys/kernel/iommu_groups/41/type"] = "identity\n"
    return files, links
