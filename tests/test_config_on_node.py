"""What fits one machine and not another: rules on a healthy twin and a faulty one."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import pytest

from speccheck.validator.engine.request import Request
from speccheck.validator.run.run import run
from speccheck.validator.simulation.healthy import Snapshot, healthy_node

Change = Callable[[Snapshot], object]
Files = dict[str, str]
Found = set[tuple[str, str, str]]  # clause, rule, outcome


class Twins(NamedTuple):
    """Files of a job, a machine that they fit, and what another one shows.

    faulty: a type of machine, or what is changed of the healthy one.
    appears: what fails there and does not on the healthy machine; all of it.
    holds: what the same rules say on the healthy machine.
    """

    files: Files
    healthy: str
    faulty: str | Change
    appears: set[tuple[str, str]]
    holds: str = "pass"

    def machines(self) -> tuple[Snapshot, Snapshot]:
        """Return the one that fits and the one that does not."""
        well = healthy_node(self.healthy)
        if isinstance(self.faulty, str):
            return well, healthy_node(self.faulty)
        changed = deepcopy(well)
        self.faulty(changed)
        return well, changed


def _native(text: str) -> Files:
    return {"config.yaml": f"speccheck: 1\n{text}\n"}


def _script(*lines: str) -> Files:
    command = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --num-layers 32"
    return {"job.sh": "\n".join((*lines, command, ""))}


def _without_last_gpu(node: Snapshot) -> None:
    node["gpus"].pop()
    gone = node["pci_devices"][len(node["gpus"])]
    node["pci_devices"].remove(gone)


def _less_memory(node: Snapshot) -> None:
    """Shrink one GPU: every rank has what the smallest has."""
    node["gpus"][7]["memory_total_bytes"] = 16 * 2**30


def _less_host_memory(node: Snapshot) -> None:
    """Let the host show less than its type is sold with: half the modules are lost."""
    node["host"]["memory_total_bytes"] = 512 * 2**30


def _variable(name: str, value: str) -> Change:
    leaves = {"name": name, "value": value, "layer": "environment"}
    return lambda node: node["variables"].append(leaves)


def _driver(**leaves: object) -> Change:
    return lambda node: node["driver"].update(leaves)


def _renamed(leaf: str, old: str, new: str, *kinds: str) -> Change:
    def change(node: Snapshot) -> None:
        for kind in kinds:
            for part in node[kind]:
                part[leaf] = part[leaf].replace(old, new)

    return change


LLAMA_1B = _native(
    """\
cluster: {nodes: 1}
parallelism: {sharding_stage: 0, tensor_parallel_size: 1, pipeline_parallel_size: 1}
precision: {compute_dtype: bf16, parameter_dtype: fp32}
batch: {micro_batch_size: 1, sequence_length: 2048}
memory: {recompute_mode: full}
kernels: {attention_backend: flash}
optimizer: {name_of_optimizer: adamw}
model:
  family: transformer
  layers: 16
  hidden_size: 2048
  attention_heads: 32
  key_value_heads: 8
  head_dimension: 64
  feed_forward_size: 8192
  gated_feed_forward: true
  vocabulary_size: 128256
  tied_embeddings: true"""
)
OFFLOADED = _native(
    """\
run: {role: sft}
cluster: {nodes: 1, instance_type: p4d.24xlarge}
parallelism:
  engine: deepspeed
  sharding_stage: 3
  tensor_parallel_size: 1
  pipeline_parallel_size: 1
precision: {compute_dtype: bf16}
batch: {micro_batch_size: 1, sequence_length: 2048}
memory: {recompute_mode: full, optimizer_offload_device: cpu}
kernels: {attention_backend: flash}
optimizer: {name_of_optimizer: adamw}
model:
  family: transformer
  layers: 80
  hidden_size: 8192
  attention_heads: 64
  key_value_heads: 8
  feed_forward_size: 28672
  gated_feed_forward: true
  vocabulary_size: 128256
  tied_embeddings: false"""
)
EIGHT = "mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7"
TWINS: dict[str, Twins] = {
    "memory of this GPU": Twins(
        LLAMA_1B,
        "dgx-h100",
        _less_memory,
        {("MEM-002", "large_model_without_sharding"), ("HW-001", "gpus_differ")},
    ),
    "host memory of this machine": Twins(
        OFFLOADED,
        "aws-p4d",
        _less_host_memory,
        {("MEM-021", "host_memory_below_offload")},
    ),
    "bf16": Twins(
        _native("precision: {bf16: true, compute_dtype: bf16}"),
        "aws-p4d",
        "aws-p3dn",
        {("PREC-003", "bf16_before_ampere")},
    ),
    "fp8": Twins(
        _native("precision: {fp8: true, fp8_recipe: delayed}"),
        "aws-p5",
        "aws-p4d",
        {("PREC-006", "fp8_without_hardware_support")},
    ),
    "tensor parallelism within pairs": Twins(
        _native("cluster: {nodes: 2}\nparallelism: {tensor_parallel_size: 4}"),
        "dgx-gb200",
        "azure-nc96ads-a100-v4",
        {("TOPO-001", "tensor_parallel_beyond_nvlink_domain")},
    ),
    "ranks and GPUs": Twins(
        _script(),
        "dgx-h100",
        _without_last_gpu,
        {
            ("HW-086", "gpus_unlike_machine_type"),
            ("HW-171", "gpu_count_odd"),
            ("TOPO-050", "fewer_gpus_present_than_asked"),
        },
    ),
    "devices of a larger node": Twins(
        _script("export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7"),
        "dgx-h100",
        _without_last_gpu,
        {
            ("HW-086", "gpus_unlike_machine_type"),
            ("HW-171", "gpu_count_odd"),
            ("TOPO-050", "fewer_gpus_present_than_asked"),
            ("TOPO-060", "visible_device_missing"),
        },
    ),
    "devices that the shell hides": Twins(
        _script(),
        "dgx-h100",
        _variable("CUDA_VISIBLE_DEVICES", "0,1,2,3"),
        {("COMM-017", "more_processes_than_devices")},
        holds="not_applicable",
    ),
    "timeout of the shell and watchdog of the file": Twins(
        _native("cluster: {nodes: 2}\ncommunication: {timeout_seconds: 120}"),
        "dgx-h100",
        _variable("NCCL_IB_TIMEOUT", "23"),
        {("FT-004", "transport_retries_outlast_watchdog")},
        holds="not_applicable",
    ),
    "interface of another type of machine": Twins(
        _script("export NCCL_SOCKET_IFNAME=eth0"),
        "dgx-h100",
        _renamed("name", "eth0", "ens3", "network_interfaces"),
        {("FAB-028", "bootstrap_interface_unusable")},
    ),
    "adapters of another type of machine": Twins(
        _script(f"export NCCL_IB_HCA=={EIGHT}"),
        "dgx-h100",
        _renamed("device", "mlx5_", "mlx5_ib", "rdma_ports"),
        {("FAB-027", "adapter_list_misses_ports")},
    ),
    "topology file of another machine": Twins(
        _script("export NCCL_TOPO_FILE=/opt/topo.xml"),
        "dgx-h100",
        _driver(topology_file_addresses=["000b:00:00.0"]),
        {("FAB-030", "topology_file_of_other_machine")},
    ),
    "another GPU than the file names": Twins(
        _native("cluster: {accelerator: h100-sxm5-80gb}"),
        "dgx-h100",
        "dgx-a100",
        {("CONF-009", "conflicting_statements")},
    ),
}


def outcomes(folder: Path, files: Files, node: Snapshot) -> Found:
    """Return what the rules say of a job on a machine."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "node.json").write_text(json.dumps(node), encoding="utf-8")
    request = Request(
        arguments=tuple(str(folder / name) for name in files),
        node=str(folder / "node.json"),
    )
    (plan,) = run(request).plans
    found = [finding.finding for finding in plan.findings]
    return {(finding.clause, finding.rule, finding.outcome) for finding in found}


@pytest.mark.parametrize("name", TWINS)
def test_a_job_fits_one_machine_and_not_its_twin(name: str, tmp_path: Path) -> None:
    twins = TWINS[name]
    well, faulty = (outcomes(tmp_path, twins.files, item) for item in twins.machines())
    appeared = {
        (clause, rule)
        for clause, rule, outcome in faulty - well
        if outcome in {"fail", "error"}
    }
    assert appeared == twins.appears
    said = {outcome for clause, rule, outcome in well if (clause, rule) in appeared}
    assert said == {twins.holds}


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("export LD_LIBRARY_PATH=/ours/lib", "unknown"),
        ("export LD_LIBRARY_PATH=/ours/lib:$LD_LIBRARY_PATH", "unknown"),
        ("", "fail"),
    ],
)
def test_a_plugin_in_folders_of_the_job_is_undecided(
    line: str, outcome: str, tmp_path: Path
) -> None:
    """The probe looked where its own process would."""
    files = _script(line, "export NCCL_NET_PLUGIN=ours")
    found = outcomes(tmp_path, files, healthy_node("dgx-h100"))
    assert ("FAB-029", "plugin_not_found", outcome) in found


@pytest.mark.parametrize(
    "leaves",
    [
        {"topology_file": "/opt/other.xml"},
        {"topology_file": {"status": "absent", "source": "NCCL_TOPO_FILE"}},
    ],
    ids=["another", "none"],
)
def test_a_topology_file_that_was_not_looked_at_is_undecided(
    leaves: dict[str, object], tmp_path: Path
) -> None:
    """The snapshot was taken without the variables of the job."""
    node = deepcopy(healthy_node("dgx-h100"))
    node["driver"].update(leaves)
    files = _script("export NCCL_TOPO_FILE=/opt/topo.xml")
    found = outcomes(tmp_path, files, node)
    assert ("FAB-030", "topology_file_of_other_machine", "unknown") in found
