"""A run of days whose allocator nothing protects against fragmentation.

Why it hurts: sequences of changing length split the cached blocks until a large one no
longer fits. The run ends out of memory after days, although the estimate fits.

What passes: expandable_segments:True, or a limit on splitting or rounding of blocks.

Where it does not apply: shorter runs; captured CUDA graphs, which do not go together
with expandable segments; frameworks without PyTorch.

Source: PyTorch notes on the CUDA caching allocator; NVIDIA/Megatron-LM
megatron/training/arguments.py (CUDA graphs exclude expandable segments).

Bad::

    #SBATCH --time=7-00:00:00
    srun python pretrain_gpt.py ...

Good::

    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
"""

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.mending import variable_set
from speccheck.validator.evidence.plan import Kernels, Memory, Run
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_SEGMENTS = "expandable_segments"
_GUARDS = (
    "expandable_segments:true",
    "max_split_size_mb",
    "garbage_collection_threshold",
    "roundup_power2_divisions",
    "backend:cudamallocasync",
)


class LongRun(Numbers):
    """From which length on fragmentation matters."""

    run_hours: float


@rule(clause="MEM-007", confidence="advisory")
def allocator_without_expandable_segments(
    memory: Memory, kernels: Kernels, run: Run, environment: Environment, limit: LongRun
) -> Verdicts:
    """Judge the allocator settings of a long run."""
    hours = run.hours.need()
    if hours <= limit.run_hours or kernels.cuda_graphs.value:
        return
    if run.uses_torch.value is False:
        return
    variables = [environment.find(name) for name in _NAMES]
    variable = next((variable for variable in variables if variable is not None), None)
    stated = memory.allocator_configuration
    if variable is not None and variable.value is None:
        yield unknown(
            f"{variable.name} is set to a text that cannot be worked out",
            missing=("memory.allocator_configuration",),
            at=variable.place,
        )
        return
    text = stated.or_else("" if variable is None else variable.value or "")
    places = () if variable is None else (variable.place,)
    at = (stated, *places, run.hours)
    if any(guard in text.lower().replace(" ", "") for guard in _GUARDS):
        yield passed(at=at)
    elif text or environment.files:
        result = f"{text!r} does not" if text else "no variable does so"
        yield fail(
            f"the run takes {hours:,.0f} h; from {limit.run_hours:,.0f} h on the "
            f"allocator should be kept from fragmenting, and {result}",
            at=at,
            measured=hours,
            required=limit.run_hours,
            cost="the run may end out of memory after days",
            remedy="Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
            fix=_fix(variable, text),
        )
    else:
        stated.need()


def _fix(variable: Variable | None, text: str) -> Fix | None:
    """Propose expandable segments beside what the variable says already."""
    if variable is None or not text or variable.value != text:
        return None
    words = [part for part in text.split(",") if not part.strip().startswith(_SEGMENTS)]
    says = ",".join([*words, f"{_SEGMENTS}:True"])
    return variable_set(variable, says)
