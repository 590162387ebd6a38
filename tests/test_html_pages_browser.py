"""The pages of certificates and fleets in a browser: quiet, filtered, printed."""

import json
from pathlib import Path
from typing import Any

import pytest

from browser import NEEDS_BROWSER, Browser
from speccheck.validator.cli.main import main
from speccheck.validator.report.forms.html_certificate import certificate_page

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "fixtures" / "certificates" / "azure-nd96isr-h100-v5.json"
FAULTS = ROOT / "fixtures" / "examples" / "simulated-fleet" / "plan.yaml"

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "certificate.html"
    path.write_text(certificate_page(json.loads(EXAMPLE.read_text("utf-8"))), "utf-8")
    return path


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    words = ["--nodes", "64", "--faults", str(FAULTS), "--quiet"]
    assert main(["simulate", *words, "--out", str(folder / "pre")]) == 0
    path = folder / "fleet.html"
    words = ["--expect", "64", "--output", f"html={path}"]
    assert main(["fleet", str(folder / "pre"), *words]) == 1
    return path


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("node") / "node.html"
    example = ROOT / "fixtures" / "examples" / "faulty-node"
    assert main([str(example), "--output", f"html={path}"]) == 1
    return path


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


_EACH = pytest.mark.parametrize(
    "page", ["certificate", "fleet", "machine"], indirect=True
)


def filtered(tab: Browser, words: str) -> Any:  # noqa: ANN401 - whatever a page holds
    """Write words into the filter; what the page says of it then."""
    tab.value(
        "(() => { const field = document.querySelector('#controls input');"
        f"field.value = {json.dumps(words)};"
        "field.dispatchEvent(new Event('input')); })()"
    )
    return tab.value(
        "new Promise((done) => setTimeout(() => "
        "done(document.getElementById('filtered').textContent), 300))"
    )


def seen(tab: Browser, selector: str) -> int:
    """Return how many such elements the page shows."""
    found = tab.value(
        f"[...document.querySelectorAll({json.dumps(selector)})]"
        ".filter((one) => one.checkVisibility()).length"
    )
    return int(found)


@_EACH
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_asks_for_nothing_complains_of_nothing_and_fits(
    tab: Browser, page: Path, width: int, scheme: str
) -> None:
    tab.show(page, width=width, scheme=scheme)
    assert tab.requests == []
    assert tab.complaints == []
    assert tab.value("document.documentElement.scrollWidth") == width
    ground = tab.value("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(20, 23, 27)" if scheme == "dark" else "rgb(255, 255, 255)")


def test_the_policy_lets_no_other_script_run(tab: Browser, certificate: Path) -> None:
    tab.show(certificate)
    tab.value(
        "(() => { const one = document.createElement('script');"
        "one.textContent = 'window.harmed = true'; document.body.append(one);"
        "const image = document.createElement('img');"
        "image.src = 'https://example.org/x.png'; document.body.append(image); })()"
    )
    assert tab.value("window.harmed === undefined") is True
    assert len(tab.complaints) == 2
    assert all("Content Security Policy" in item for item in tab.complaints)


@_EACH
def test_the_switch_turns_the_colours_over(tab: Browser, page: Path) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    tab.show(page, scheme="dark")
    assert tab.value(colour) == "rgb(20, 23, 27)"
    tab.value("document.querySelector('#controls button').click()")
    assert tab.value(colour) == "rgb(255, 255, 255)"
    tab.value("document.querySelector('#controls button').click()")
    assert tab.value(colour) == "rgb(20, 23, 27)"
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.value(colour) == "rgb(255, 255, 255)"  # paper is white
    tab.call("Emulation.setEmulatedMedia", media="")


def test_the_filter_of_a_certificate_finds_clauses(
    tab: Browser, certificate: Path
) -> None:
    tab.show(certificate)
    rows = "#clauses tbody tr, #clauses .idle li"
    before = seen(tab, rows)
    assert before == 34  # two more are folded: they do not apply
    said = filtered(tab, "hw-005 copies")
    assert said.startswith("Filtered: 1 of ")
    assert said.endswith("entries hold “hw-005 copies”. The verdict is of all.")
    assert seen(tab, rows) == 1
    assert seen(tab, "#clauses details .judgement") == 1  # what was folded is open
    assert seen(tab, "#tracks") == 0
    assert filtered(tab, "imex").startswith("Filtered: 1 of ")
    assert seen(tab, rows) == 1
    assert filtered(tab, "no such thing").startswith("Filtered: 0 of ")
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert seen(tab, "#filtered") == 1  # a print of a part says that it is one
    tab.call("Emulation.setEmulatedMedia", media="")
    assert filtered(tab, "") == ""
    assert seen(tab, rows) == before
    assert seen(tab, "#tracks") == 1


def test_the_filter_works_on_a_phone(tab: Browser, certificate: Path) -> None:
    tab.show(certificate, width=390)
    filtered(tab, "hw-005")
    assert seen(tab, "#clauses tbody tr, #clauses .idle li") == 1


def test_a_link_leads_out_of_the_filter(tab: Browser, certificate: Path) -> None:
    tab.show(certificate)
    filtered(tab, "ckpt")
    tab.value("location.hash = '#clause-HW-117'")
    tab.value("new Promise((done) => setTimeout(done, 100))")
    assert seen(tab, "#clause-HW-117") == 1
    assert tab.value("document.getElementById('filtered').textContent") == ""


def test_the_filter_of_a_fleet_leaves_the_map_whole(tab: Browser, fleet: Path) -> None:
    tab.show(fleet)
    assert seen(tab, "#fleet-map i") == 64
    said = filtered(tab, "node0017")
    assert said.startswith("Filtered: ")
    faint = "[...document.querySelectorAll('#fleet-map i.out')].length"
    assert tab.value(faint) == 63
    assert seen(tab, "#fleet-map i") == 64
    assert filtered(tab, "bond7 docker")[:13] == "Filtered: 0 o"


def test_a_cell_tells_its_node(tab: Browser, fleet: Path) -> None:
    tab.show(fleet)
    result = "document.getElementById('told').textContent"
    assert tab.value(result).startswith("Point at a node")
    at = "document.querySelectorAll('#fleet-map i')"
    tab.value(f"{at}[16].click()")
    assert tab.value(result) == (
        "node0017: no-go: gpu_link_below_slot: GPU 1: generation 4 is the most that "
        "the PCIe link can do; its peers have generation 5"
    )
    tab.value(f"{at}[0].click()")
    assert tab.value(result) == "node0001: fit"
    tab.value(
        "document.getElementById('fleet-map')"
        ".dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}))"
    )
    assert tab.value(result) == "node0002: fit"


def test_an_expired_certificate_says_so_where_it_is_read(
    tab: Browser, tmp_path: Path, certificate: Path
) -> None:
    tab.show(certificate)
    predicate = json.loads(EXAMPLE.read_text("utf-8"))
    predicate["validity"]["not_after"] = "2020-01-01T00:00:00Z"
    page = tmp_path / "old.html"
    page.write_text(certificate_page(predicate), "utf-8")
    tab.show(page)
    result = tab.value("document.getElementById('expired').textContent")
    assert result.startswith("✗ Expired by the clock of this device: ")
    predicate["validity"]["not_after"] = "9999-01-01T00:00:00Z"
    page.write_text(certificate_page(predicate), "utf-8")
    tab.show(page)
    assert tab.value("document.getElementById('expired').textContent") == ""


@pytest.mark.parametrize("page", ["certificate", "fleet"], indirect=True)
def test_each_printed_page_says_that_it_is_synthetic(tab: Browser, page: Path) -> None:
    tab.show(page)
    style = "getComputedStyle(document.querySelector('.watermark'))"
    assert tab.value(f"{style}.display") == "none"
    tab.call("Emulation.setEmulatedMedia", media="print")
    # What is fixed stands on every page of a print.
    assert tab.value(f"{style}.display") == "block"
    assert tab.value(f"{style}.position") == "fixed"
    assert tab.value("document.querySelector('.synthetic').checkVisibility()") is True
    assert tab.value("document.querySelector('#controls').checkVisibility()") is False
    tab.call("Emulation.setEmulatedMedia", media="")
    pdf = tab.printed()
    assert pdf.startswith(b"%PDF-")
    assert pdf.count(b"/Type /Page\n") > 1


@_EACH
def test_it_is_whole_without_scripts(tab: Browser, page: Path) -> None:
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.show(page)
        hidden = tab.call("DOM.getDocument", depth=-1)
        assert hidden["root"]["nodeName"] == "#document"
        assert tab.complaints == []
        assert seen(tab, "#controls") == 0
        assert seen(tab, "main > section") >= 3
    finally:
        tab.call("Emulation.setScriptExecutionDisabled", value=False)
