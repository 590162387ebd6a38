"""The tables of faults in docs/simulate.md and docs/evidence.md, made of the program's.

Run `python tools/simulation_page.py` to write them anew.
"""

from pathlib import Path

from speccheck.validator.simulation.fault import Fault
from speccheck.validator.simulation.faults import AREAS
from speccheck.validator.simulation.kit.corruption import SPOILS

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PAGE_OF_KITS = DOCS / "simulate.md", DOCS / "evidence.md"
_BEGIN, _END = "<!-- faults: generated -->\n", "<!-- end of faults -->\n"
_BEGIN_SPOILS, _END_SPOILS = "<!-- spoils: generated -->\n", "<!-- end of spoils -->\n"


def tables() -> str:
    """Return all faults by area, a row each."""
    lines: list[str] = []
    for area, faults in AREAS.items():
        lines += [
            f"### Faults of {area}",
            "",
            "| fault | what is wrong | a plan may set | found by |",
            "| --- | --- | --- | --- |",
            *(_row(name, fault) for name, fault in faults.items()),
            "",
        ]
    return "\n".join(lines)


def _row(name: str, fault: Fault) -> str:
    values = ", ".join(f"`{key}: {value}`" for key, value in fault.values.items())
    text = fault.text
    if fault.instance != Fault._field_defaults["instance"]:
        text += f" (`{fault.instance}`)"
    return f"| `{name}` | {text} | {values} | {_rules_for(fault)} |"


def _rules_for(fault: Fault) -> str:
    if fault.is_fleet:
        return "the fleet"
    rules = (f"[`{rule}`](rules/{rule}.md)" for rule in fault.rules)
    return ", ".join(rules) or "nothing above information"


def spoils() -> str:
    """Return what may be wrong with a kit, a row each."""
    lines = ["| spoil | what is wrong | denies | by |", "| --- | --- | --- | --- |"]
    for name, spoil in SPOILS.items():
        track = f"`{spoil.track}`" if spoil.track else "all tracks"
        others = ", and other tracks" if spoil.denies_others else ""
        at = f"{spoil.clause.partition('-')[0]}.md#{spoil.clause}".lower()
        by = f"[{spoil.clause}](clauses/{at})" if spoil.clause else ""
        denied = f"{spoil.level} of {track}{others}"
        lines.append(f"| `{name}` | {spoil.text} | {denied} | {by} |")
    return "\n".join([*lines, ""])


def page(text: str) -> str:
    """Return the page with the tables as they are now."""
    return _with(text, _BEGIN, tables(), _END)


def page_of_kits(text: str) -> str:
    """Return the page of kits with its table as it is now."""
    return _with(text, _BEGIN_SPOILS, spoils(), _END_SPOILS)


def _with(text: str, start: str, made: str, stop: str) -> str:
    before, begin, rest = text.partition(start)
    _, end, after = rest.partition(stop)
    return f"{before}{begin}\n{made}\n{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    PAGE_OF_KITS.write_text(page_of_kits(PAGE_OF_KITS.read_text("utf-8")), "utf-8")
