"""A configuration file that is not the first argument, as its program wants it.

Why it hurts: deepspeed puts --local_rank in front of the arguments of the program.
LLaMA-Factory and the scripts of transformers take a file only as their first argument:
they read it as a flag's value, and stop for want of their required options.

What passes: --no_local_rank; a launcher that sets LOCAL_RANK; flags instead of a file.

Where it does not apply: programs of other frameworks.

Source: deepspeed/launcher/launch.py (no_local_rank); LLaMA-Factory hparams/parser.py
(read_args), issue 6075; transformers hf_argparser.py.

Bad::

    deepspeed --num_gpus 8 src/train.py sft.yaml

Good::

    FORCE_TORCHRUN=1 llamafactory-cli train sft.yaml
"""

from speccheck.validator.evidence.launch import Launch, Launches
from speccheck.validator.evidence.plan import Run
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FILES = (".yaml", ".yml", ".json")


@rule(
    clause="COMM-017",
    frameworks=("llamafactory",),
    about=("recovery.launcher",),
)
def configuration_behind_local_rank(account: Launches, run: Run) -> Verdicts:
    """Judge the first argument of the program, launch by launch."""
    for launch in account.launches:
        file = _first_argument(launch)
        if launch.launcher.value != "deepspeed" or not file.endswith(_FILES):
            continue
        if not launch.adds_local_rank:
            yield passed(at=launch.launcher)
            continue
        yield fail(
            f"deepspeed puts --local_rank before {file}, and {run.framework.need()} "
            "reads a file only where it comes first",
            at=launch.launcher,
            measured="--local_rank=0",
            required=file,
            cost="every rank stops: the required options are missing",
            remedy="Start it by FORCE_TORCHRUN=1 llamafactory-cli train, or give "
            "deepspeed --no_local_rank.",
        )


def _first_argument(launch: Launch) -> str:
    words = launch.program
    return words[1] if len(words) > 1 and words[0].endswith(".py") else ""
