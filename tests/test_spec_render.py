"""The specification as a document: whole, in order, up to date, and safe to open."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import speccheck.schemas
from speccheck.validator.cli.main import main
from speccheck.validator.editions.edition import DEFAULT_EDITION, load_edition
from speccheck.validator.editions.source import load_edition_source
from speccheck.validator.report.document import Heading, Strong
from speccheck.validator.report.specification.chapters import normative
from speccheck.validator.report.specification.document import (
    document_of,
    html,
    markdown,
)
from speccheck.validator.report.write_markdown import title_of
from specification_page import PAGE, page

FOLDER = Path(speccheck.schemas.__file__).parent / DEFAULT_EDITION
CHAPTERS = [
    "Status of this document",
    "1 Scope",
    "2 Conventions",
    "3 Requirements",
    "4 Profiles",
    "5 Conformance",
    "6 Changes",
    "Annex A Provenance (informative)",
    "Annex B Clauses by track and level (informative)",
    "Annex C Index of clauses (informative)",
]


@pytest.fixture(scope="module")
def text() -> str:
    return markdown(document_of(DEFAULT_EDITION))


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(), "run make generate"


def test_it_has_the_chapters_of_a_standard() -> None:
    headings = [
        block
        for block in document_of(DEFAULT_EDITION).blocks
        if isinstance(block, Heading)
    ]
    assert [title_of(item) for item in headings if item.depth == 1] == CHAPTERS
    numbers = [item.number for item in headings if item.depth == 2 and item.number]
    areas = [f"3.{place}" for place in range(1, len(load_edition().areas) + 1)]
    assert [number for number in numbers if number.startswith("3.")] == areas


def test_every_anchor_is_one_and_is_there() -> None:
    document = document_of(DEFAULT_EDITION)
    anchors = [block.anchor for block in document.blocks if isinstance(block, Heading)]
    assert len(set(anchors)) == len(anchors)
    links = set(re.findall(r'href="#([^"]+)"', "".join(html(document))))
    assert links <= set(anchors)
    assert {clause.lower() for clause in load_edition().clauses} <= set(anchors)


def test_every_clause_says_all_that_the_edition_says(text: str) -> None:
    edition = load_edition()
    parts = dict(
        re.findall(
            r"^#### ([A-Z]+-\d{3}) .*?\n(.*?)(?=^<a id=|\Z)",
            text,
            re.MULTILINE | re.DOTALL,
        )
    )
    assert parts.keys() == edition.clauses.keys()
    for name, clause in edition.clauses.items():
        part = parts[name].replace("\\", "")
        assert clause.rationale.replace("\\", "") in _unlinked(part), name
        assert clause.remedy.replace("\\", "") in _unlinked(part), name
        for number in clause.numbers:
            assert f"| `{number}` |" in part, (name, number)
        for kind in clause.evidence:
            assert f"`{kind}`" in part, (name, kind)


def _unlinked(text: str) -> str:
    return re.sub(r"\[([A-Z]+-\d{3})\]\(#[^)]+\)", r"\1", text)


def test_each_requirement_has_its_word_in_capitals() -> None:
    for clause in load_edition().clauses.values():
        strong = [item.text for item in normative(clause) if isinstance(item, Strong)]
        word = clause.level.upper()
        assert strong or clause.level == "may", clause.id  # advice
        assert set(strong) <= {word, f"{word} NOT"}, clause.id


def test_what_a_certificate_asks_is_the_editions(text: str) -> None:
    terms = load_edition().profiles["use/certify"].terms
    assert terms is not None
    assert f"| Validity | {terms.validity_days} days |" in text
    assert f"| Age of evidence | {terms.evidence_age_days} days |" in text
    assert f"| Coverage floor | {terms.coverage_floor} |" in text
    assert f"| Specimens | {terms.least_specimens} machines |" in text


def test_it_names_its_identity_its_changes_and_its_claims(text: str) -> None:
    source = load_edition_source(FOLDER)
    assert f"`{load_edition().sha256}`" in text
    for claim in source.provenance.claims:
        assert f"| {claim.id} |" in text
    changes = text.partition("## 6 Changes")[2].partition("Annex A")[0]
    assert changes.count("\n| level | ") == sum(
        change.kind == "level" for change in source.changes.changes
    )
    for profile in source.profiles:
        assert profile.id in text


class _Page(HTMLParser):
    """The tags that are open, and all that would be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link", "br", "wbr"}:
            self.open.append(tag)
        self.loaded += [
            value or ""
            for name, value in attrs
            if name in {"src", "href"} and not (value or "").startswith(("#", "data:"))
        ]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, self.getpos()


def test_the_page_is_one_well_formed_file_without_scripts() -> None:
    whole = "".join(html(document_of(DEFAULT_EDITION)))
    found = _Page()
    found.feed(whole)
    assert (found.open, found.loaded) == ([], [])
    assert "<script" not in whole
    assert "default-src 'none'" in whole
    assert "url(" not in whole


@pytest.mark.slow
def test_the_command_writes_a_file_whole_or_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "spec.html"
    assert main(["spec", "render", "--format", "html", "--out", str(path)]) == 0
    assert path.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert [item.name for item in tmp_path.iterdir()] == ["spec.html"]
    assert main(["spec", "render"]) == 0
    assert capsys.readouterr().out == page()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--format", "pdf"], "--format pdf: must be markdown or html"),
        (["--spec", "9.9"], "no edition 9.9: known is"),
        (["--out", "none/spec.md"], "none/spec.md: report not written"),
    ],
)
def test_what_cannot_be_written_is_told_in_a_line(
    capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main(["spec", "render", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1


def test_a_compiled_file_alone_makes_no_document(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["spec", "render", "--spec", str(FOLDER / "compiled.json")]) == 2
    assert "give the folder that holds edition.yaml" in capsys.readouterr().err


@pytest.mark.slow
def test_a_folder_makes_the_same_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "render", "--spec", str(FOLDER)]) == 0
    assert capsys.readouterr().out == page()
