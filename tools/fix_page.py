"""Writes the list of rules with fixes into docs/fixes.md, from the rules' fixtures.

Run `python tools/fix_page.py` in a checkout; a test holds the page
equal. Fixtures hold what each fix says and which lines it changes.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.evidence.record import Record

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "fixes.md"
FIXTURES = ROOT / "fixtures" / "rules"
_START, _END = "<!-- rules with fixes -->\n", "<!-- end -->\n"


class FixingRule(Record):
    """A rule with fixes: how many of its fixtures show a safe one, or an unsafe one."""

    name: str
    clause: str
    safe: int
    unsafe: int
    example: str


def fixing_rules() -> Iterator[FixingRule]:
    """Yield the rules that have a fixture with a fix, in the order of areas."""
    for entry in rule_entries():
        fixes = [
            row["fix"]
            for path in sorted((FIXTURES / entry.name).glob("fail_*.yaml"))
            for row in yaml.safe_load(path.read_text("utf-8"))["expect"]
            if row.get("fix") and "lines" in row["fix"]
        ]
        safe = sum(fix["safe"] for fix in fixes)
        if fixes:
            text = str(fixes[0]["says"])
            unsafe = len(fixes) - safe
            yield FixingRule(entry.name, entry.clause, safe, unsafe, text)


def table() -> str:
    """Return the rules as a table in Markdown."""
    rules = tuple(fixing_rules())
    safe = sum(rule.safe > 0 for rule in rules)
    lines = [
        f"{len(rules)} rules mend what they find, {safe} of them safely.",
        "",
        "| rule | clause | option | for example |",
        "| --- | --- | --- | --- |",
    ]
    for rule in rules:
        option = "`--fix`" if rule.safe else "`--fix --unsafe-fixes`"
        if rule.safe and rule.unsafe:
            option += ", some with `--unsafe-fixes`"
        example = rule.example.replace("|", "\\|")
        link = f"[{rule.name}](rules/{rule.name}.md)"
        lines.append(f"| {link} | {rule.clause} | {option} | {example} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """Return the page with the list as it is now."""
    head, _, rest = text.partition(_START)
    _, _, tail = rest.partition(_END)
    return f"{head}{_START}\n{table()}\n{_END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
