"""`speccheck bench KIND`: measure, plan who measures with whom, and judge results."""

import sys
from importlib import import_module

from speccheck.validator.report.write import write

# The module that has each command, as its function `command`.
_COLLECTIVES = "bench_collectives"
MODULES = {
    "all-reduce": _COLLECTIVES,
    "all-gather": _COLLECTIVES,
    "reduce-scatter": _COLLECTIVES,
    "all-to-all": _COLLECTIVES,
    "send-recv": _COLLECTIVES,
    "memory": "bench_memory",
    "gemm": "bench_gemm",
    "plan": "bench_plan",
    "judge": "bench_judge",
    "expect": "bench_expect",
}
_USAGE = 2
HELP = """\
usage: speccheck bench KIND [options]

Measures, and judges what it measured as `speccheck FILE` does; `--out FILE` keeps it.

  all-reduce, all-gather, reduce-scatter, all-to-all, send-recv
                     bandwidth of a collective, alone or under torchrun, srun or mpirun
  memory             copies between host and GPUs, and within each GPU
  gemm               products of dense matrices on each GPU
  expect COLLECTIVE  what one should reach on --nodes of an --instance, unmeasured
  plan               who measures with whom, round by round, to find a slow node
  judge RESULT ...   which nodes the results of these rounds speak against

`speccheck bench KIND --help` tells the options. Results of nccl-tests, nvbandwidth,
perftest and others are judged by `speccheck FILE`.
"""


def bench(words: list[str]) -> int:
    """Run one kind; returns the exit code."""
    if not words or words[0] in {"-h", "--help"}:
        write(HELP, None)
        return 0 if words else _USAGE
    module = MODULES.get(words[0])
    if module is None:
        kinds = ", ".join(MODULES)
        sys.stderr.write(f"speccheck: bench {words[0]}: must be one of {kinds}\n")
        return _USAGE
    command = import_module(f"speccheck.validator.cli.{module}").command
    code: int = command(words[0], words[1:])
    return code
