"""An Adam beta outside the range from 0 to 1.

Why it hurts: the betas are the memory of running means. At 1 or above, the mean never
forgets or grows without bound; PyTorch refuses the value.

What passes: 0 <= beta < 1.

Where it does not apply: the betas are not stated.

Source: pytorch torch/optim/adam.py (Adam.__init__).

Bad::

    "betas": [0.9, 1.0]

Good::

    "betas": [0.9, 0.95]
"""

from speccheck.validator.evidence.plan import Optimizer
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-010", about=("optimizer.beta1", "optimizer.beta2"))
def adam_beta_out_of_range(optimizer: Optimizer) -> Verdicts:
    """Judge each beta that is stated."""
    for leaf in (optimizer.beta1, optimizer.beta2):
        if not leaf.is_known:
            continue
        beta = leaf.need()
        name = leaf.name.partition(".")[2]
        if 0 <= beta < 1:
            yield passed(at=leaf, measured=beta)
            continue
        yield fail(
            f"{name} is {beta:g}; it must be at least 0 and below 1",
            at=leaf,
            measured=beta,
            required="0 <= beta < 1",
            cost="the optimizer refuses the value when it is made",
            remedy="Use 0.9 for the first and 0.95 to 0.999 for the second.",
        )
