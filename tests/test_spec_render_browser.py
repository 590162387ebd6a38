"""The document in a browser: it loads, asks for nothing, and fits every screen."""

from pathlib import Path

import pytest

from browser import NEEDS_BROWSER, Browser
from speccheck.validator.cli.main import main

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "specification.html"
    assert main(["spec", "render", "--format", "html", "--out", str(path)]) == 0
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_loads_fits_and_asks_for_nothing(
    tab: Browser, page: Path, width: int, scheme: str
) -> None:
    tab.show(page, width=width, scheme=scheme)
    assert tab.requests == []
    assert tab.complaints == []
    assert tab.value("document.documentElement.scrollWidth") == width


def test_a_reference_leads_to_its_clause(tab: Browser, page: Path) -> None:
    tab.show(page)
    tab.value("document.querySelector('#index ~ .table a.ref').click()")
    place = "document.querySelector(location.hash).getBoundingClientRect().top"
    assert 0 <= tab.value(place) < 100


def test_the_contents_stay_beside_the_text_and_leave_a_phone(
    tab: Browser, page: Path
) -> None:
    beside = "getComputedStyle(document.querySelector('nav')).position"
    tab.show(page)
    assert tab.value(beside) == "sticky"
    tab.show(page, width=390)
    assert tab.value(beside) == "static"
