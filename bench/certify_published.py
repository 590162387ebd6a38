"""Writes docs/certify-published.md: what published figures would settle."""

from certify_published_page import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
