"""`speccheck preflight [FILE ...]`: this machine and the files of a job, in one.

Go or no-go on one node, before the job begins: what the machine is and how it is, the
files as anywhere, and whether they fit each other.
"""

import hashlib
import sys
import time
from collections.abc import Iterable

from speccheck.validator.assemble import assemble
from speccheck.validator.cli.node_audience import NodeAudience
from speccheck.validator.cli.options import Parsed, UsageError, options_help
from speccheck.validator.cli.plain import judge
from speccheck.validator.cli.request import request_of
from speccheck.validator.cli.take_snapshot import (
    options,
    out_file,
    snapshot_of,
    snapshot_text,
)
from speccheck.validator.evidence.node.job_path import local_path
from speccheck.validator.node_result import KeptSnapshot
from speccheck.validator.options import OPTIONS as OF_FILES
from speccheck.validator.options import Option
from speccheck.validator.plan_judges import settled
from speccheck.validator.report.write import write
from speccheck.validator.request import Request
from speccheck.validator.run import read_plans
from speccheck.validator.sources.files import ReadFile
from speccheck.validator.sources.joining.grouping import PlanFiles

# It takes the snapshot itself; these belong to other commands.
_NOT_HERE = {"--node", "--what-if", "--show-files", "--show-settings"}
_BUDGET = "60s"
_NAME = "this node"
_GROUP = "One of many nodes"
_MOST_PATHS = 1000  # those beyond are not looked at, and so not known
_TOPOLOGY_FILE = "NCCL_TOPO_FILE"
_OF_ENGINES = (
    Option(
        "--result",
        "write the result in one line; - writes it here, and no report",
        "text",
        "PATH",
        group=_GROUP,
    ),
    Option("--nagios", "one line and codes of Nagios", "switch", group=_GROUP),
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

Exit codes: 0 go; 1 no-go; 2 the command line or a file is wrong; 3 evidence is missing
that a must needs; 4 a bug of speccheck; 130 interrupted.
{options_help(OPTIONS)}
"""


def preflight(words: list[str]) -> int:
    """Judge this machine and files; returns the exit code."""
    if words[:1] in (["-h"], ["--help"]):
        write(HELP, None)
        return 0
    audience = NodeAudience(words, time.monotonic())
    if not audience.launch.is_first_on_node and not audience.is_every_rank:
        return _leave_to_first(audience)

    def asked(parsed: Parsed) -> Request:
        audience.verify(words)
        return request_of(parsed, "preflight")

    def with_machine(request: Request, parsed: Parsed) -> Request:
        return _with_machine(request, parsed, audience)

    return judge(words, OPTIONS, asked, with_machine, audience)


def _leave_to_first(audience: NodeAudience) -> int:
    """Say that another process of this node looks at it; the exit code."""
    launch = audience.launch
    sys.stderr.write(
        f"speccheck: rank {launch.rank} leaves {launch.node or 'this node'} to its "
        f"first rank ({launch.rank_from} tells local rank {launch.local_rank}); "
        "--every-rank looks at it all the same\n"
    )
    return 0


def _with_machine(request: Request, parsed: Parsed, audience: NodeAudience) -> Request:
    """The request with a snapshot of this machine, which `--out` keeps."""
    out = out_file(parsed, audience.name)
    topology_file, paths = _named_by(request)
    found = snapshot_of(parsed, _BUDGET, topology_file, paths, audience.launch)
    audience.content = found
    text = snapshot_text(found)
    if out is None:
        return request._replace(node=_NAME, snapshot=text)
    write(text, out)
    digest = hashlib.sha256(text.encode()).hexdigest()
    audience.kept = KeptSnapshot(out, digest)
    return request._replace(node=out, snapshot=text)


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
