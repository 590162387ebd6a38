"""Logs in the words of nccl-tests, for the tests of their reader."""

HEAD = """\
# nccl-tests version 2.17.8 nccl-headers=22807 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 536870912 maxBytes 1073741824 step: 2(factor) \
warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   4101 on     node-b device  0 [0000:19:00] NVIDIA H200
#  Rank  1 Group  0 Pid   4102 on     node-b device  1 [0000:2d:00] NVIDIA H200
#  Rank  2 Group  0 Pid   7301 on     node-a device  0 [0000:19:00] NVIDIA H200
#  Rank  3 Group  0 Pid   7302 on     node-a device  1 [0000:2d:00] NVIDIA H200
NCCL version 2.28.9+cuda13.0
#
"""
NAMES = """\
#                                              out-of-place              in-place
#       size    count   type redop root    time  algbw  busbw #wrong    time  \
algbw  busbw #wrong
#        (B) (elements)                    (us) (GB/s) (GB/s)           (us) \
(GB/s) (GB/s)
"""
ROWS = """\
   536870912   134217728  float  sum  -1  2984.6  179.88  269.82      0  2979.7  \
180.18  270.27      0
  1073741824   268435456  float  sum  -1  5808.0  184.87  277.31      0  5882.2  \
182.54  273.81      2
"""
FOOT = """\
# Out of bounds values : 1 FAILED
# Avg bus bandwidth    : 272.8
# GPU memory usage     : Initialization 1.2 GB | Total  1.2 GB
#
# Collective test concluded: all_reduce_perf
#
"""
LOG = HEAD + NAMES + ROWS + FOOT
OUT = {
    "tool": "nccl-tests",
    "tool_version": "2.17.8",
    "library_version": "2.28.9",
    "backend": "nccl",
    "collective": "all_reduce",
    "placement": "out_of_place",
    "data_type": "float",
    "gpu": "NVIDIA H200",
    "ranks": 4,
    "nodes": 2,
    "hosts": ["node-b", "node-a"],
    "warmup_iterations": 5,
    "iterations": 20,
    "is_complete": True,
    "is_compared": True,
    "out_of_bounds": 1,
    "size_bytes": [2**29, 2**30],
    "seconds": [0.0029846, 0.005808],
    "algorithm_bytes_per_second": [179.88e9, 184.87e9],
    "bus_bytes_per_second": [269.82e9, 277.31e9],
    "wrong_values": [0, 0],
}
IN = {
    **OUT,
    "placement": "in_place",
    "seconds": [0.0029797, 0.0058822],
    "algorithm_bytes_per_second": [180.18e9, 182.54e9],
    "bus_bytes_per_second": [270.27e9, 273.81e9],
    "wrong_values": [0, 2],
}

OLD = """\
# nThread 1 nGpus 4 minBytes 1 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 \
validation: 1
#
# Using devices
#   Rank  0 Pid  51 on   dgx-03 device  0 [0x07] Tesla V100-SXM3-32GB
#   Rank  1 Pid  51 on   dgx-03 device  1 [0x0a] Tesla V100-SXM3-32GB
#   Rank  2 Pid  51 on   dgx-03 device  2 [0x0f] Tesla V100-SXM3-32GB
#   Rank  3 Pid  51 on   dgx-03 device  3 [0x12] Tesla V100-SXM3-32GB
#
#                                    out-of-place                   in-place
#       size  count   type    time   algbw   busbw  error    time   algbw   busbw  error
#        (B)  (elements)       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
dgx-03:51:51 [0] NCCL INFO Launch mode Group/CGMD
           0      0  float   34.27    0.00    0.00  0e+00   33.57    0.00    0.00  0e+00
    33554432 2097152 float   265.8  126.24   94.68  4e-07   257.5  130.33   97.75    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 24.1
"""

ALONE = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 1 iters: 20 \
agg iters: 1 validation: 1 graph: 0
# Using devices
#  Rank  0 Group  0 Pid  {pid} on {host} device  {device} [0000:19:00] NVIDIA H200
"""
ALONE_ROWS = """\
 8 2 float sum -1 3.27 0.00 0.00 0 0.27 0.03 0.00 0
 16 4 float sum -1 3.11 0.01 0.00 0 0.25 0.06 0.00 0
"""
ALONE_FOOT = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0\n"
