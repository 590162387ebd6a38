"""What a script takes in from elsewhere: files that it sources, and what prints lines.

A file that is here is read in the place where the script takes it in. What is not here,
or what only a running program would print, leaves an opening: any variable may be set
there. Two kinds leave none: what a login shell reads anyway, which the environment that
a script is started in holds already, and the activation of Python environments, whose
scripts are written by their tools and set PATH and names of their own. Sources: venv
(docs.python.org/3/library/venv.html), conda init, sbatch(1) on --export and
--export-file, docker run --env-file, singularity exec --env-file, pdsh of DeepSpeed
(deepspeed/launcher/runner.py, .deepspeed_env), Environment Modules module(1).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.shell.script import (
    Lines,
    ShellWord,
    TakenFile,
    UnseenSource,
    with_unix_lines,
)
from speccheck.validator.sources.shell.syntax import (
    Origins,
    PlacedSpan,
    Simple,
    TextSpan,
    cut,
)

if TYPE_CHECKING:
    from speccheck.validator.sources.shell.expansion import Expander

_MOST_FILES = 40
_MOST_STEPS = 4  # from a variable to the folder that it holds
_SHOWN = 60
# What a login shell reads, and what activates an environment of Python.
_LOGIN_FILES = lazy_pattern(
    r"(?:^|.*/)\.?(?:bashrc|bash_profile|bash_login|bash\.bashrc|profile|zshrc|zshenv"
    r"|zprofile)$|^/etc/(?:profile\.d/.*|profile|bashrc|environment)$"
    r"|.*/(?:modules|lmod|Modules|modulecmd)/.*"
)
_ACTIVATIONS = lazy_pattern(
    r"(?:^|.*/)(?:activate|conda\.sh|mamba\.sh|micromamba\.sh|mamba_hook\.sh|nvm\.sh)$"
    r"|.*/\.?cargo/env$|.*/\.local/bin/env$|.*completion.*"
)
_ACTIVATING_PROGRAMS = frozenset(
    {"conda", "mamba", "micromamba", "pyenv", "rbenv", "ssh-agent", "uv", "pixi"}
    | {"dircolors", "brew", "nodenv", "fnm", "opam", "getopt", "kubectl", "helm"}
)
_LOADING = frozenset({"add", "load", "restore", "swap", "switch", "try-load"})
_MODULE_COMMANDS = frozenset({"module", "spack"})
_ML_OPTIONS = frozenset({"list", "avail", "purge", "spider", "unload", "use", "-"})
_HEAD = lazy_pattern(
    r"(\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`|\$\{[^{}]*\}|\$\w+)(.*)",
)
_PLAIN_REST = lazy_pattern(r"(?:/[\w.@%+=:-]+)*/?")
_OWN_NAME = lazy_pattern(r"BASH_SOURCE|\$0|\$\{0|\$_\b")
_WORKING = lazy_pattern(r"\$\{?PWD\}?|\$\{?SLURM_SUBMIT_DIR\}?|\$\(pwd\)|`pwd`")
_VARIABLE = lazy_pattern(r"\$\{?(\w+)\}?")
_TOKEN = lazy_pattern(r"[^\s|;<>()'\"`]+")
_ENTRY = lazy_pattern(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z_0-9]*)=(.*)")
_PRINTING = frozenset({"echo", "printf"})
_READING = frozenset({"cat", "grep", "egrep", "sed", "awk", "head", "tail", "envsubst"})

Finder = Callable[[str], TakenFile | None]
"""Returns the file that a script means by a path; None where it is not here."""


class ScriptFlow(Protocol):
    """The reading of a script, as far as the files that it takes in go through it.

    Attributes:
        lines: of the script, and of the files that are read in their place.
        expander: of its words; its budget grows with each file.

    """

    lines: Lines
    expander: "Expander"

    def nested(self, placed: list[PlacedSpan]) -> None:
        """Read a script that stands inside this one."""

    def taken_in(self, text: str, origins: Origins) -> None:
        """Read the text of a file as a part of the script."""

    def written_value(self, name: str) -> str | None:
        """Return the value of a variable as the text has it; None where it has none."""

    def word(self, span: TextSpan) -> ShellWord:
        """Return the word that a span makes."""
        ...


# What was taken in, written by here-documents, and named as output, until then.
IntakeMarks = tuple[
    Mapping[str, TakenFile], Mapping[str, list[PlacedSpan]], Mapping[str, None]
]


class Intake:
    """What one script takes in; it reads through the flow of that script.

    Attributes:
        taken: the files that were read.
        unseen: what was not.
        outputs: the names of the files that the script writes.

    """

    def __init__(self, flow: ScriptFlow, find: Finder | None) -> None:
        self._flow = flow
        self._find = find
        self._written: dict[str, list[PlacedSpan]] = {}
        self._open: list[str] = []
        self.outputs: dict[str, None] = {}
        self.taken: dict[str, TakenFile] = {}
        self.unseen: dict[UnseenSource, None] = {}

    def marks(self) -> IntakeMarks:
        """Return what was read and written until now."""
        return dict(self.taken), dict(self._written), dict(self.outputs)

    def return_to(self, marks: IntakeMarks) -> None:
        """Forget what was read and written since; what was not seen stays noted."""
        taken, written, outputs = marks
        self.taken, self._written, self.outputs = {**taken}, {**written}, {**outputs}

    def write(self, name: str, document: list[PlacedSpan]) -> None:
        """Keep a here-document that the script writes to a file."""
        self._written[_normal(name)] = document
        self.outputs[name] = None

    def written(self, name: str) -> list[PlacedSpan] | None:
        """Return what the script itself has written to a file."""
        return self._written.get(_normal(name))

    def source(self, simple: Simple, spans: Sequence[TextSpan]) -> None:
        """Read the file of `source FILE` here, or note that it is not seen."""
        if len(spans) < 2:  # noqa: PLR2004 - a command without its file
            return
        span = spans[1]
        raw = self._raw(simple, 1)
        if raw.startswith("<("):
            self.printed(raw[2:-1], span, offset=2)
            return
        own = self.written(span.text) if span.resolved else None
        if own is not None:
            self._flow.nested(own)
            return
        expander = self._flow.expander
        kept = expander.positional
        if len(spans) > 2:  # noqa: PLR2004 - the command, the file, and what it is given
            expander.positional = (*spans[2:],)
        if not self._read_here(self._target(span, raw)):
            self._miss(raw, span, "sources")
        expander.positional = kept

    def printed(self, raw: str, span: TextSpan, offset: int) -> None:
        """Read the lines that a substitution prints as a script.

        Args:
            raw: the text between its brackets.
            span: where the substitution stands.
            offset: of the text behind the start of the span.
        """
        words = [*_TOKEN.finditer(raw)]
        program = _base(words[0][0]) if words else ""
        if program in _ACTIVATING_PROGRAMS or "completion" in raw:
            return
        if program in _PRINTING and "$(" not in raw:
            start = words[0].end()
            text = raw[start:].strip().strip("'\"").removeprefix("-e ")
            first = span.start + offset + raw.find(text, start)
            inner = TextSpan(text, first, first + len(text), resolved=True)
            self._flow.nested([PlacedSpan(inner, inner.start, inner.end)])
            return
        for name in self._files_in(raw):
            if self._read_here(name):
                return
        self._note(f"what `{_short(raw.strip())}` prints, which {self._name} takes in")

    def evaluates(self, span: TextSpan) -> None:
        """Note `eval "$2"`, which may set what it likes."""
        raw = self._flow.lines.written(span.start, span.end) or span.text
        what = f"{_short(raw)}, which {self._name} evaluates, is not known"
        self._note_at(what, span)

    def lines_of(self, span: TextSpan) -> list[tuple[str, TextSpan]]:
        """Return the lines of `export $(grep -v '^#' .env | xargs)` as variables."""
        raw = self._flow.lines.written(span.start, span.end) or span.text
        for name in self._files_in(raw):
            entries = self.entries(name)
            if entries is not None:
                return entries
        self._note_at(f"export {_short(raw)} in {self._name} sets more", span)
        return []

    def has(self, name: str) -> bool:
        """Return whether a file is here, or the script has written it."""
        if self.written(name) is not None:
            return True
        return self._find is not None and self._find(name) is not None

    def entries(self, name: str) -> list[tuple[str, TextSpan]] | None:
        """Return the `NAME=VALUE` lines of a file; None where it is not here."""
        document = self.written(name)
        if document is not None:
            spans = [placed.span for placed in document]
            text, base = "".join(span.text for span in spans), spans[0].start
        else:
            taken = self._file(name)
            if taken is None:
                return None
            text, base = taken.text, self._flow.lines.add(taken.path, taken.text)
        entries: list[tuple[str, TextSpan]] = []
        position = 0
        for line in text.split("\n"):
            match = _ENTRY.match(line)
            if match is not None:
                value = match[2].strip()
                start = base + position + match.start(2)
                bare = value.strip("'\"")
                end = start + len(value)
                entries.append((match[1], TextSpan(bare, start, end, resolved=True)))
            position += len(line) + 1
        return entries

    def file_of_variables(self, span: TextSpan, how: str) -> list[tuple[str, TextSpan]]:
        """Return what a file sets that an option names; notes one that is not here."""
        name = span.text
        entries = self.entries(name) if span.resolved else None
        if entries is None:
            what = f"{_short(name)}, which {how}, is not here"
            self._note_at(what, span, name if span.resolved else "")
            return []
        return entries

    def beside(self, name: str) -> list[tuple[str, TextSpan]]:
        """Return what a file sets that a launcher reads where there is one."""
        return self.entries(name) or []

    def cut_off(self, how: str) -> None:
        """Note that the script itself is not read to its end."""
        self._note(f"{self._name} {how}; what follows")

    def loads(self, spans: Sequence[TextSpan]) -> None:
        """Note `module load`, whose modulefiles are those of the cluster."""
        name, *rest = (span.text for span in spans)
        words = [text for text in rest if not text.startswith("-")]
        if (name in _MODULE_COMMANDS and words[:1] and words[0] in _LOADING) or (
            name == "ml" and words and words[0] not in _ML_OPTIONS
        ):
            shown = " ".join([name, *words])
        else:
            return
        what = f"{_short(shown)} in {self._name} changes the environment"
        self._note_at(what, spans[0])

    def _read_here(self, name: str | None) -> bool:
        """Read a file in this place of the script; tells whether it is here."""
        taken = self._file(name) if name else None
        if taken is None:
            return False
        if taken.path in self._open:
            return True
        flow = self._flow
        base = flow.lines.add(taken.path, taken.text)
        flow.expander.allow(len(taken.text))
        origin = TextSpan(taken.text, base, base + len(taken.text), resolved=True)
        self._open.append(taken.path)
        flow.taken_in(taken.text, Origins([origin]))
        self._open.pop()
        return True

    def _file(self, name: str) -> TakenFile | None:
        if self._find is None or len(self.taken) >= _MOST_FILES:
            return None
        taken = self._find(name)
        if taken is not None:
            taken = taken._replace(text=with_unix_lines(taken.text))
            self.taken[taken.path] = taken
        return taken

    def _files_in(self, raw: str) -> Iterator[str]:
        """Yield the words of a substitution that may be files."""
        for match in _TOKEN.finditer(raw):
            text = match[0]
            if text[0] in "-^" or text in _READING or "$" in text:
                continue
            if "." in text or "/" in text:
                yield text

    def _target(self, span: TextSpan, raw: str) -> str | None:
        """Return the path that a word means, as far as the text says."""
        if span.resolved:
            return span.text
        return self._path_of(raw.replace('"', "").replace("'", ""), _MOST_STEPS)

    def _path_of(self, raw: str, steps: int) -> str | None:
        """Return the path of `$(dirname "$0")/env.sh` or `${HERE}/env.sh`."""
        match = _HEAD.fullmatch(raw.strip())
        if match is None or _PLAIN_REST.fullmatch(match[2]) is None:
            return None
        folder = self._folder_of(match[1], steps)
        return None if folder is None else f"{folder}{match[2]}"

    def _folder_of(self, head: str, steps: int) -> str | None:
        if _WORKING.fullmatch(head):
            return "."
        if _OWN_NAME.search(head) and "/home" not in head:
            ups = head.count("/..") + max(head.count("dirname") - 1, 0)
            is_folder = "dirname" in head or "%/*" in head or "/.." in head
            return "/".join([".", *[".."] * ups]) if is_folder else None
        variable = _VARIABLE.fullmatch(head)
        inner = _VARIABLE.search(head) if "cd" in head and "pwd" in head else None
        name = (variable or inner or [None, None])[1]
        if name is None or not steps:
            return None
        value = self._flow.written_value(name)
        if value is None:
            return None
        raw = value.replace('"', "").replace("'", "")
        folder = self._path_of(raw, steps - 1)
        ups = 0 if variable else head.count("/..")
        return None if folder is None else "/".join([folder, *[".."] * ups])

    def _miss(self, raw: str, span: TextSpan, how: str) -> None:
        text = span.text if span.resolved else raw.replace('"', "").replace("'", "")
        if _LOGIN_FILES.match(text) or _ACTIVATIONS.match(text):
            return
        what = f"{_short(text)}, which {self._name} {how}, is not here"
        self._note_at(what, span, text if span.resolved else "")

    def _raw(self, simple: Simple, index: int) -> str:
        word = simple.words[min(index, len(simple.words) - 1)]
        return self._flow.lines.written(word.start, word.end)

    @property
    def _name(self) -> str:
        return self._flow.lines.name or "the script"

    def _note(self, what: str) -> None:
        self.unseen[UnseenSource(what, "", None)] = None

    def _note_at(self, what: str, span: TextSpan, target: str = "") -> None:
        self.unseen[UnseenSource(what, target, self._flow.word(span))] = None


def options_with_files(spans: Sequence[TextSpan]) -> Iterator[tuple[str, TextSpan]]:
    """Yield the files of variables that a command is given: `--env-file prod.env`."""
    for position, span in enumerate(spans):
        flag, equals, _ = span.text.partition("=")
        if flag not in _FILE_OPTIONS:
            continue
        if equals:
            yield flag, cut(span, len(flag) + 1, len(span.text))
        elif position + 1 < len(spans):
            yield flag, spans[position + 1]


_FILE_OPTIONS = frozenset({"--env-file", "--env_file", "--export-file"})


def _base(text: str) -> str:
    return text.rpartition("/")[2]


def _normal(name: str) -> str:
    return name.removeprefix("./")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
