"""Proposes rows and relations from the source tree of a framework."""

import argparse
import sys
from collections.abc import Sequence

from constraints.compare import (
    Extract,
    extract,
    key_differences,
    recalls,
    since,
    unspoken,
)
from constraints.report import Entry, WorkList
from constraints.solve import propose
from constraints.table import KeyTable, Names, read_table
from constraints.tree import read_tree
from constraints.validators import why_not


def work_list(new: Extract, table: KeyTable, old: Extract | None = None) -> WorkList:
    """Return what a tree has that the table lacks; with `old`, only what is new."""
    if old is None:
        differences, constraints = [*key_differences(new, table)], [*new.constraints]
    else:
        differences, constraints = since(new, old)
    names = Names(table.rows.values())
    entries = []
    for constraint, near in unspoken(constraints, table):
        reason = why_not(constraint, names)
        proposal = None if reason else propose(constraint, table)
        entries.append(Entry(constraint, near, proposal, reason))
    return WorkList(
        differences,
        entries,
        recalls(new, table.relations),
        new.passed_over,
        len(constraints),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the work list of a tree."""
    parser = argparse.ArgumentParser(prog="constraints", description=__doc__)
    parser.add_argument("tree", metavar="TREE")
    parser.add_argument("--framework", required=True, metavar="NAME")
    parser.add_argument("--section", default="", metavar="S")
    parser.add_argument("--since", metavar="TREE2", help="an older tree")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = parser.parse_args(arguments)
    table = read_table(options.framework, options.section)
    new = extract(read_tree(options.tree), table)
    old = extract(read_tree(options.since), table) if options.since else None
    result = work_list(new, table, old)
    sys.stdout.write(result.as_json() if options.format == "json" else result.as_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
