"""Writes docs/bandwidth.md: what is said of every published bandwidth."""

from bandwidth_page import PAGE, page
from published_runs import judged_rows

if __name__ == "__main__":
    PAGE.write_text(page(judged_rows()), encoding="utf-8")
