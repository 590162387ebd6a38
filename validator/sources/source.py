"""A file as the readers get it: text, language, and its documents or its script."""

from typing import TYPE_CHECKING, Literal

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.documents.reading import (
    guess_language as guess_document_language,
)
from speccheck.validator.sources.documents.reading import load_documents

if TYPE_CHECKING:
    from speccheck.validator.sources.scripts.shell import Script

Language = Literal["yaml", "json", "toml", "shell"]
_SHELL_SUFFIXES = (".sh", ".bash", ".sbatch", ".slurm", ".env", ".conf")
_SHELL_LINE = lazy_pattern(r"(export\s+)?[A-Z_][A-Z0-9_]*=")


class Source:
    """One file; documents and script are made when first asked for."""

    __slots__ = ("_documents", "_lines", "_script", "language", "name", "text")

    def __init__(self, name: str, text: str, language: Language | None = None) -> None:
        """Take the text of a file; its language is guessed unless it is given."""
        self.name = name
        self.text = text
        self.language: Language = language or guess_language(name, text)
        self._documents: list[Document] | None = None
        self._script: Script | None = None
        self._lines: list[str] | None = None

    @property
    def own_text(self) -> str:
        """The text; of a script in a document, the script alone."""
        return self.text

    def lines_in_file(self, lines: tuple[int, ...]) -> tuple[int, ...]:
        """On which lines of the file lines of the own text stand."""
        return lines

    def line(self, number: int) -> str:
        """A line by its number, from 1, without its end; empty behind the last."""
        if self._lines is None:
            self._lines = self.text.split("\n")
        if number > len(self._lines):
            return ""
        return self._lines[number - 1].rstrip("\r")

    @property
    def documents(self) -> list[Document]:
        """The documents of a YAML, JSON or TOML file; raises ReadError."""
        if self._documents is None:
            language = None if self.language == "shell" else self.language
            self._documents = load_documents(self.name, self.text, language)
        return self._documents

    @property
    def script(self) -> "Script":
        """The file as a shell script or an environment file."""
        if self._script is None:
            # The reader of shell scripts costs 12 ms at start-up.
            from speccheck.validator.sources.scripts.shell import (  # noqa: PLC0415
                parse_script,
            )

            script = parse_script(self.text)
            known = allocation_variables(script)
            self._script = parse_script(self.text, known) if known else script
        return self._script


def guess_language(name: str, text: str) -> Language:
    """The language of a file by its suffix, else by how its text begins."""
    base = name.rpartition("/")[2].lower()
    if base.endswith(_SHELL_SUFFIXES) or base.startswith(".env"):
        return "shell"
    if "." not in base and _is_shell(text):
        return "shell"
    return guess_document_language(name, text)


def _is_shell(text: str) -> bool:
    """By a shebang, a directive of Slurm, or a first line that assigns a variable."""
    start = text.lstrip()[:4000]
    if start.startswith("#!") or "\n#SBATCH" in start:
        return True
    lines = (line.strip() for line in start.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return _SHELL_LINE.match(first) is not None


def allocation_variables(script: "Script") -> dict[str, str]:
    """What Slurm sets in the job by the script's own directives."""
    known: dict[str, str] = {}
    for directive in script.directives:
        value = directive.value.strip("\"'")
        if directive.name in {"-N", "--nodes"} and value.isdecimal():
            for name in ("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODES"):
                known[name] = value
        elif directive.name in {"--gpus-per-node", "--gres"}:
            count = value.rpartition(":")[2]
            if count.isdecimal():
                known["SLURM_GPUS_ON_NODE"] = known["SLURM_GPUS_PER_NODE"] = count
        elif directive.name == "--ntasks-per-node" and value.isdecimal():
            known["SLURM_NTASKS_PER_NODE"] = value
    return known
