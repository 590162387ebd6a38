"""A tensor-parallel group larger than the domain of fast links.

Why it hurts: tensor parallelism exchanges activations four times in each layer. Ranks
outside the domain of fast links (NVLink, xGMI, ICI, NeuronLink) do that over the
network, about ten times slower, in every layer of every step.

What passes: a tensor-parallel size up to the number of GPUs that reach each other over
such links: 8 on HGX boards, 72 in an NVL72 rack. GPUs in a node are no measure: a GB200
node holds 4 of a domain of 72.

Where it does not apply: GPUs of NVIDIA without NVLink.

Source: Narayanan et al. 2021 (arXiv:2104.04473), section 3: tensor parallelism within,
pipeline parallelism across servers.

Bad::

    # HGX H100, 8 GPUs in an NVLink domain
    --tensor-model-parallel-size 16

Good::

    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 2
"""

from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="TOPO-001")
def tensor_parallel_beyond_nvlink_domain(
    cluster: Cluster, parallelism: Parallelism
) -> Verdicts:
    """Judge TP against the domain, never against the GPUs of a node."""
    is_nvidia = cluster.accelerator_family.or_else("nvidia") == "nvidia"
    if is_nvidia and cluster.has_nvlink.value is False:
        return
    tensor, domain = parallelism.tensor_parallel_size, cluster.nvlink_domain_size
    ranks, size = tensor.need(), domain.need()
    at = [tensor, domain]
    if ranks <= size:
        yield passed(at=at, measured=ranks, required=size)
        return
    yield fail(
        f"tensor-parallel size {ranks} exceeds the {size} GPUs that fast links join",
        at=at,
        measured=ranks,
        required=size,
        cost="each layer exchanges activations over the network, some ten times slower",
        remedy=f"Set the tensor-parallel size to {size} at most and raise pipeline or "
        "context parallelism instead.",
    )
