"""`speccheck simulate`: a synthetic fleet, for tests, demos and capacity planning."""

import os

from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.option_table import Kind, Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import list_of
from speccheck.validator.cli.simulated_files import Order, write_fleet
from speccheck.validator.evidence.spelling import nearest
from speccheck.validator.report.style import counted, printable, wrap
from speccheck.validator.report.write import WriteError, write
from speccheck.validator.simulation.faults import AREAS
from speccheck.validator.simulation.fleet import Fleet
from speccheck.validator.simulation.fleet_files import RESULTS, SNAPSHOTS, Form
from speccheck.validator.simulation.planting import (
    PlanError,
    Planting,
    load_plan,
    plant,
)
from speccheck.validator.simulation.shape import instances

MOST_NODES = 100_000
MOST_DAYS = 3_650
_PROFILE = "dgx-h100"
_WIDTH = 88
_LONGEST_NAME = 100
_OF_KIT = "certify"  # the name of its job, where nobody names one


def _option(flag: str, text: str, metavar: str = "", kind: Kind = "text") -> Option:
    kind = kind if metavar else "switch"
    return Option(flag, text, kind, metavar, group="Synthetic fleet")


OPTIONS: tuple[Option, ...] = (
    _option("--nodes", "how many", "N", "integer"),
    _option("--out", "DIR gets a file a node; FILE.jsonl[.gz] a line a node", "PATH"),
    _option("--faults", "a plan of faults: what is wrong on which nodes", "PLAN.YAML"),
    _option("--profile", f"type of the machines (default {_PROFILE})", "TYPE"),
    _option("--seed", "another fleet of the same kind (default 1)", "N", "integer"),
    _option("--day", "the same machines that many days on (default 1)", "N", "integer"),
    _option("--job", "name of the job that the snapshots tell", "NAME"),
    _option("--evidence", "a kit for a certificate: measurements, job, logs, drills"),
    Option(
        "--spoil",
        "what is wrong with the kit: --list-faults",
        "text",
        "NAME",
        repeatable=True,
        group="Synthetic fleet",
    ),
    _option("--results", "the lines of their pre-flights, in place of snapshots"),
    _option("--list-faults", "all faults with the rules that find them, and stop"),
    _option("--list-profiles", "all types of machines, and stop"),
    _option("--quiet", "print no progress and no summary"),
)
HELP = f"""\
usage: speccheck simulate --nodes N --out DIR|FILE.jsonl[.gz] [options]

Writes snapshots of machines that do not exist: healthy ones of one type, which differ
as machines do, and faults where a plan plants some. The same command writes the same
bytes, and a node is the same in fleets of any size. --day makes the same machines of a
later day: their counters have grown. Every file says that it is
synthetic; simulation.json beside them says what is wrong with which node. --results
writes what the pre-flight of each node would have said, as `speccheck fleet` reads it.

  speccheck simulate --nodes 64 --out fleet/ --faults plan.yaml
  speccheck fleet fleet/

--evidence writes a whole evidence kit (docs/evidence.md) of machines of one type;
--spoil makes one thing wrong with it.

A plan:

  schema: speccheck-faults/1
  faults:
    - {{fault: gpu_missing, nodes: [17, 40-45]}}
    - {{fault: nvlink_down, count: 3}}
    - {{fault: driver_drift, share: 0.01, version: 570.124.06}}

Exit codes: 0 written; 2 the command line or the plan is wrong, or the files could not
be written; 4 a bug of speccheck.
{options_help(OPTIONS)}
"""


def simulate(words: list[str]) -> int:
    """Write a synthetic fleet; returns the exit code."""
    if words[:1] in (["-h"], ["--help"]):
        write(HELP, None)
        return 0
    return guarded(
        lambda: _simulate(parse(words, OPTIONS)), (UsageError, PlanError, WriteError)
    )


def _simulate(parsed: Parsed) -> int:
    if parsed.files:
        message = f"simulate takes no file: {parsed.files[0]}; see --out and --faults"
        raise UsageError(message)
    if "list_faults" in parsed.values:
        write(faults_text(), None)
        return 0
    if "list_profiles" in parsed.values:
        write("\n".join(instances()) + "\n", None)
        return 0
    fleet, out = _fleet(parsed), _text(parsed, "out")
    if out is None:
        message = "simulate needs --out DIR, or --out FILE.jsonl"
        raise UsageError(message)
    faults = _text(parsed, "faults")
    planting = Planting() if faults is None else plant(load_plan(faults), fleet)
    is_quiet = "quiet" in parsed.values
    if "evidence" in parsed.values:
        return _evidence(parsed, fleet, planting, out)
    if "spoil" in parsed.values:
        message = "--spoil is of a kit: add --evidence"
        raise UsageError(message)
    form = _results() if "results" in parsed.values else SNAPSHOTS
    manifest = write_fleet(Order(fleet, planting, out, form, tells=not is_quiet))
    if not is_quiet:
        write(_summary(fleet, planting, out, manifest), None)
    return 0


def _evidence(parsed: Parsed, fleet: Fleet, planting: Planting, out: str) -> int:
    # It knows all models of networks, which snapshots do without.
    from speccheck.validator.cli.simulated_kit import (  # noqa: PLC0415
        KitOrder,
        write_kit,
    )
    from speccheck.validator.simulation.kit.corruption import SPOILS  # noqa: PLC0415

    if "results" in parsed.values:
        message = "--evidence and --results: give one of them"
        raise UsageError(message)
    spoils = tuple(list_of(parsed, "spoil"))
    if "job" not in parsed.values:
        fleet = fleet._replace(job=_OF_KIT)
    count = write_kit(KitOrder(fleet, planting, out, spoils))
    if "quiet" not in parsed.values:
        what = f"a synthetic evidence kit of {counted(fleet.nodes, 'node')}"
        lines = [f"{out}: {what} of {fleet.profile}, {count} files, seed {fleet.seed}"]
        lines += [f"  {SPOILS[name].text}" for name in spoils]
        lines += [f"  {one.name} on {len(one.nodes):,}" for one in planting.plants]
        write("\n".join(map(printable, lines)) + "\n", None)
    return 0


def _results() -> Form:
    # It loads all rules, which snapshots do without.
    from speccheck.validator.cli.simulated_results import (  # noqa: PLC0415
        ResultTeller,
    )

    return Form(ResultTeller(), RESULTS)


def _fleet(parsed: Parsed) -> Fleet:
    nodes = parsed.values.get("nodes")
    if not isinstance(nodes, int):
        message = "simulate needs --nodes N: how many machines"
        raise UsageError(message)
    if nodes > MOST_NODES:
        message = f"--nodes {nodes}: at most {MOST_NODES:,}"
        raise UsageError(message)
    profile = _text(parsed, "profile") or _PROFILE
    known = instances()
    if profile not in known:
        close = nearest(profile[:_LONGEST_NAME], known)
        hint = f"did you mean {close}?" if close else "see --list-profiles"
        message = f"--profile {profile[:_LONGEST_NAME]}: no such type: {hint}"
        raise UsageError(message)
    job = _text(parsed, "job") or "synthetic"
    if not job.isprintable() or len(job) > _LONGEST_NAME:
        message = f"--job: must be a name of at most {_LONGEST_NAME} characters"
        raise UsageError(message)
    day = _number(parsed, "day")
    if day > MOST_DAYS:
        message = f"--day {day}: at most {MOST_DAYS:,}"
        raise UsageError(message)
    return Fleet(nodes, profile, _number(parsed, "seed"), job, day)


def _number(parsed: Parsed, name: str) -> int:
    found = parsed.values.get(name)
    return found if isinstance(found, int) else 1


def _summary(fleet: Fleet, planting: Planting, out: str, manifest: str) -> str:
    ill = len(planting.by_node())
    what = f"{counted(fleet.nodes, 'synthetic node')} of {fleet.profile}"
    lines = [f"{out}: {what}, seed {fleet.seed}; faults on {counted(ill, 'node')}"]
    lines += [f"  {len(one.nodes):>6,}  {one.name}" for one in planting.plants]
    lines.append(f"what is wrong where: {manifest}")
    return "\n".join(map(printable, lines)) + "\n"


def faults_text() -> str:
    """All faults by area: what is wrong, what a plan may set, what finds it."""
    from speccheck.validator.simulation.kit.corruption import SPOILS  # noqa: PLC0415

    lines: list[str] = []
    for area, faults in AREAS.items():
        lines.extend([f"Faults of {area}:", ""])
        for name, fault in faults.items():
            takes = ", ".join(f"{key}: {value}" for key, value in fault.values.items())
            found = ", ".join(fault.rules)
            if fault.is_fleet:
                found = "the other nodes show it"
            words = f"{fault.text}{f' ({takes})' if takes else ''}"
            words += f" -> {found or 'nothing above the level of information'}"
            lines.extend([f"  {name}", wrap(words, _WIDTH, "      ")])
        lines.append("")
    lines.extend(["With --evidence, of the kit (--spoil):", ""])
    for name, spoil in SPOILS.items():
        denied = f"{spoil.level} of {spoil.track or 'all tracks'}"
        by = f" by {spoil.clause}" if spoil.clause else ""
        words = f"{spoil.text} -> denies {denied}{by}"
        lines.extend([f"  {name}", wrap(words, _WIDTH, "      ")])
    return "\n".join([*lines, ""])


def _text(parsed: Parsed, name: str) -> str | None:
    value = parsed.values.get(name)
    return os.fspath(value) if isinstance(value, str) else None
