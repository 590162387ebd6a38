"""The README shows what the program really prints."""

import re
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_report_is_the_real_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = re.search(r"```console\n\$ speccheck (.*)\n((?s:.*?))```\n", README)
    assert shown is not None
    monkeypatch.chdir(ROOT)
    code = main(shown[1].split())
    assert code == 1
    assert capsys.readouterr().out == shown[2]


def test_the_change_of_a_plan_is_the_real_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = r"```text\n\$ speccheck (plan [^`]*? --what-if .*)\n((?s:.*?))```\n"
    shown = re.search(pattern, README.replace("\\\n    ", ""))
    assert shown is not None
    monkeypatch.chdir(ROOT)
    assert main(shown[1].split()) == 0
    printed = capsys.readouterr().out
    for piece in shown[2].split("...\n"):
        assert piece in printed


def test_every_exit_code_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    text = capsys.readouterr().out
    for code in (0, 1, 2, 3, 4, 130):
        assert f"| {code} | " in README
        assert f"\n  {code}  " in text
