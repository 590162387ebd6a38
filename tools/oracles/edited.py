"""Published files, single edits of them, and what both sides say of each.

The edits are those of bench/planted_values.py: another word for a number, a sign, a
list in place of a value, a letter less in a word.
"""

import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

from oracles.asking import Answer, Case
from oracles.registry import Oracle
from planted_values import SUFFIXES, candidates
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.run.run import run
from speccheck.validator.sources.context import Context


class Text(NamedTuple):
    """A file, or one edit of it; key and planted are empty for the file as it is."""

    file: str
    text: str
    key: str = ""
    kind: str = ""
    written: str = ""
    planted: str = ""

    @property
    def id(self) -> str:
        """Its name in lists."""
        if not self.key:
            return self.file
        return f"{self.file}/{self.key}={self.planted}"


class TextResult(NamedTuple):
    """What both sides say of a text; errors: rules and messages of speccheck.

    Of an edit, only the errors that its file does not have as it is.
    """

    oracle: str
    text: Text
    answer: Answer
    errors: tuple[str, ...]


def published(folder: Path) -> list[Text]:
    """Return the files of a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)
    return [Text(path.name, path.read_text("utf-8", "replace")) for path in paths]


def edits(text: Text, each: int, seed: int) -> list[Text]:
    """Return at most so many edits of a file, no two of one key."""
    rng = random.Random(f"{seed} {text.file}")  # noqa: S311 - no secret
    chosen: dict[str, Text] = {}
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, text.file)
        path.write_text(text.text, "utf-8")
        try:
            for fault in candidates(path, rng):
                edit = Text(
                    text.file,
                    fault.text,
                    fault.key,
                    fault.kind,
                    fault.written,
                    fault.planted,
                )
                chosen.setdefault(fault.key, edit)
                if len(chosen) == each:
                    break
        except ValueError:
            return []
    return list(chosen.values())


def text_cases(texts: Iterable[Text]) -> Iterator[Case]:
    """Yield each text as a case."""
    for text in texts:
        yield Case(text.id, {text.file: text.text})


def errors_of(oracle: Oracle, text: Text, folder: Path) -> tuple[str, ...]:
    """Return what speccheck finds wrong with a text, for the release of the oracle."""
    target = folder / text.file
    target.write_text(text.text, "utf-8")
    judging = Judging(context=Context(framework_version=oracle.release))
    with chdir(folder):
        judged = run(
            Request((text.file,), judging, format=oracle.format, each=True, full=True)
        )
    target.unlink()
    failures = [
        f"{finding.rule}: {finding.message}"
        for plan in judged.plans
        for located in plan.findings
        if (finding := located.finding).outcome == "fail" and finding.level == "error"
    ]
    unread = [
        f"not read: {file.message}"
        for file in judged.files
        if file.state == "unreadable"
    ]
    return (*failures, *unread)


def text_results(
    oracle: Oracle,
    texts: Sequence[Text],
    given: Iterable[Answer],
    before: Mapping[str, tuple[str, ...]],
) -> Iterator[TextResult]:
    """Yield each text with what both sides say; before: errors of files as they are."""
    with tempfile.TemporaryDirectory() as scratch:
        for text, answer in zip(texts, given, strict=True):
            known = before.get(text.file, ())
            errors = tuple(
                error
                for error in errors_of(oracle, text, Path(scratch))
                if error not in known
            )
            yield TextResult(oracle.name, text, answer, errors)
