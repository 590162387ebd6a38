"""The tables of faults in docs/simulate.md, made of their table in the program.

Run `python -m speccheck.validator.simulation.page` to write them anew.
"""

from pathlib import Path

from speccheck.validator.simulation.fault import Fault
from speccheck.validator.simulation.faults import AREAS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulate.md"
_BEGIN, _END = "<!-- faults: generated -->\n", "<!-- end of faults -->\n"


def tables() -> str:
    """All faults by area, a row each."""
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
    return f"| `{name}` | {text} | {values} | {_found_by(fault)} |"


def _found_by(fault: Fault) -> str:
    if fault.is_fleet:
        return "the fleet"
    rules = (f"[`{rule}`](rules/{rule}.md)" for rule in fault.rules)
    return ", ".join(rules) or "nothing above information"


def page(text: str) -> str:
    """The page with the tables as they are now."""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    return f"{before}{begin}\n{tables()}\n{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
