"""Judges one file with comments that waive: what is waived, and what is said of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main

Found = list[dict[str, Any]]
Judge = Callable[..., Found]

ENVIRONMENT = """speccheck: 1
environment:
  NCCL_DEBUGG: INFO{}
  NCCL_IB_HCAA: mlx5
  NCCL_NVLS_ENABLEE: 0
"""


def judge_in(
    folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Judge:
    """Write a file into a folder, judge it there, give the failures."""
    patch.chdir(folder)

    def judged(name: str, text: str, *options: str) -> Found:
        Path(name).write_text(text, encoding="utf-8")
        main([name, "--output", "json", *options])
        document = json.loads(capsys.readouterr().out)
        assert document["files"][0]["status"] == "judged", document
        return [
            finding for finding in document["findings"] if finding["outcome"] == "fail"
        ]

    return judged


def waived(found: Found, rule: str = "misspelt_variable") -> list[int]:
    """Return the lines of what is waived of a rule."""
    return [
        finding["places"][0]["line"]
        for finding in found
        if finding["rule"] == rule and finding["waived"]
    ]


def open_lines(found: Found, rule: str = "misspelt_variable") -> list[int]:
    """Return the lines of what is not."""
    return [
        finding["places"][0]["line"]
        for finding in found
        if finding["rule"] == rule and not finding["waived"]
    ]


def said(found: Found) -> list[str]:
    """Return what is said of waivers themselves."""
    return [
        finding["message"]
        for finding in found
        if "CONF-080" <= finding["clause"] <= "CONF-086"
    ]
