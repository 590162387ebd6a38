"""`#SBATCH` lines, as sbatch(1) reads them.

They count up to the first line that is neither blank nor a comment. A line may hold
several options; an unquoted `#` begins a comment (src/sbatch/opt.c, _opt_batch_script
and get_argument). `#SLURM` is read in the same way, with a complaint.
"""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.shell.script import MAX_CHARACTERS, Directive, Lines
from speccheck.validator.sources.shell.syntax import Origins

_MARK, _OLD_MARK = "#SBATCH", "#SLURM"
_SPACED = lazy_pattern(r"#[ \t]+SBATCH(?=[ \t]+-)")
_HERE = lazy_pattern(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
_ARGUMENT = lazy_pattern(r"[ \t]*((?:[^\s'\"\\#]|\\.|'[^'\n]*'|\"[^\"\n]*\"|['\"\\])+)")
_UNQUOTED = lazy_pattern(r"\\(.)|['\"]")
# https://slurm.schedmd.com/sbatch.html: the options that have a short form.
_LONG_NAMES = {
    "A": "account",
    "a": "array",
    "B": "extra-node-info",
    "b": "begin",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "e": "error",
    "F": "nodefile",
    "G": "gpus",
    "H": "hold",
    "h": "help",
    "I": "immediate",
    "i": "input",
    "J": "job-name",
    "k": "no-kill",
    "L": "licenses",
    "M": "clusters",
    "m": "distribution",
    "N": "nodes",
    "n": "ntasks",
    "O": "overcommit",
    "o": "output",
    "p": "partition",
    "Q": "quiet",
    "q": "qos",
    "S": "core-spec",
    "s": "oversubscribe",
    "t": "time",
    "v": "verbose",
    "W": "wait",
    "w": "nodelist",
    "x": "exclude",
}


_Option = tuple[str, str, int, int, str]


def read_directives(
    text: str, lines: Lines, origins: Origins | None = None
) -> list[Directive]:
    """Return the directives of a script.

    origins: where its characters are written, when it came out of an expansion.
    """
    directives: list[Directive] = []
    position = 0
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        mark = _mark_at(text, position)
        if mark:
            for name, value, first, last, stray in _options(
                text, position + len(mark), end
            ):
                if origins is not None:
                    start, stop, *_ = origins.locate(first, last)
                else:
                    start, stop = first, last
                place = (*lines.position(start), stop - start)
                directives.append(Directive(name, value, *place, stray))
        elif text[position] != "#" and text[position:end].strip():
            break
        position = end + 1
    return directives


def _mark_at(text: str, position: int) -> str:
    """Return what begins a line of options; empty where it is another line."""
    marks = (_MARK, _OLD_MARK)
    return next((mark for mark in marks if text.startswith(mark, position)), "")


def doubtful_directives(text: str) -> list[tuple[Directive, str]]:
    """Return the first option of each line that looks like a directive and is none.

    With why. A line of `#SLURM` is one, which sbatch complains of. What a script writes
    into another one belongs to that.
    """
    result: list[tuple[Directive, str]] = []
    text = text[:MAX_CHARACTERS]
    lines = Lines(text)
    position, begun, word = 0, False, ""
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = text[position:end]
        if word:
            word = "" if line.strip() == word else word
        elif why := _doubt(line, begun=begun):
            mark = _OLD_MARK if line.startswith(_OLD_MARK) else "SBATCH"
            start = position + line.index(mark) + len(mark)
            for name, value, first, last, _ in _options(text, start, end)[:1]:
                place = (*lines.position(first), last - first)
                result.append((Directive(name, value, *place), why))
        elif not line.startswith("#") and line.strip():
            begun = True
            if line.count("'") % 2 or line.count('"') % 2:
                break  # a text of several lines, which may be another script
            here = _HERE.search(line)
            word = here[2] if here else ""
        position = end + 1
    return result


def _doubt(line: str, *, begun: bool) -> str:
    if line.startswith(_MARK) and begun:
        return "it stands below the first command, where sbatch reads no more options"
    if _SPACED.match(line) and not begun:
        return "a blank stands before SBATCH, so that it is a comment"
    if line.startswith(_OLD_MARK) and not begun:
        return "sbatch complains of #SLURM, and takes every word of it for an option"
    return ""


def _options(text: str, position: int, end: int) -> list[_Option]:
    """Return the options of one line: name, value, where they stand, stray words."""
    text_lists: list[_Option] = []
    awaits_value = False
    match = _ARGUMENT.match(text, position, end)
    while match is not None:
        start, last = match.span(1)
        argument = _UNQUOTED.sub(lambda match: match[1] or "", match[1])
        if argument.startswith("--"):
            name, equal, value = argument.partition("=")
            text_lists.append((name, value, start, last, ""))
            awaits_value = not equal
        elif argument.startswith("-") and len(argument) > 1:
            letter, value = argument[1], argument[2:]
            name = f"--{_LONG_NAMES[letter]}" if letter in _LONG_NAMES else f"-{letter}"
            text_lists.append((name, value, start, last, ""))
            awaits_value = not value
        elif awaits_value:
            name, _, start, _, _ = text_lists.pop()
            text_lists.append((name, argument, start, last, ""))
            awaits_value = False
        elif text_lists:
            name, value, start, last, stray = text_lists.pop()
            stray = f"{stray} {argument}".strip()
            text_lists.append((name, value, start, last, stray))
        match = _ARGUMENT.match(text, match.end(), end)
    return text_lists
