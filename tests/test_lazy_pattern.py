"""A lazy pattern does what a compiled one does."""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from threading import Event, Thread

import pytest

from speccheck.validator.evidence.lazy_pattern import importing_lazily, lazy_pattern

TEXT = "a1 b22 C333"
USES: dict[str, Callable[[re.Pattern[str]], object]] = {
    "match": lambda pattern: pattern.match(TEXT, 3),
    "no match": lambda pattern: pattern.match(TEXT, 2),
    "match before an end": lambda pattern: pattern.match(TEXT, 3, 5),
    "fullmatch": lambda pattern: pattern.fullmatch("b22"),
    "search": lambda pattern: pattern.search(TEXT),
    "finditer": lambda pattern: list(pattern.finditer(TEXT)),
    "findall": lambda pattern: pattern.findall(TEXT),
    "sub": lambda pattern: pattern.sub(r"<\1>", TEXT),
    "split": lambda pattern: pattern.split(TEXT),
    "text": lambda pattern: pattern.pattern,
    "groups": lambda pattern: pattern.groups,
}


@pytest.mark.parametrize("flags", [0, re.IGNORECASE])
@pytest.mark.parametrize("use", USES)
def test_a_lazy_pattern_does_what_a_compiled_one_does(use: str, flags: int) -> None:
    text = r"[a-c](\d+)"
    lazy = lazy_pattern(text, flags)
    expected = repr(USES[use](re.compile(text, flags)))
    assert repr(USES[use](lazy)) == expected
    assert repr(USES[use](lazy)) == expected, "also when it has been used"


def test_a_module_imported_lazily_compiles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numbers_of_a_test.py").write_text(
        "import re\nNUMBER = re.compile('[0-9]+')\nWRONG = re.compile('(')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    compile_now = re.compile
    with importing_lazily():
        module = import_module("numbers_of_a_test")
    assert re.compile is compile_now
    assert module.NUMBER.search("a 12")[0] == "12"
    with pytest.raises(re.error):
        module.WRONG.search("")


def test_patterns_are_compiled_again_after_an_import_that_failed() -> None:
    compile_now = re.compile
    with pytest.raises(ImportError), importing_lazily():
        import_module("no_such_module_anywhere")
    assert re.compile is compile_now


def test_a_wrong_pattern_is_refused_when_it_is_used() -> None:
    lazy = lazy_pattern("(")
    with pytest.raises(re.error):
        lazy.search("")


def test_nothing_is_replaced_where_another_thread_might_compile() -> None:
    compile_now = re.compile
    is_done = Event()
    other = Thread(target=is_done.wait)
    other.start()
    try:
        with importing_lazily():
            assert re.compile is compile_now
    finally:
        is_done.set()
        other.join()
