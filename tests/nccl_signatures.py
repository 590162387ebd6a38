"""A line of each kind that NCCL writes, and the leaves that it gives."""

HEAD = "gpu-0:4000:4001 [0] NCCL INFO "
INIT = "comm 0xa0 rank 0 nranks 2 cudaDev 0 busId 1000 commId 0x5 - Init "
# What every log of one started rank tells besides.
ALWAYS = {
    "id": "0x5",
    "ranks": 2,
    "ranks_seen": 1,
    "finished_ranks": [],
    "unfinished_ranks": [0],
    "is_complete": False,
}
NO_LINKS = {
    "links_by_pointer": 0,
    "links_by_host_memory": 0,
    "links_by_network": 0,
    "links_by_gpudirect": 0,
    "links_by_collnet": 0,
    "socket_links": 0,
}
INTERNAL: dict[str, object] = {"network_plugin": "internal"}

# Key of the signature, the line as a release writes it, the leaves that it gives.
SIGNATURES: list[tuple[str, str, dict[str, object]]] = [
    (
        "version",
        "NCCL version 2.18.3+cuda12.2",
        {"nccl_version": "2.18.3", "cuda_version": "12.2"},
    ),
    (
        "version since 2.25",
        "NCCL version 2.30.4 compiled with CUDA 12.9",
        {"nccl_version": "2.30.4", "cuda_version": "12.9"},
    ),
    (
        "bootstrap-old",
        "Bootstrap : Using [0]lo:127.0.0.1<0>",
        {"bootstrap_interface": "lo"},
    ),
    (
        "bootstrap-old 2.8",
        "Bootstrap : Using eth0:10.0.0.1<0>",
        {"bootstrap_interface": "eth0"},
    ),
    (
        "bootstrap-new",
        "Bootstrap: Using bond0:10.0.0.1<0>",
        {"bootstrap_interface": "bond0"},
    ),
    (
        "no-plugin-old",
        "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
        {"missing_plugin": "libnccl-net.so", **INTERNAL},
    ),
    (
        "no-plugin-old 2.18",
        (
            "NET/Plugin : Plugin load (libnccl-net-x.so) returned 2 : "
            "libnccl-net-x.so: cannot open shared object file: No such file"
        ),
        {"missing_plugin": "libnccl-net-x.so"},
    ),
    ("internal-plugin", "NET/Plugin: Using internal network plugin.", INTERNAL),
    (
        "could-not-find",
        "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
        {"missing_plugin": "libnccl-net.so", **INTERNAL},
    ),
    (
        "could-not-find 2.27",
        "NET/Plugin: Could not find: libnccl-net.so",
        {"missing_plugin": "libnccl-net.so"},
    ),
    (
        "plugin-loaded",
        "Successfully loaded external network plugin libnccl-net-x.so",
        {"loaded_plugins": ["libnccl-net-x.so"]},
    ),
    (
        "plugin-loaded 2.27 without its kind",
        "TUNER/Plugin: Successfully loaded external plugin libnccl-tuner-x.so",
        {
            "loaded_plugins": ["libnccl-tuner-x.so"],
            "tuner_plugin": "libnccl-tuner-x.so",
        },
    ),
    (
        "plugin-assigned",
        "Assigned NET plugin Libfabric to comm",
        {"network": "Libfabric", "network_plugin": "Libfabric"},
    ),
    ("using-network", "Using network IB", {"network": "IB", **INTERNAL}),
    (
        "using-network of a plugin",
        "Using network AWS Libfabric",
        {"network": "AWS Libfabric", "network_plugin": "AWS Libfabric"},
    ),
    (
        "ib-none",
        "NET/IB : No device found.",
        {"verbs_failure": "no device found"},
    ),
    (
        "verbs-missing",
        "Failed to open libibverbs.so[.1]",
        {"verbs_failure": "libibverbs.so cannot be opened"},
    ),
    (
        "verbs-missing 2.30",
        "Failed to load libibverbs: libibverbs.so.1: cannot open shared object file",
        {"verbs_failure": "libibverbs.so cannot be opened"},
    ),
    (
        "ib-list",
        "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_2:1/RoCE [RO]; OOB ib0:10.0.0.1<0>",
        {"adapters": ["mlx5_0:1/IB", "mlx5_2:1/RoCE"], "network": "IB", **INTERNAL},
    ),
    (
        "gdr-hca",
        "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
        {"gpudirect_adapters": ["mlx5_0"]},
    ),
    (
        "gdr-hca disabled",
        "NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'",
        {"no_gpudirect_adapters": ["mlx5_1"]},
    ),
    (
        "gdr-hca pair",
        "GPU Direct RDMA Enabled for GPU 81000 / HCA 1 (distance 6 <= 7), read 0",
        {"gpudirect_pairs": 1},
    ),
    (
        "gdr-hca pair too far",
        "GPU Direct RDMA Disabled for GPU 3 / HCA 0 (distance 9 > 4)",
        {"no_gpudirect_pairs": 1},
    ),
    ("dmabuf", "DMA-BUF is available on GPU device 0", {}),
    (
        "chan-gdr",
        "Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IBext_v8/0(1)/GDRDMA/Shared",
        {
            **NO_LINKS,
            "links_by_network": 1,
            "links_by_gpudirect": 1,
            "network": "IBext_v8",
            "network_plugin": "IBext_v8",
        },
    ),
    (
        "chan-net",
        "Channel 00 : 0[1a000] -> 1[1b000] [send] via NET/Socket/0",
        {
            **NO_LINKS,
            "links_by_network": 1,
            "socket_links": 1,
            "network": "Socket",
            **INTERNAL,
        },
    ),
    (
        "chan-p2p",
        "Channel 03/0 : 0[0] -> 1[1] via P2P/CUMEM/read comm 0xa0 nRanks 02",
        {**NO_LINKS, "links_by_pointer": 1},
    ),
    (
        "chan-p2p 2.4",
        "Ring 00 : 0[0] -> 1[1] via P2P/IPC",
        {**NO_LINKS, "links_by_pointer": 1},
    ),
    (
        "chan-shm-old",
        "Channel 00 : 0[1a000] -> 1[1b000] via direct shared memory",
        {**NO_LINKS, "links_by_host_memory": 1},
    ),
    (
        "chan-shm",
        "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct",
        {**NO_LINKS, "links_by_host_memory": 1},
    ),
    (
        "collnet",
        "CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA",
        {**NO_LINKS, "links_by_collnet": 1},
    ),
    (
        "nvls-ok",
        "NVLS multicast support is available on dev 0",
        {"gpus_with_multicast": 1},
    ),
    (
        "nvls-no",
        "NVLS multicast support is not available on dev 0 (NVLS_NCHANNELS 0)",
        {"gpus_without_multicast": 1},
    ),
    ("nvls-tree", "Connected NVLS tree", {"has_nvls_tree": True}),
    (
        "rings",
        "Connected all rings, use ring PXN 1 GDR 0",
        {"has_rings": True, "ring_has_pxn": True, "ring_has_gpudirect": False},
    ),
    ("trees", "Connected all trees", {"has_trees": True}),
    (
        "chan-count",
        (
            "24 coll channels, 8 collnet channels, 16 nvls channels, 32 p2p channels, "
            "2 p2p channels per peer"
        ),
        {
            "coll_channels": 24,
            "collnet_channels": 8,
            "nvls_channels": 16,
            "p2p_channels": 32,
            "p2p_channels_per_peer": 2,
        },
    ),
    (
        "nnodes",
        "comm 0xa0 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 1",
        {"nodes": 2, "ranks_per_node": 1, "is_mnnvl": True},
    ),
    (
        "mnnvl",
        (
            "MNNVL busId 0x1000 fabric UUID 7a4a.c4fe cliqueId 0x7ffe state 3 "
            "healthMask 0x0"
        ),
        {"nvlink_cliques": 1},
    ),
    (
        "mnnvl without a fabric",
        "MNNVL busId 0x1000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x0",
        {"nvlink_cliques": 0},
    ),
    (
        "init-done",
        f"{INIT}COMPLETE",
        {"finished_ranks": [0], "unfinished_ranks": []},
    ),
    (
        "init-timings",
        "Init timings: rank 0 nranks 2 total 1.08 (kernels 0.51, bootstrap 0.22)",
        {"init_seconds": 1.08},
    ),
    (
        "tuning-old",
        "805306368 Bytes -> Algo 1 proto 2 time 3970.683594",
        {
            "tuned_collective": [None],
            "tuned_bytes": [805306368],
            "tuned_algorithm": ["RING"],
            "tuned_protocol": ["SIMPLE"],
        },
    ),
    (
        "tuning of 2.23",
        "AllReduce: 4096 Bytes -> Algo 0 proto 1 time 21.500000",
        {
            "tuned_collective": ["AllReduce"],
            "tuned_bytes": [4096],
            "tuned_algorithm": ["TREE"],
            "tuned_protocol": ["LL128"],
        },
    ),
    (
        "tuning-new",
        "AllReduce: 4096 Bytes -> Algo NVLS_TREE proto LL128 channel{Lo..Hi}={0..1}",
        {
            "tuned_collective": ["AllReduce"],
            "tuned_bytes": [4096],
            "tuned_algorithm": ["NVLS_TREE"],
            "tuned_protocol": ["LL128"],
        },
    ),
    (
        "ofi-provider",
        "NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)",
        {"libfabric_provider": "efa", "libfabric_adapters": 16},
    ),
]
