"""Judges published configurations and writes docs/calibration.md."""

import argparse
import sys
from pathlib import Path

from calibration_page import PAGE, frequent, open_errors, page, sentences
from configurations import PUBLISHED
from published_findings import MANIFEST, published_findings, read_judged


def main() -> int:
    """Write the page; returns 1 when an error or a frequent warning is not argued."""
    parser = argparse.ArgumentParser(description="Judge published configurations.")
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=PUBLISHED,
        help=f"published configurations with their {MANIFEST}",
    )
    options = parser.parse_args()
    if not (options.folder / MANIFEST).is_file():
        sys.exit(f"{options.folder}: no published configurations with a {MANIFEST}")
    findings, judged = published_findings(options.folder), read_judged()
    PAGE.write_text(page(findings, judged), encoding="utf-8")
    for sentence in sentences(findings, judged):
        print(sentence)
    left = open_errors(findings, judged)
    for error_finding in left:
        print(
            f"open: {error_finding.file.repository} {error_finding.file.path} "
            f"{error_finding.rule} {error_finding.place}"
        )
    bare = [
        rule_tally
        for rule_tally in frequent(findings)
        if rule_tally.rule not in judged.frequent
    ]
    for tally in bare:
        print(f"open: {tally.rule} warns about {tally.share_failed:.1%}")
    return int(bool(left or bare))


if __name__ == "__main__":
    sys.exit(main())
