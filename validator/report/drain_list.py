"""The nodes to take out, in the words of an engine: one line a node.

Only nodes that are not fit are on it. One of which that is not known - unread, missing,
inconclusive - is for a person to look at: to drain those would drain a fleet whenever a
file system is slow (soperator #1963, k8s-device-plugin #268 are about such drains).
"""

import shlex
from collections.abc import Iterator

from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.verdict import FleetVerdict, Unfit
from speccheck.validator.node.host_names import is_host_name
from speccheck.validator.report.style import printable

_OF_SLURM = {"ALL", "DEFAULT"}  # that scontrol takes for nodes of any name
_MOST_REASON = 200  # characters; Slurm shows a reason in one line


def drain_list(run: FleetRun, verdict: FleetVerdict, form: str) -> Iterator[str]:
    """The lines of the list; of a synthetic fleet, each a comment.

    Without the nodes of `left_out`.
    """
    names = {one.name for one in run.nodes if one.is_synthetic}
    for node in verdict.of("no-go"):
        if not _may_stand(node.name, form):
            continue
        line = _line(node, form)
        if form != "plain" and node.name in names:
            line = f"# synthetic: {line}"
        yield f"{line}\n"


def left_out(verdict: FleetVerdict, form: str) -> tuple[str, ...]:
    """The nodes whose name no list may hold: it is none of a host, or of all hosts.

    Names come out of files that anybody may have written: `n[1-64]` in a snapshot
    would drain what nobody looked at, and other names would run as commands.
    """
    names = (one.name for one in verdict.of("no-go"))
    return tuple(one for one in names if not _may_stand(one, form))


def _may_stand(name: str, form: str) -> bool:
    is_of_all = form != "kubernetes" and name.upper() in _OF_SLURM
    return is_host_name(name) and not is_of_all


def reason(node: Unfit) -> str:
    """Why a node is not fit, in one short line."""
    rules = dict.fromkeys(one.rule or one.message for one in node.reasons)
    first = node.reasons[0].message if node.reasons else ""
    text = f"speccheck: {', '.join(rules)}"
    if len(rules) == 1 and first:
        text += f": {first}" if node.reasons[0].rule else ""
    text = " ".join(printable(text).split())
    return text if len(text) <= _MOST_REASON else f"{text[: _MOST_REASON - 3]}..."


def _line(node: Unfit, form: str) -> str:
    name = node.name
    if form == "plain":
        return name
    if form == "slurm":
        told = reason(node).replace('"', "'")
        words = ("scontrol", "update", f"NodeName={name}", "State=DRAIN")
        return f"{shlex.join(words)} Reason={shlex.quote(told)}"
    return f"{shlex.join(('kubectl', 'cordon', name))}  # {reason(node)}"
