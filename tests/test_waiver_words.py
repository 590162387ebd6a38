"""What is said of comments that waive: misspelt, unused, and when nothing is."""

import json
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main
from waived import ENVIRONMENT, Judge, judge_in, said, waived


@pytest.fixture
def judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Judge:
    """Write a file, judge it, give the failures."""
    return judge_in(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("ignore", "it names nothing"),
        ("ignore why not", "it names nothing"),
        ("ignore[ ] why not", "it names nothing"),
        ("ignore[*] why not", "would silence everything"),
        ("ignore[all] why not", "would silence everything"),
        ("ignore[CONF] why not", "CONF is an area"),
        ("ignore[configuration] why not", "configuration is an area"),
        ("ignore[CONF-002 why not", "the bracket is not closed"),
        ("ingore[CONF-002] why not", "did you mean ignore[...]?"),
        ("ignore-files[CONF-002] why not", "did you mean ignore-file[...]?"),
        ("disable[CONF-002] why not", "did you mean ignore[...]?"),
        ("noqa CONF-002", "did you mean ignore[...]?"),
        ("ignore[misspelt_varable] why not", "did you mean misspelt_variable?"),
        ("ignore[CONF-0002] why not", "did you mean CONF-002?"),
        ("ignore[xyzzy] why not", "speccheck rules lists them"),
        ("ignore[CONF-002] why not; until=2027-02-30", "is no date"),
        ("ignore[CONF-002] why not; until=tomorrow", "is no date"),
        ("ignore[CONF-002] why not; unitl=2027-01-31", "did you mean until=?"),
    ],
)
def test_what_is_no_waiver_is_told(judge: Judge, comment: str, says: str) -> None:
    found = judge("config.yaml", ENVIRONMENT.format(f"  # speccheck: {comment}"))
    (message,) = [item for item in said(found) if "cannot be understood" in item]
    assert says in message


@pytest.mark.parametrize(
    "comment", ["see the docs of speccheck", "1", "", "this passes since we pinned it"]
)
def test_prose_is_no_waiver(judge: Judge, comment: str) -> None:
    found = judge("config.yaml", ENVIRONMENT.format(f"  # speccheck: {comment}"))
    assert (waived(found), said(found)) == ([], [])


def test_control_characters_of_a_comment_reach_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    comment = "  # speccheck: ignore[CONF-002\x9b31m\u202e] hf_" + "aB3dE5gH7j" * 4
    Path("config.yaml").write_text(ENVIRONMENT.format(comment), encoding="utf-8")
    main(["config.yaml"])
    out = capsys.readouterr().out
    assert "\x9b" not in out
    assert "\u202e" not in out
    assert "aB3dE5gH7j" not in out


def test_an_unused_comment_is_told_of_only_where_all_files_are_at_hand(
    judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As pre-commit gives files: in batches, in any order."""
    comment = "# speccheck: ignore[warmup_longer_than_schedule] mended long ago\n"
    text = "speccheck: 1\noptimizer:\n  {}warmup_steps: 20\nrun:\n  steps: 1000\n"
    found = judge("a.yaml", text.format(comment + "  "))
    message = "warmup_longer_than_schedule was judged and does not fail where it holds"
    assert said(found) == [f"the comment silences nothing: {message}"]
    (tmp_path / "b.yaml").write_text(text.format(""))
    assert said(judge("a.yaml", text.format(comment + "  "))) == []
    assert len(said(judge("a.yaml", text.format(comment + "  "), "b.yaml"))) == 1
    assert len(said(judge("a.yaml", text.format(comment + "  "), "."))) == 1
    for option in ("--select=MEM", "--ignore=CONF-011", "--select=CONF-082"):
        assert said(judge("a.yaml", text.format(comment + "  "), ".", option)) == []
    options = ("--select=CONF-082", "--select=CONF-011")
    assert len(said(judge("a.yaml", text.format(comment + "  "), ".", *options))) == 1
    capsys.readouterr()


def test_what_could_not_be_judged_leaves_a_comment_alone(judge: Judge) -> None:
    text = "speccheck: 1\noptimizer:\n  warmup_steps: 20  # speccheck: ignore[{}] x\n"
    assert said(judge("a.yaml", text.format("warmup_longer_than_schedule"))) == []


def test_files_without_waivers_are_told_nothing_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(ENVIRONMENT.format(""), encoding="utf-8")
    for options in ([], ["--select", "CONF-082,CONF-002"], ["--profile", "certify"]):
        main(["config.yaml", "--output", "json", "--full", *options])
        document = json.loads(capsys.readouterr().out)
        clauses = {finding["clause"] for finding in document["findings"]}
        assert "CONF-002" in clauses
        assert not [clause for clause in clauses if "CONF-080" <= clause <= "CONF-086"]


def test_a_certificate_asks_nothing_new_for_a_waiver(judge: Judge) -> None:
    """The clauses on waivers come with them, and nothing of a machine does."""
    text = ENVIRONMENT.format("  # speccheck: ignore[CONF-002] of our fork")
    options = ("--profile", "certify", "--full")
    plain = judge("config.yaml", ENVIRONMENT.format(""), *options)
    found = judge("config.yaml", text, *options)
    assert len(plain) == len(found)
