"""The page and the text of a certificate: whole, escaped, honest."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hostile_files import BIDI, ESCAPES, HARMFUL, QUOTES, SCRIPT, STYLE_END
from html_reading import Page
from speccheck.validator.certification.certificate_model import Certificate
from speccheck.validator.report.certificate_text import certificate_text
from speccheck.validator.report.forms.html_certificate import certificate_page
from speccheck.validator.report.style import Style

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "certificates"
EXAMPLE = FIXTURES / "azure-nd96isr-h100-v5.json"
HOSTILE = f"{SCRIPT}{STYLE_END}{QUOTES}{ESCAPES}{BIDI}"
SECRET = "hf_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWx"
Predicate = dict[str, Any]


@pytest.fixture
def predicate() -> Predicate:
    found: Predicate = json.loads(EXAMPLE.read_text("utf-8"))
    return found


def texts_of(found: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - JSON
    """Yield the container and the key of each text."""
    pairs = found.items() if isinstance(found, dict) else enumerate(found)
    for key, value in list(pairs):
        if isinstance(value, str):
            yield found, key
        elif isinstance(value, dict | list):
            yield from texts_of(value)


def is_free(predicate: Predicate, container: Any, key: Any) -> bool:  # noqa: ANN401
    """Return whether a certificate may hold any text there."""
    before = container[key]
    container[key] = "anything"
    try:
        Certificate.model_validate(predicate)
    except ValidationError:
        return False
    finally:
        container[key] = before
    return True


def test_the_page_is_whole_and_says_what_the_certificate_says(
    predicate: Predicate,
) -> None:
    page = Page(certificate_page(predicate))
    page.demand_alone()
    for part in (
        "SYNTHETIC made by speccheck simulate: No such machine was looked at",
        "azure-nd96isr-h100-v5 L3 on 3 tracks, L2 on 3 tracks",
        "self-attested; 1 clause waived; 1 number of the edition replaced",
        "comm-topology ✓ granted ✓ granted ✓ granted 71 22 96 99%",
        "checkpoint-recovery ✓ granted ✓ granted ✗ denied 26 6 34 100%",
        "observability ✓ granted ✓ granted ? denied 8 1 13 75%",
        "Required clauses: 255. Of these: 185 pass, 1 fail, 5 not known, 1 waived",
        "L3 ✗ CKPT-008 fails: a save of 812 GB took 410 s",
        "L3 \u2013 75% of what applies was judged, 90% must be",
        "? not verified",
        "gpus.name NVIDIA H100 80GB HBM3",
        "median 55.1 GB/s",
        "least 44.9 GB/s",
        "? least below the floor",
        "ceiling 90 s",
        "4 GiB 398.2 383.1 378.7 403 360 480 ✓ above the floor",
        "✓ specimens 1-3: 144 of 144 links are active nvlink_down",
        "FAB-024 Errors of ports stay rare should, L2 ~ waived ~ mlx5_3 port 1, spec",
        "specimen 2: 12 symbol errors in an hour, at most 10",
        "1 clause not applicable",
        "cable is on order (TICKET-4411) fabric-team 2026-12-31",
        "most_symbol_errors_per_hour 10 20 cables of batch 7 are being replaced",
        "rules 238",
        "acme-rules 1.2.0",
        "driver.version is no more 570.124.06",
        "logs/metrics.jsonl log 12,345,678",
        "This page shows a certificate and is none",
    ):
        assert part in page.text, part


def test_the_page_is_the_same_for_the_same_certificate(predicate: Predicate) -> None:
    assert certificate_page(predicate) == certificate_page(copy.deepcopy(predicate))


def test_only_a_synthetic_certificate_says_so(predicate: Predicate) -> None:
    assert '<div class="watermark"' in certificate_page(predicate)
    assert "<title>SYNTHETIC azure" in certificate_page(predicate)
    predicate["synthetic"] = None
    text = certificate_page(predicate)
    assert '<div class="watermark"' not in text
    assert "SYNTHETIC" not in text
    shown = "".join(certificate_text(predicate, Style()))
    assert "SYNTHETIC" not in shown


def test_what_was_verified_is_told_step_by_step(predicate: Predicate) -> None:
    verified = {
        "at": "2026-11-22T10:00:00Z",
        "steps": [
            {"name": "signature", "outcome": "pass", "message": "Ed25519"},
            {"name": "verdict", "outcome": "fail", "message": f"differs {SCRIPT}"},
            {"name": "evidence", "outcome": "skipped", "message": "no folder"},
        ],
    }
    text = certificate_page(predicate, verified=verified)
    page = Page(text)
    assert "signature ✓ holds Ed25519" in page.text
    assert "verdict ✗ fails differs <script>" in page.text
    assert "evidence ? not done no folder" in page.text  # what is not known is no pass
    assert "at 2026-11-22T10:00:00Z" in page.text
    assert "not verified" not in page.text
    # What is rejected is said before anything that it claims.
    assert "REJECTED: verdict" in page.text
    assert '<header class="error">' in text
    verified["steps"] = verified["steps"][:1]
    predicate["synthetic"] = None
    text = certificate_page(predicate, verified=verified)
    assert "✓ verified: all of 1 step" in Page(text).text
    assert '<header class="good">' in text
    nothing = Page(certificate_page(predicate, verified={"steps": []}))
    assert "? verified in part" in nothing.text
    assert text.count("<script") == 1


def test_a_track_without_a_level_is_not_shown_as_granted(predicate: Predicate) -> None:
    track = predicate["tracks"][3]
    track["level"], track["coverage"] = None, None
    track["denied"] = [
        {"level": "L1", "clause": "OBS-003", "outcome": "unknown", "reason": "no log"}
    ]
    page = Page(certificate_page(predicate))
    assert (
        "observability ? denied \u2013 not granted \u2013 not granted 8 1 13"
        in page.text
    )
    assert "no level on 1 track" in page.text
    assert '<header class="unknown">' in certificate_page(predicate)
    shown = "".join(certificate_text(predicate, Style(width=100)))
    assert "observability           ?   -   -" in shown
    assert "    no L1: OBS-003: no log" in shown


def test_nothing_of_a_hostile_certificate_becomes_markup(predicate: Predicate) -> None:
    free = [at for at in texts_of(predicate) if is_free(predicate, *at)]
    assert len(free) > 300
    for container, key in free:
        container[key] = HOSTILE
    for fields in (predicate["type"]["fields"], predicate["measurements"][0]):
        target = fields.get("conditions", fields)
        target[HOSTILE] = HOSTILE
    verified = {"at": HOSTILE, "steps": [{"name": HOSTILE, "outcome": HOSTILE}]}
    text = certificate_page(predicate, verified=verified)
    page = Page(text)
    assert text.count("<script") == 1
    assert "img" not in page.tags
    body = text[text.index("<body>") : text.index("<script")]
    for harm in HARMFUL:
        assert harm not in body, harm
    assert "&lt;script&gt;" in body
    shown = "".join(certificate_text(predicate, Style()))
    for harm in HARMFUL[5:]:
        assert harm not in shown, harm


def test_what_rules_say_alike_is_told_once(predicate: Predicate) -> None:
    clause = predicate["clauses"][5]
    first = clause["judgements"][0] | {"message": "", "measured": None}
    clause["judgements"] = [
        first | {"subject": f"GPU {number}", "specimen": machine["name"]}
        for machine in predicate["specimens"]
        for number in range(8)
    ]
    clause["judgements"].append(
        first | {"rule": "too_few", "measured": 8, "required": 8}
    )
    page = Page(certificate_page(predicate))
    assert "✓ GPU 0-7, specimens 1-3: not found: nvlink_down" in page.text
    assert "8 against 8 too_few" in page.text


def test_a_level_of_which_no_clause_applies_is_not_said_to_be_denied(
    predicate: Predicate,
) -> None:
    predicate["tracks"][4] |= {"level": "L2", "highest": "L2"}
    page = Page(certificate_page(predicate))
    assert "fabric ✓ granted ✓ granted \u2013 no clause" in page.text


def test_secrets_do_not_reach_the_page(predicate: Predicate) -> None:
    for container, key in texts_of(predicate["clauses"]):
        if key == "message":
            container[key] = f"token {SECRET}"
    assert SECRET not in certificate_page(predicate)


@pytest.mark.slow
def test_a_page_is_bounded_whatever_the_certificate_holds(predicate: Predicate) -> None:
    clause = predicate["clauses"][5]
    clause["judgements"] = [
        clause["judgements"][0] | {"message": f"{number} {'x' * 5_000}"}
        for number in range(5_000)
    ]
    predicate["evidence"] *= 1_000
    predicate["specimens"] *= 1_000
    predicate["measurements"] = predicate["measurements"][6:7] * 1_000
    predicate["limits"] = ["y" * 100_000]
    text = certificate_page(predicate)
    assert len(text) < 2_000_000
    page = Page(text)
    for part in (
        "4,960 more judgements in the certificate",
        "and 8,000 files more",
        "and 2,800 specimens more",
        "and 800 more",
        "... (99,000 more)",
    ):
        assert part in page.text, part


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.0, 0.0, 1e300])
def test_numbers_that_no_machine_has_break_no_drawing(
    predicate: Predicate, value: float
) -> None:
    for measurement in predicate["measurements"]:
        for field in ("median", "p5", "least", "most", "floor", "ceiling"):
            measurement[field] = value
    predicate["measurements"][6]["conditions"]["size_bytes"] = 10**400
    Page(certificate_page(predicate))


def test_what_is_no_certificate_is_refused() -> None:
    with pytest.raises(ValidationError):
        certificate_page({"schema": "speccheck-certificate/2"})
    with pytest.raises(ValidationError):
        list(certificate_text({}, Style()))


def test_the_text_is_one_screen(predicate: Predicate) -> None:
    shown = "".join(certificate_text(predicate, Style(unicode=True)))
    lines = shown.splitlines()
    assert len(lines) <= 28
    assert max(map(len, lines)) <= 80
    assert lines[0] == "SYNTHETIC: made by speccheck simulate; this certifies nothing"
    result = "azure-nd96isr-h100-v5 of azure · edition 1.0 (approved) · 3 specimens"
    assert result in lines
    assert "L3 on 3 tracks, L2 on 3 tracks" in lines
    assert "checkpoint-recovery     ✓   ✓   ✗     100%" in lines
    assert "    no L3: 75% of what applies was judged, 90% must be" in lines
    painted = "".join(certificate_text(predicate, Style(colour=True)))
    assert "\x1b[1;31mx\x1b[0m" in painted
