"""Two GPUs of a switched board joined by fewer NVLinks than the other pairs.

Why it hurts: each ring passes this pair, and all GPUs wait for it.

What passes: the same number of links between all pairs, told alike from both ends.

Where it does not apply: boards without NVLink, and those on which bridges or cables
join some pairs by design: no more than two in three pairs alike.

Source: nvidia-smi topo -m in stas00/ml-engineering and NVIDIA/nccl issues.

Bad::

    nvidia-smi topo -m    # GPU2 to GPU5: NV12, all other pairs NV18

Good::

    nvidia-smi topo -m    # NV18 in each cell
"""

from collections import Counter

from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.models.units import numbered
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="TOPO-003")
def nvlink_pairs_uneven(gpus: Gpus) -> Verdicts:
    """Hold each pair to what most pairs have."""
    if not any(gpu.peer_nvlinks.is_known for gpu in gpus.shown):
        return
    listed = gpus.each()
    rows = [gpu.peer_nvlinks.need() for gpu in listed]
    cells = {
        (here, there): links
        for here, row in enumerate(rows)
        for there, links in enumerate(row)
        if here != there and links is not None
    }
    counts = Counter(cells.values())
    if not counts or set(counts) == {0}:
        return
    usual, often = counts.most_common(1)[0]
    if not usual or often <= 2 * (len(cells) - often):
        return
    odd = {
        (min(pair), max(pair)): links for pair, links in cells.items() if links != usual
    }
    if not odd:
        if all(len(row) == len(listed) for row in rows):
            yield passed(at=[gpu.peer_nvlinks for gpu in listed], measured=usual)
        return
    (here, there), links = next(iter(odd.items()))
    yield fail(
        f"{numbered(usual, 'NVLink')} join most pairs of GPUs, and {links or 'none'} "
        f"{listed[here].title} and {listed[there].title} ("
        f"{numbered(len(odd), 'such pair')}); all should have the same number",
        at=[listed[here].peer_nvlinks for here in {pair[0] for pair in odd}],
        measured=min(odd.values()),
        required=usual,
        cost="each ring passes this pair, and all GPUs wait for it",
        remedy="Drain the node and reset all its GPUs: nvidia-smi --gpu-reset; see "
        "nvidia-smi nvlink -s of both; replace the board if it stays so.",
        action="RESET_GPU",
    )
