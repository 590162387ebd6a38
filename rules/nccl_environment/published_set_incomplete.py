"""A published set of variables that is taken in part.

Why it hurts: the variables of a set are tuned together. The guest check of
GPUDirect-TCPXO compares the whole set, and warns or stops when some are missing.

What passes: all variables of the set, with whatever value.

Where it does not apply: machines whose provider publishes no set for jobs, or whose
instance type no file states; files that set less of it than the share of the clause;
variables that a plugin or an image sets; scripts that source the profile of the
provider, which carries the rest.

Source: GoogleCloudPlatform/container-engine-accelerators gpudirect-tcpxo; NVIDIA/aicr
PR 422; the catalogue of platforms.

Bad::

    NCCL_FASTRAK_IFNAME=eth1,eth2,eth3,eth4     # and half of the other variables

Good::

    source /usr/local/nvidia/lib64/nccl-env-profile.sh
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.plan import Cluster, Run
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class FollowedShare(Numbers):
    """The least share of a published set that shows a file means to follow it."""

    least_share: float


@rule(clause="COMM-066", about=("NCCL_*",))
def published_set_incomplete(
    environment: Environment,
    nccl: NcclVariables,
    cluster: Cluster,
    run: Run,
    limit: FollowedShare,
) -> Verdicts:
    """Judge each set that is published for the machine and mostly there."""
    instance = cluster.instance_type.value
    if run.role.value == "debug":
        return
    for platform in nccl.published_for(environment, instance):
        wanted = [n for n in platform.variables if n not in nccl.left_to_the_job]
        if platform.status != "vendor-published" or not wanted:
            continue
        variables = [
            variable for name in wanted if (variable := environment.find(name))
        ]
        if len(variables) < limit.least_share * len(wanted):
            continue
        at = [item.place for item in variables]
        lacking = environment.lacking(wanted)
        if not lacking:
            yield passed(at=at, measured=len(variables), required=len(wanted))
            continue
        yield fail(
            f"{', '.join(lacking)} {'are' if lacking[1:] else 'is'} not set: the "
            f"provider of {instance or 'the machine'} publishes {len(wanted)} "
            f"variables that belong together, and {len(variables)} of them are set",
            at=[*at[:1], *cluster.instance_type.places],
            measured=len(variables),
            required=len(wanted),
            cost="the set was tuned as a whole, and its check may stop the job",
            remedy="Source the profile script of the provider, or add "
            f"{', '.join(lacking)}.",
        )
