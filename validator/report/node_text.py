"""What the text report says of a machine: what to do, and findings by its parts."""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.finding import Action
from speccheck.validator.report.merge_findings import Shown
from speccheck.validator.report.style import Style, counted, wrap
from speccheck.validator.report.subjects import folded_subjects

# The one that takes most out of service first.
_ACTIONS: tuple[Action, ...] = (
    "ISOLATE",
    "SUPPORT",
    "REBOOT",
    "RESET_GPU",
    "FIX_CONFIG",
    "MONITOR",
)
_JOB, _NODE, _GPUS, _NETWORK = SECTIONS = ("job", "node", "GPUs", "network")
_OF_GPU = "GPU "
_MOST_MACHINES = 8
_SECTION_OF_KIND = {
    "gpus": _GPUS,
    "rdma_devices": _NETWORK,
    "rdma_ports": _NETWORK,
    "network_interfaces": _NETWORK,
    "pci_devices": _NODE,
    "host": _NODE,
    "driver": _NODE,
    "kernel_log": _NODE,
    "kernel_events": _NODE,
    "variables": _NODE,
}


def section_of(one: Shown) -> str:
    """The part of the report in which a finding stands: by what is to be mended.

    One that names a file of the job is mended there, whatever the machine has to do
    with it.
    """
    if not one.subjects:
        return _JOB
    if all(subject.startswith(_OF_GPU) for subject in one.subjects):
        return _GPUS
    sections = [_SECTION_OF_KIND.get(_kind(at.key), _JOB) for at in one.locations]
    if _JOB in sections:
        return _JOB
    return sections[0] if sections else _NODE


def is_leaf(key: str) -> bool:
    """Whether a place is a leaf of a snapshot, and in no file of the job."""
    return _kind(key) in _SECTION_OF_KIND


def _kind(key: str) -> str:
    return key.partition(".")[0].partition("[")[0]


def section_title(section: str, shown: Sequence[Shown], style: Style) -> str:
    """The heading of a part, with what was found in it."""
    title = f"{section}: {section_counts(shown)}"
    line = ("\u2500" if style.unicode else "-") * 2
    return f"{line} {style.paint(title, 'bold')} {line}"


def section_counts(shown: Sequence[Shown]) -> str:
    """How much was found in a part, by level."""
    levels = [one.finding.level for one in shown for _ in one.subjects or ("job",)]
    counts = [
        counted(levels.count(level), level)
        for level in ("error", "warning")
        if level in levels
    ]
    infos = levels.count("info")
    counts += [f"{infos} info"] if infos else []
    return ", ".join(counts)


def what_to_do(shown: Sequence[Shown], style: Style, *, many: bool) -> str:
    """One line for each kind of action, with the parts that need it and why."""
    lines: list[str] = []
    for action, reasons in actions(shown, many=many):
        told = "; ".join(f"{parts}: {', '.join(rules)}" for parts, rules in reasons)
        text = wrap(told, style.width, " " * 14).lstrip()
        lines.append(f"  {style.paint(action.ljust(11), 'bold')} {text}")
    return "\n".join(lines)


def actions(
    shown: Sequence[Shown], *, many: bool
) -> Iterator[tuple[Action, list[tuple[str, list[str]]]]]:
    """Each kind of action with the parts that need it, and the rules that say so.

    Of many machines it is these that are named.
    """
    for action in _ACTIONS:
        found = [one for one in shown if _asks_for(one, action)]
        if not found:
            continue
        why: dict[str, dict[str, None]] = {}
        for parts, rule in _rules_of_machines(found) if many else _rules(found):
            why.setdefault(parts, {})[rule] = None
        yield action, [(parts, list(rules)) for parts, rules in why.items()]


def _rules_of_machines(found: Sequence[Shown]) -> Iterator[tuple[str, str]]:
    """Each rule with all machines of which it says something."""
    files: dict[str, dict[str, None]] = {}
    for one in found:
        of = [at.file for at in one.locations if is_leaf(at.key)] or [one.plan_name]
        files.setdefault(one.finding.rule, {}).update(dict.fromkeys(of))
    for rule, names in files.items():
        shown = [name.rpartition("/")[2] for name in names][:_MOST_MACHINES]
        more = len(names) - len(shown)
        yield ", ".join([*shown, f"{more} more"] if more else shown), rule


def _rules(found: Sequence[Shown]) -> Iterator[tuple[str, str]]:
    """Each rule with all parts of which it says something."""
    parts: dict[str, list[str]] = {}
    for one in found:
        parts.setdefault(one.finding.rule, []).extend(one.subjects)
    for rule, subjects in parts.items():
        yield folded_subjects(subjects), rule


def _asks_for(one: Shown, action: Action) -> bool:
    finding = one.finding
    is_told = finding.outcome == "fail" and finding.level != "info"
    return is_told and finding.action == action
