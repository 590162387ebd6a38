"""Tensor parallelism on GPUs without fast links between them.

Why it hurts: the activations of each layer cross PCIe, at a tenth of NVLink's bandwidth
or less. Compute waits in every layer.

What passes: tensor parallelism on GPUs with NVLink.

Where it does not apply: the GPU is not named; accelerators of other vendors, which are
joined by links of their own (xGMI, ICI, NeuronLink).

Source: Narayanan et al. 2021 (arXiv:2104.04473); NVIDIA data sheets: L40S has PCIe 4.0
(64 GB/s both ways), H100 SXM has NVLink (900 GB/s both ways).

Bad::

    --tensor-model-parallel-size 4     # on L40S

Good::

    --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4
"""

from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NVIDIA = "nvidia"


@rule(clause="TOPO-001", confidence="advisory", about=("cluster.has_nvlink",))
def tensor_parallel_without_nvlink(
    cluster: Cluster, parallelism: Parallelism
) -> Verdicts:
    """Judge tensor parallelism where the GPU is known."""
    family = cluster.accelerator_family.or_else(_NVIDIA)
    if not cluster.has_nvlink.is_known or family != _NVIDIA:
        return
    tensor = parallelism.tensor_parallel_size
    at = (tensor, cluster.has_nvlink)
    if cluster.has_nvlink.value:
        yield passed(at=at)
        return
    name = cluster.accelerator.or_else("the GPU")
    yield fail(
        f"tensor-parallel size {tensor.need()} on {name}, which has no NVLink",
        at=at,
        measured=tensor.need(),
        required=1,
        cost="each layer exchanges its activations over PCIe",
        remedy="Cut the model by pipeline stages or shard it (FSDP, ZeRO) instead.",
    )
