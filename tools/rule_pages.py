"""Writes docs/rules: a page for each rule, made of its clause and its docstring.

Run `python tools/rule_pages.py`; a test holds the pages equal.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from editions import edition_with
from page_files import write_pages
from speccheck.validator.editions.edition import Edition, load_edition
from speccheck.validator.engine.rule_index import built_in_rules
from speccheck.validator.report.explain import rule_page, rule_text
from speccheck.validator.report.write_markdown import prose
from speccheck.validator.rule import Rule

_AREA_TITLES = {"nccl_environment": "NCCL environment"}
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "rules"


def pages() -> dict[str, str]:
    """Return all pages by file name, with an index."""
    rules = built_in_rules()
    texts = {
        f"{rule.name}.md": rule_page(rule, edition_with(rule.clause)) for rule in rules
    }
    texts["README.md"] = "\n".join(_index(rules, load_edition())).rstrip() + "\n"
    return texts


def _index(rules: Sequence[Rule], edition: Edition) -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield f"{len(rules)} rules judge the [clauses](../clauses/README.md) of edition"
    yield f"{edition.id} and of drafts; `speccheck explain RULE` prints a page on a"
    yield "terminal."
    for area in dict.fromkeys(rule.area for rule in rules):
        yield ""
        yield f"## {_AREA_TITLES.get(area) or area.replace('_', ' ').capitalize()}"
        yield ""
        for rule in rules:
            if rule.area == area:
                holder = edition_with(rule.clause)
                clause = f"{rule.clause}, {holder.clauses[rule.clause].level}"
                if holder.id != edition.id:
                    clause += f", edition {holder.id}"
                title = prose(rule_text(rule).title)
                yield f"- [{rule.name}]({rule.name}.md) ({clause}): {title}"


if __name__ == "__main__":
    write_pages(FOLDER, pages())
