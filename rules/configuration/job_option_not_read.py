"""A line that looks like an option of the job, and is not read as one.

Why it hurts: sbatch says nothing of it, and the job runs with fewer nodes, without its
time limit or on another partition than its script seems to say.

What passes: a job script whose `#SBATCH` lines all stand above its first command.

Where it does not apply: an option in a comment whose like counts elsewhere in the
script, and what a script writes into another one.

Source: SchedMD/slurm src/sbatch/opt.c (_opt_batch_script): lines count up to the first
one that is neither blank nor a comment, where they begin with `#SBATCH`; of `#SLURM` it
complains.

Bad::

    #!/bin/bash
    # SBATCH --nodes=4

Good::

    #!/bin/bash
    #SBATCH --nodes=4
"""

from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-002", confidence="advisory")
def job_option_not_read(stated: StatedKeys) -> Verdicts:
    """Judge the lines of job scripts that look like options."""
    for file in stated.files:
        if file.format != "slurm":
            continue
        for key, why in file.not_read:
            yield fail(
                f"{key.place.key}: {why}",
                at=key.place,
                measured=key.place.key,
                required="a line that begins with #SBATCH, above the first command",
                cost="the job gets another allocation than its script seems to ask for",
                remedy="Begin the line with #SBATCH, above the first command.",
            )
        if file.keys and not file.not_read:
            yield passed()
