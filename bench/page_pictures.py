"""Takes the pictures of docs/pages.md: pages as a browser shows them.

The certificate is that of fixtures/certificates, the fleet one that speccheck simulate
made: both say so of themselves. Needs chromium.
"""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from browser import PROGRAM, Browser, browser
from speccheck.validator.cli.main import main
from speccheck.validator.node.machine_layout import layout_of_node
from speccheck.validator.report.forms.html_certificate import certificate_page
from speccheck.validator.report.topology_svg import specimen_pictures
from speccheck.validator.simulation.healthy import healthy_node
from speccheck.validator.sources.formats.snapshot import node_of

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CERTIFICATE = ROOT / "fixtures" / "certificates" / "azure-nd96isr-h100-v5.json"
FAULTS = ROOT / "fixtures" / "examples" / "simulated-fleet" / "many.yaml"
_MOST_BYTES = 200_000
_NODES = "1000"


def certificate_text() -> str:
    """Return the page of the example, with a synthetic machine of its type."""
    predicate = json.loads(CERTIFICATE.read_text("utf-8"))
    snapshot = healthy_node(predicate["instance_type"])
    layout = layout_of_node(node_of(snapshot, "node0001.json"))
    pictures = specimen_pictures([layout] * len(predicate["specimens"]))
    return certificate_page(predicate, pictures=pictures)


def fleet_page(folder: Path) -> Path:
    """Return the page of a synthetic fleet with faults of thirteen kinds."""
    os.chdir(folder)
    words = ["--nodes", _NODES, "--faults", str(FAULTS), "--quiet"]
    if main(["simulate", *words, "--out", "pre.jsonl.gz"]) != 0:
        message = "speccheck simulate failed"
        raise SystemExit(message)
    words = ["--expect", f"node[0001-{_NODES}]", "--output", "html=fleet.html"]
    main(["fleet", "pre.jsonl.gz", *words])
    return folder / "fleet.html"


def take(tab: Browser, page: Path, name: str, at: str = "", **view: int | str) -> None:
    """Keep what the window shows of a page, from an anchor on."""
    tab.show(page, **view)  # type: ignore[arg-type]
    if at:
        tab.value(f"document.getElementById({at!r}).scrollIntoView()")
    taken = tab.picture(whole=False)
    if len(taken) > _MOST_BYTES:
        message = f"{name}: {len(taken):,} bytes, more than {_MOST_BYTES:,}"
        raise SystemExit(message)
    (DOCS / name).write_bytes(taken)


def _take_all() -> None:
    if PROGRAM is None:
        message = "no chromium: no pictures were taken"
        raise SystemExit(message)
    with TemporaryDirectory() as name:
        folder = Path(name)
        certificate = folder / "certificate.html"
        certificate.write_text(certificate_text(), "utf-8")
        fleet = fleet_page(folder)
        with browser(folder / "profile") as tab:
            take(tab, certificate, "certificate-page.png", height=1000)
            take(tab, certificate, "certificate-measured.png", "specimens", height=1000)
            phone = {"width": 390, "height": 844, "scheme": "dark"}
            take(tab, certificate, "certificate-phone.png", **phone)  # type: ignore[arg-type]
            take(tab, fleet, "fleet-page.png", height=1000)


if __name__ == "__main__":
    _take_all()
