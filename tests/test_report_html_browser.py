"""The HTML report in a browser: it loads, asks for nothing, and fits every page."""

from pathlib import Path

import pytest

from browser import NEEDS_BROWSER, Browser
from hostile_files import Writer, write_hostile, write_hostile_environment
from speccheck.validator.cli.main import main

EXAMPLES = Path(__file__).resolve().parents[1] / "fixtures" / "examples"
WIDTHS = {"desktop": 1280, "phone": 390}

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    words = (str(EXAMPLES / "several-files"), "--gpu", "H100-80GB", "--role", "sft")
    assert main([*words, "--output", f"html={path}"]) == 1
    return path


def written(folder: Path, *words: str) -> Path:
    path = folder / "report.html"
    main([*words, "--output", f"html={path}"])
    return path


def test_it_loads_without_a_request_or_a_complaint(tab: Browser, page: Path) -> None:
    tab.show(page)
    assert tab.requests == []
    assert tab.complaints == []
    assert tab.value("document.title") == "no-go: 2 errors - speccheck"
    text = tab.value("document.body.innerText")
    for part in (
        "global batch 512 is not micro-batch 2 x accumulation 8",
        "Set the global batch to 1,024, or leave one of the three out.",
        "What to do first",
        "Coverage",
        "gradient_accumulation_steps",
    ):
        assert part in text


@pytest.mark.parametrize(
    "words",
    [
        ("faulty-node",),
        ("llama-3-70b", "--gpu", "H100-SXM5-80GB", "--hours", "100"),
        ("slow-all-reduce/all_reduce.log", "--instance", "p5.48xlarge"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window(
    tab: Browser, tmp_path: Path, words: tuple[str, ...], width: str
) -> None:
    page = written(tmp_path, str(EXAMPLES / words[0]), *words[1:])
    tab.show(page, width=WIDTHS[width])
    assert tab.value("document.documentElement.scrollWidth") == WIDTHS[width]
    assert tab.complaints == []


def test_it_is_dark_where_the_reader_wants_it(tab: Browser, page: Path) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    tab.show(page, scheme="light")
    assert tab.value(colour) == "rgb(255, 255, 255)"
    light = tab.picture(whole=False)
    tab.show(page, scheme="dark")
    assert tab.value(colour) == "rgb(20, 23, 27)"
    assert tab.picture(whole=False) != light


def test_advice_folds_and_unfolds_without_a_script(tab: Browser, page: Path) -> None:
    tab.show(page)
    folded = "document.querySelector('#holds details')"
    height = f"{folded}.getBoundingClientRect().height"
    before = tab.value(height)
    tab.value(f"{folded}.querySelector('summary').click()")
    assert tab.value(height) > 3 * before


def test_a_link_leads_to_its_finding(tab: Browser, page: Path) -> None:
    tab.show(page)
    tab.value("document.querySelector('.first a').click()")
    assert tab.value("location.hash") == "#BATCH-001-1"
    assert tab.value("document.querySelector(':target').open") is True


def test_print_shows_what_is_folded_and_keeps_the_colours(
    tab: Browser, page: Path
) -> None:
    tab.show(page)
    folded = "#holds details:not([open]) table"
    seen = f"document.querySelector('{folded}').checkVisibility()"
    assert tab.value(seen) is False
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.value(seen) is True
    assert (
        tab.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    )
    tab.call("Emulation.setEmulatedMedia", media="")
    pdf = tab.printed()
    assert pdf.startswith(b"%PDF-")
    assert len(pdf) > 20_000


@pytest.mark.parametrize("write", [write_hostile, write_hostile_environment])
def test_a_hostile_file_does_nothing_in_a_browser(
    tab: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Writer
) -> None:
    monkeypatch.chdir(tmp_path)
    page = written(tmp_path, write(tmp_path).name, "--nodes", "64", "--full")
    tab.show(page)
    assert tab.requests == []
    assert tab.complaints == []
    assert tab.value("document.scripts.length") == 1
    assert tab.value("document.images.length") == 0
    assert "<script>alert(1)</script>" in tab.value("document.body.innerText")


def test_every_part_has_a_name_for_those_who_do_not_see_it(
    tab: Browser, page: Path
) -> None:
    tab.show(page)
    tab.call("Accessibility.enable")
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    roles: dict[str, list[str]] = {}
    for node in nodes:
        if not node.get("ignored"):
            name = node.get("name", {}).get("value", "")
            roles.setdefault(node["role"]["value"], []).append(name)
    for role in ("navigation", "region", "table", "link", "image"):
        assert all(roles.get(role, [])), role
    assert "Contents" in roles["navigation"]
    assert "What to do first" in roles["region"]
    assert len(roles["main"]) == 1


def test_the_filter_leaves_what_holds_its_words(tab: Browser, page: Path) -> None:
    tab.show(page)
    shown = (
        "[...document.querySelectorAll('.finding')].filter(o => o.checkVisibility())"
    )
    before = tab.value(f"{shown}.length")
    tab.value(
        "(() => { const field = document.querySelector('#controls input');"
        "field.value = 'BATCH-001 global';"
        "field.dispatchEvent(new Event('input')); })()"
    )
    tab.value("new Promise((done) => setTimeout(done, 300))")
    assert 0 < tab.value(f"{shown}.length") < before
    result = tab.value("document.getElementById('filtered').textContent")
    assert result.startswith("Filtered: ")
    assert result.endswith("The verdict is of all.")
    assert tab.complaints == []
