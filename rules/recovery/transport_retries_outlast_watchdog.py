"""A transport that retries for longer than a fault may take to be noticed.

Why it hurts: while the network card retries, nothing reports the dead link. When the
watchdog ends first, the message blames a collective and not the port.

What passes: unit x 2^timeout x retries within the clause's limit and below the
collective timeout. The 120 s that cloud providers publish pass beside a longer one.

Where it does not apply: fabrics other than InfiniBand, RoCE and MRC, and jobs on
libfabric, which reads none of the variables; jobs that set none of them run with NCCL's
defaults, 20 and 7. Where the watchdog is not known,
retries within the limit stay unknown.

Source: NVIDIA/nccl, environment variables (NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT);
microsoft/mrc-nccl-plugin MRC_ENV_VARIABLES.md.

Bad::

    NCCL_IB_TIMEOUT=23      # 4.096 us x 2^23 x 7 = 240 s

Good::

    NCCL_IB_TIMEOUT=20      # 30 s
"""

from math import isinf

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.nccl_variables import (
    NcclVariables,
    integer_seen,
    release,
)
from speccheck.validator.evidence.plan import Cluster, Communication, Run
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.transport_retry import ib_retry_time, mrc_timeout
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_VERBS = frozenset({"infiniband", "roce-lossless", "spectrum-x-ra2.2", "mrc"})


class RetryLimit(Numbers):
    """Units of the timers and the time that retries may take."""

    ib_unit: float  # microseconds
    mrc_unit: float  # microseconds
    retry_max: float  # seconds


@rule(clause="FT-004", about=("NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "NCCL_MRC_*"))
def transport_retries_outlast_watchdog(
    environment: Environment,
    nccl: NcclVariables,
    cluster: Cluster,
    communication: Communication,
    run: Run,
    limit: RetryLimit,
) -> Verdicts:
    """Judge the nominal retry time of the verbs transport or of the MRC plugin."""
    fabric = cluster.fabric.value
    if (fabric is not None and fabric not in _VERBS) or _uses_libfabric(environment):
        return
    is_mrc = fabric == "mrc"
    timeout = environment.find("NCCL_MRC_TIMEOUT" if is_mrc else "NCCL_IB_TIMEOUT")
    count = None if is_mrc else environment.find("NCCL_IB_RETRY_CNT")
    stated = [variable for variable in (timeout, count) if variable is not None]
    if not stated:
        return
    used = release(run.nccl_version.or_else(""))
    exponent = _number(timeout, nccl, "NCCL_IB_TIMEOUT", used)
    if is_mrc:
        retries = 1
        seconds = mrc_timeout(exponent, limit.mrc_unit).value
    else:
        retries = _number(count, nccl, "NCCL_IB_RETRY_CNT", used)
        seconds = ib_retry_time(exponent, retries, limit.ib_unit).value
    unit = limit.mrc_unit if is_mrc else limit.ib_unit
    at = [variable.place for variable in stated]
    watchdog = communication.timeout_seconds
    allowed = min(limit.retry_max, watchdog.or_else(limit.retry_max))
    if seconds <= allowed:
        watchdog.need()
        yield passed(at=at, measured=seconds, required=allowed)
        return
    time = "an endless time" if isinf(seconds) else f"{seconds:,.0f} s"
    yield fail(
        f"{unit:g} us x 2^{exponent} x {retries} = {time} of retries before a dead "
        f"link is reported; at most {allowed:g} s",
        at=at,
        measured=seconds,
        required=allowed,
        cost="the failing port stays hidden, and the job waits that long at each fault",
    )


def _uses_libfabric(environment: Environment) -> bool:
    """Return whether a libfabric provider or a Slingshot interface is set."""
    interface = environment.find("NCCL_SOCKET_IFNAME")
    text = None if interface is None else interface.value
    return (text or "").lstrip("=").startswith("hsn") or any(
        variable.name.startswith("FI_") for variable in environment.variables
    )


def _number(
    variable: Variable | None, nccl: NcclVariables, name: str, used: tuple[int, ...]
) -> int:
    """Return the number that is set, else NCCL's own default."""
    if variable is None:
        default = nccl.default(name, used)
        if default is None:
            raise MissingEvidence(name, "its default is not known")
        return default
    if variable.value is None:
        raise MissingEvidence(variable.name, "its value is set outside the files")
    return integer_seen(variable.value) or 0
