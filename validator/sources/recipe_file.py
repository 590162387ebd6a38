"""Makefiles and justfiles: the recipes that launch a training, as a script.

What `make` and `just` fill in becomes a variable of the shell: `$(GPUS)` and `{{gpus}}`
are `${GPUS}` and `${gpus}`, `GPUS ?= 8` is `GPUS="${GPUS:-8}"`. What they work out by
functions is not known. Recipes that launch nothing are not read. Sources: GNU make
manual (3.7 How make parses a makefile, 5 Recipes, 6.6 Setting variables); just.systems.
"""

import re
from collections.abc import Iterator
from itertools import accumulate

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.documents.document import Document, LineTable
from speccheck.validator.sources.embedded_script import Anchors, moved_script
from speccheck.validator.sources.reader import Source
from speccheck.validator.sources.shell.script import Script, with_unix_lines

_LARGEST = 500_000  # characters; the Makefile of Linux has 80,000
_UNKNOWN = "$(make)"
_LAUNCHES = lazy_pattern(
    r"\b(?:torchrun|ft_launcher|deepspeed|srun|mpirun|mpiexec|horovodrun|composer)\b"
    r"|accelerate[ ]+launch|torch\.distributed\.(?:run|launch)|ray[ ]+job[ ]+submit"
    r"|llamafactory-cli|(?:swift|megatron)[ ]+(?:sft|pt|rlhf)|main_ppo|openrlhf\.cli"
)
_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
_SETTING = lazy_pattern(
    rf"[ ]*(?P<export>export[ ]+)?(?:override[ ]+|private[ ]+)*(?P<name>{_NAME})[ \t]*"
    r"(?P<sign>\?=|:{0,3}=|\+=|!=)[ \t]*(?P<value>.*)",
    re.DOTALL,
)
_EXPORT = lazy_pattern(rf"export((?:[ \t]+{_NAME})+)[ \t]*$")
_TARGET = lazy_pattern(r"[^\s#=:][^#=:]*::?(?!=)")
_CONDITIONS = {"ifeq": "if", "ifneq": "if", "ifdef": "if", "ifndef": "if"}
_OPEN = lazy_pattern(
    rf"\$\$|\$[({{](?P<name>{_NAME})[)}}]|\$\((?:[^()\n]|\([^()\n]*\)){{1,400}}\)"
    r"|\$\{[^}\n]{1,400}\}|\$(?P<letter>[A-Za-z])|\$[@<^*%?+|]"
)
_JUST_SETTING = lazy_pattern(
    rf"(?P<export>export[ ]+)?(?P<name>{_NAME})[ \t]*:=[ \t]*(?P<value>.*)"
)
_JUST_RECIPE = lazy_pattern(
    rf"@?{_NAME}(?:-\w+)*(?P<given>(?:[ \t]+[+*$]?{_NAME}"
    r"(?:=(?:'[^']*'|\"[^\"]*\"|[^\s:]+))?){0,40})[ \t]*:(?!=)"
)
_JUST_GIVEN = lazy_pattern(rf"({_NAME})=('[^']*'|\"[^\"]*\"|[^\s:]+)")
_JUST_TEXT = lazy_pattern(r"'([^']*)'|\"([^\"]*)\"")
_JUST_FALLBACK = lazy_pattern(
    r"env(?:_var_or_default)?\(\s*['\"](\w+)['\"]\s*,\s*['\"]([^'\"]*)['\"]\s*\)"
)
_JUST_OPEN = lazy_pattern(rf"\{{\{{\s*(?P<name>{_NAME})?[^}}\n]*\}}\}}")


def is_justfile(name: str) -> bool:
    """Return whether just reads a file of that name."""
    base = name.rpartition("/")[2].lower()
    return base.endswith(("justfile", ".just"))


class RecipeFile(Source):
    """A Makefile or justfile, whose script is that of the recipes that launch."""

    __slots__ = ()

    def __init__(self, name: str, text: str) -> None:
        """Take the text of the file."""
        super().__init__(name, text, "make")

    @property
    def documents(self) -> list[Document]:
        """Return none: it is a script."""
        return []

    @property
    def script(self) -> Script:
        """The recipes, their words in the places that they have in the file."""
        if self._script is None:
            draft = _Draft()
            text = with_unix_lines(self.text[:_LARGEST])
            if is_justfile(self.name):
                _write_just(text, draft)
            else:
                _write_make(text, draft)
            script, anchors = draft.written()
            lines = LineTable(self.text)
            self._script = moved_script(self.name, script, lines, anchors)
        return self._script


class _Draft:
    """A script in the making: its pieces, and where they stand in the file."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, int]] = []

    def add(self, text: str, offset: int) -> None:
        """Write a piece that stands at an offset of the file."""
        self.pieces.append((text, offset))

    def written(self) -> tuple[str, Anchors]:
        """Return the text, and the offsets of its pieces."""
        starts = accumulate((len(text) for text, _ in self.pieces), initial=0)
        anchors = [
            (start, offset)
            for start, (_, offset) in zip(starts, self.pieces, strict=False)
        ]
        return "".join(text for text, _ in self.pieces), anchors or [(0, 0)]


class _Line(Record):
    """A line with those that continue it, and its offset."""

    text: str
    offset: int


def _logical_lines(text: str) -> Iterator[_Line]:
    start = position = 0
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        position = end + 1
        if not text[start:end].endswith("\\"):
            yield _Line(text[start:end], start)
            start = position
    if start < len(text):
        yield _Line(text[start:], start)


def _write_make(text: str, draft: _Draft) -> None:
    """Write the variables of a Makefile, then the recipes that launch."""
    recipes: list[list[_Line]] = []
    depth = 0
    is_defining = False
    for line in _logical_lines(text):
        words = line.text.split(None, 1)
        first = words[0] if words else ""
        if is_defining or first == "define":
            is_defining = first != "endef"
        elif line.text.startswith("\t"):
            if recipes:
                recipes[-1].append(line)
        elif first in _CONDITIONS or first in {"else", "endif"}:
            depth = _write_condition(line, draft, depth)
        elif match := _SETTING.fullmatch(line.text):
            _write_setting(match, line, draft)
        elif match := _EXPORT.match(line.text):
            draft.add(f"export{match[1]}\n", line.offset)
        elif _TARGET.match(line.text):
            recipes.append([])
    draft.add("fi\n" * depth, len(text))
    for recipe in recipes:
        _write_recipe(recipe, draft)


def _write_condition(line: _Line, draft: _Draft, depth: int) -> int:
    """Write a condition of make as one that no text decides; return the depth."""
    first, *rest = line.text.split()
    if first in _CONDITIONS:
        draft.add("if grep -q make; then :\n", line.offset)
        return depth + 1
    if not depth:
        return 0
    if first == "endif":
        draft.add("fi\n", line.offset)
        return depth - 1
    again = bool(rest) and rest[0] in _CONDITIONS
    word = "elif grep -q make; then :\n" if again else "else :\n"
    draft.add(word, line.offset)
    return depth


def _write_setting(match: re.Match[str], line: _Line, draft: _Draft) -> None:
    name, sign = match["name"], match["sign"]
    value = match["value"].partition(" #")[0].replace("\\\n", "  ").strip()
    value = _UNKNOWN if sign == "!=" else value.replace('"', '\\"')
    before, after = '"', '"\n'
    if sign == "?=":
        before, after = f'"${{{name}:-', '}"\n'
    elif sign == "+=":
        before = f'"${{{name}}} '
    export = "export " if match["export"] else ""
    draft.add(f"{export}{name}={before}", line.offset + match.start("name"))
    _write_opened(value, line.offset + match.start("value"), draft)
    draft.add(after, line.offset + len(line.text))


def _write_recipe(lines: list[_Line], draft: _Draft) -> None:
    """Write the lines of a recipe in a shell of their own, where one launches."""
    if not any(_LAUNCHES.search(line.text) for line in lines):
        return
    draft.add("(\n", lines[0].offset)
    for line in lines:
        command = line.text.lstrip(" \t@+-")
        start = line.offset + len(line.text) - len(command)
        _write_opened(command, start, draft)
        draft.add("\n", line.offset + len(line.text))
    draft.add(")\n", lines[-1].offset)


def _write_opened(text: str, offset: int, draft: _Draft) -> None:
    """Write a text of make with its variables as those of a shell."""
    end = 0
    for match in _OPEN.finditer(text):
        draft.add(text[end : match.start()], offset + end)
        name = match["name"] or match["letter"]
        if match[0] == "$$":
            shown = "$"
        elif name and name != "MAKE":
            shown = f"${{{name}}}"
        else:
            shown = _UNKNOWN
        draft.add(shown, offset + match.start())
        end = match.end()
    draft.add(text[end:], offset + end)


def _write_just(text: str, draft: _Draft) -> None:
    """Write the variables of a justfile, then the recipes that launch."""
    recipes: list[tuple[re.Match[str], int, list[_Line]]] = []
    for line in _logical_lines(text):
        if line.text[:1] in {" ", "\t"}:
            if recipes:
                recipes[-1][2].append(line)
        elif match := _JUST_SETTING.fullmatch(line.text):
            export = "export " if match["export"] else ""
            value = _just_value(match["value"])
            start = line.offset + match.start("value")
            draft.add(f"{export}{match['name']}=", line.offset + match.start("name"))
            draft.add(f"{value}\n", start)
        elif match := _JUST_RECIPE.match(line.text):
            recipes.append((match, line.offset, []))
    for match, offset, lines in recipes:
        if any(_LAUNCHES.search(line.text) for line in lines):
            _write_just_recipe(match, offset, lines, draft)


def _just_value(text: str) -> str:
    """Return a value of just as a word of a shell."""
    whole = _JUST_TEXT.match(text)
    if whole is not None:
        inner = whole[1] if whole[1] is not None else whole[2]
        return "'" + inner.replace("'", "'\"'\"'") + "'"
    fallback = _JUST_FALLBACK.match(text)
    return f'"${{{fallback[1]}:-{fallback[2]}}}"' if fallback else _UNKNOWN


def _write_just_recipe(
    match: re.Match[str], offset: int, lines: list[_Line], draft: _Draft
) -> None:
    draft.add("(\n", offset)
    for given in _JUST_GIVEN.finditer(match["given"]):
        place = offset + match.start("given") + given.start()
        value = given[2].strip("'\"")
        draft.add(f'{given[1]}="${{{given[1]}:-{value}}}"\n', place)
    for line in lines:
        command = line.text.lstrip(" \t@-")
        start = line.offset + len(line.text) - len(command)
        end = 0
        for hole in _JUST_OPEN.finditer(command):
            draft.add(command[end : hole.start()], start + end)
            name = hole["name"]
            is_plain = name and hole[0].strip("{} \t") == name
            shown = f"${{{name}}}" if is_plain else _UNKNOWN
            draft.add(shown, start + hole.start())
            end = hole.end()
        draft.add(command[end:], start + end)
        draft.add("\n", line.offset + len(line.text))
    draft.add(")\n", offset)
