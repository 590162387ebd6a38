"""`speccheck preflight [FILE ...]`: this machine and the files of a job, in one.

Go or no-go on one node, before the job begins: what the machine is and how it is, the
files as anywhere, and whether they fit each other.
"""

import hashlib
import sys
import time
from collections.abc import Iterable

from speccheck.validator.cli.node_audience import NodeAudience
from speccheck.validator.cli.option_table import OPTIONS as OF_FILES
from speccheck.validator.cli.option_table import Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.overdue import ended_when_overdue, overdue_after
from speccheck.validator.cli.plain import judge
from speccheck.validator.cli.request import request_of
from speccheck.validator.cli.take_snapshot import (
    options,
    out_file,
    seconds_of,
    snapshot_of,
    snapshot_text,
)
from speccheck.validator.cli.write_reports import refuse
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.measurement.cost import BUDGET_SECONDS, TIERS
from speccheck.validator.evidence.node.host import local_path
from speccheck.validator.node.result import KeptSnapshot
from speccheck.validator.report.write import write
from speccheck.validator.run.plan_judges import settled
from speccheck.validator.run.run import read_plans
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.joining.grouping import PlanFiles

# It takes the snapshot itself; these belong to other commands.
_NOT_HERE = {"--node", "--what-if", "--show-files", "--show-settings"}
_BUDGET = "60s"
# With measurements, probes may take so much of the budget: a library that hangs must
# not take all of it.
_SHARE_OF_PROBES, _PROBES = 0.5, 60.0
# For judging what was measured.
_AFTERWARDS_SECONDS, _AFTERWARDS_SHARE = 2.0, 0.2
_NAME = "this node"
_GROUP = "One of many nodes"
_MOST_PATHS = 1000  # those beyond are not looked at, and so not known
_TOPOLOGY_FILE = "NCCL_TOPO_FILE"
_OF_ENGINES = (
    Option(
        "--tier",
        "0 (default) reads, 1 to 3 measure, too",
        "text",
        "TIER",
        group=_GROUP,
    ),
    Option(
        "--result",
        "write the result in one line; - writes it here, and no report",
        "text",
        "PATH",
        group=_GROUP,
    ),
    Option("--nagios", "one line and codes of Nagios", "switch", group=_GROUP),
    Option(
        "--exit-zero",
        "0 whatever came of it: where one failure ends all",
        "switch",
        group=_GROUP,
    ),
    Option(
        "--every-rank",
        "look also where another rank of the node does",
        "switch",
        group=_GROUP,
    ),
)
OPTIONS: tuple[Option, ...] = (
    *options(_BUDGET),
    *_OF_ENGINES,
    *(one for one in OF_FILES if one.flag not in _NOT_HERE),
)
HELP = f"""\
usage: speccheck preflight [FILE|FOLDER|- ...] [options]

Probes this machine, changing nothing, and judges it together with the files of the job
that is to run on it; without files, the machine alone. What a file sets of NCCL's and
CUDA's variables counts as in the job; what none sets, as it is where this is run. Local
paths that the files name for checkpoints and data are looked at. The profile is
preflight unless --profile names another use.

Where an engine starts it on each node - Slurm, Kubernetes, mpirun, torchrun -, the name
of the node, job and rank are taken from its variables, and of several ranks on a node
the first one looks at it. `--out` and `--result` take a folder for NODE.json and
NODE.result.json.

Tiers, and their budget for all probes and measurements together:
  0  reads, and puts no load on the machine ({BUDGET_SECONDS[0]} s)
  1  also copies between host and GPUs ({BUDGET_SECONDS[1]} s)
  2  also products, and all-reduce over the GPUs of the node ({BUDGET_SECONDS[2]} s)
  3  also all-reduce over all ranks of the engine ({BUDGET_SECONDS[3]} s)
What is not measured in time is killed, and unknown. `speccheck explain RULE` tells the
tier of a rule.

Exit codes: 0 go; 1 no-go; 2 the command line or a file is wrong; 3 evidence is missing
that a must needs; 4 a bug of speccheck; 130 interrupted.
With --nagios: 0 go; 1 go with warnings; 2 no-go; 3 all others. mpirun and torchrun end
all processes when one fails: with --exit-zero and --result each node tells its verdict.
{options_help(OPTIONS)}
"""


def preflight(words: list[str]) -> int:
    """Judge this machine and files; returns the exit code."""
    if words[:1] in (["-h"], ["--help"]):
        write(HELP, None)
        return 0
    audience = NodeAudience(words, time.monotonic())
    if not audience.launch.is_first_on_node and not audience.is_every_rank:
        return _leave_to_first(words, audience)

    def asked(parsed: Parsed) -> Request:
        audience.verify(words)
        _tier_and_budget(parsed)
        return request_of(parsed, "preflight")

    def with_machine(request: Request, parsed: Parsed) -> Request:
        return _with_machine(request, parsed, audience)

    with ended_when_overdue(_overdue(words, audience.tier), audience.overdue):
        return judge(words, OPTIONS, asked, with_machine, audience)


def _overdue(words: list[str], tier: int) -> float:
    """After how long it hangs; of a wrong command line, the default."""
    try:
        _, seconds = _tier_and_budget(parse(words, OPTIONS))
    except UsageError:
        seconds = float(BUDGET_SECONDS[tier])
    return overdue_after(seconds)


def _leave_to_first(words: list[str], audience: NodeAudience) -> int:
    """Say that another process of this node looks at it; the exit code.

    What all ranks measure together needs this one as well.
    """
    launch = audience.launch
    if audience.tier == TIERS[-1]:
        try:
            _, seconds = _tier_and_budget(parse(words, OPTIONS))
        except UsageError as error:
            return refuse(str(error), [])
        from speccheck.validator.cli.tiers import join  # noqa: PLC0415 - seldom

        ended = join(time.monotonic() + seconds, seconds)
        if ended.problem:
            sys.stderr.write(f"speccheck: rank {launch.rank}: {ended.problem}\n")
    sys.stderr.write(
        f"speccheck: rank {launch.rank} leaves {launch.node or 'this node'} to its "
        f"first rank ({launch.rank_from} tells local rank {launch.local_rank}); "
        "--every-rank looks at it all the same\n"
    )
    return 0


def _tier_and_budget(parsed: Parsed) -> tuple[int, float]:
    """What may be done, and how long that may take; raises UsageError."""
    known = [str(one) for one in TIERS]
    text = _text(parsed, "tier") or known[0]
    if text not in known:
        message = f"--tier {text}: must be one of {', '.join(known)}"
        raise UsageError(message)
    tier = int(text)
    if tier and "sysroot" in parsed.values:
        message = f"--tier {text} measures this machine: leave out --sysroot"
        raise UsageError(message)
    budget = _text(parsed, "budget") or f"{BUDGET_SECONDS[tier]}s"
    return tier, seconds_of(budget)


def _with_machine(request: Request, parsed: Parsed, audience: NodeAudience) -> Request:
    """The request with a snapshot of this machine, which `--out` keeps."""
    out = out_file(parsed, audience.file_name)
    topology_file, paths = _named_by(request)
    tier, seconds = _tier_and_budget(parsed)
    until = time.monotonic() + seconds
    audience.doing = "probing"
    for_probes = min(seconds * _SHARE_OF_PROBES, _PROBES) if tier else seconds
    launch = audience.launch
    found = snapshot_of(parsed, for_probes, topology_file, paths, launch)
    if tier:
        from speccheck.validator.cli.tiers import measure  # noqa: PLC0415 - seldom

        end = until - min(_AFTERWARDS_SECONDS, _AFTERWARDS_SHARE * seconds)
        audience.doing = "measuring"
        measure(found, tier, end, launch, seconds)
    audience.content = found
    text = snapshot_text(found)
    audience.doing = "judging"
    if out is None:
        return request._replace(node=_NAME, snapshot=text)
    audience.doing = f"writing {out}"
    write(text, out)
    audience.doing = "judging"
    digest = hashlib.sha256(text.encode()).hexdigest()
    audience.kept = KeptSnapshot(out, digest)
    return request._replace(node=out, snapshot=text)


def _text(parsed: Parsed, name: str) -> str | None:
    value = parsed.values.get(name)
    return value if isinstance(value, str) else None


def _named_by(request: Request) -> tuple[str, list[tuple[str, str]]]:
    """What the files name that probes look into: a topology file, and paths.

    Standard input can be read only once, and is left for the judgement. Raises
    UsageError for a snapshot among the files.
    """
    if "-" in request.arguments:
        return "", []
    groups = [one for _, plans in read_plans(request) for one in plans]
    files = [file for one in groups for file in one.files]
    for file in files:
        if file.role == "node" and file.status.named:
            path = file.status.path
            message = f"preflight probes this machine; {path} is judged by speccheck "
            raise UsageError(message + path)
    return _topology_file(files), _paths(request, groups)


def _topology_file(files: Iterable[ReadFile]) -> str:
    """What the files set NCCL_TOPO_FILE to: the probe looks into that file."""
    found = {
        variable.value
        for file in files
        for reading in file.readings
        for variable in reading.variables
        if variable.name == _TOPOLOGY_FILE
    }
    return (found.pop() or "") if len(found) == 1 else ""


def _paths(request: Request, groups: Iterable[PlanFiles]) -> list[tuple[str, str]]:
    """Role and path of the files and folders of the machine that the plans name."""
    found: dict[tuple[str, str], None] = {}
    for one in groups:
        plan = assemble(one.files, settled(request, one).context).plan
        folder = plan.value("checkpoint.directory").value
        data = plan.value("data.paths").value or ()
        named = (("checkpoint", folder), *(("data", each) for each in data))
        for role, text in named:
            path = local_path(text)
            if path is not None:
                found.setdefault((role, path))
    return list(found)[:_MOST_PATHS]
