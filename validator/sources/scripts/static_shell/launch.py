"""What commands that start other programs give them: variables and scripts."""

from collections.abc import Sequence

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.scripts.static_shell.expand import Field
from speccheck.validator.sources.scripts.static_shell.pieces import (
    BLANKS,
    Piece,
    Sited,
    cut,
)

_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
# The flags by which launchers take variables for the program.
_FLAGS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("srun", "sbatch", "salloc"), frozenset({"--export"})),
    **dict.fromkeys(
        ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"),
        frozenset({"-x", "-env", "-genv"}),
    ),
    **dict.fromkeys(("docker", "podman", "nerdctl"), frozenset({"-e", "--env"})),
}
# MPICH and Intel MPI: `-genv NCCL_DEBUG WARN`, which also take `NAME=VALUE`.
_NAME_AND_VALUE = frozenset({"-env", "-genv"})
_WRAPPERS = frozenset({"env", "exec", "nohup", "sudo", "time", "timeout", "numactl"})
_REMOTE = frozenset({"ssh", "pdsh", "clush"})
_PROGRAMS = ("python", "torchrun", "deepspeed", "accelerate")
_ENV_OPTIONS = frozenset({"-u", "--unset", "-C", "--chdir"})
_NAMED_VALUE = lazy_pattern(r"([A-Za-z_][A-Za-z_0-9]*)=")
_RUNS_SCRIPT = lazy_pattern(r"-[A-Za-z]*c[A-Za-z]*")
_TAKES_ARGUMENT = lazy_pattern(r"[-+][A-Za-z]*[oO]")


def base_name(text: str) -> str:
    """The name of a program without its folder."""
    return text.rpartition("/")[2]


def given_variables(pieces: Sequence[Piece]) -> list[tuple[str, Piece]]:
    """The variables that a command line sets for the program that it starts."""
    found: list[tuple[str, Piece]] = []
    first = base_name(pieces[0].text)
    if first not in _FLAGS and first not in _WRAPPERS:
        return found
    flags: frozenset[str] = frozenset()
    in_env = is_value = takes_two = False
    name_before = ""  # of `-genv NAME VALUE`
    for piece in pieces:
        text = piece.text
        name = base_name(text)
        if name.startswith(_PROGRAMS) or name.endswith(".py") or name in _SHELLS:
            break
        if name_before:
            found.append((name_before, piece))
            name_before = ""
        elif name in _FLAGS:
            flags = _FLAGS[name]
        elif is_value:
            name_before = "" if _add(piece, found) or not takes_two else text
        elif text.partition("=")[0] in flags:
            _add(cut(piece, (text.find("=") + 1) or len(text), len(text)), found)
        elif in_env and not text.startswith("-"):
            in_env = _add(piece, found)
        is_value = text in flags or (in_env and text in _ENV_OPTIONS)
        takes_two = text in _NAME_AND_VALUE
        in_env = in_env or name == "env"
    return found


def _add(piece: Piece, found: list[tuple[str, Piece]]) -> bool:
    """Add `A=1`, or `ALL,A=1,B=2` as Slurm takes it; tells whether any was there."""
    before = len(found)
    position = 0
    for part in piece.text.split(","):
        end = position + len(part)
        match = _NAMED_VALUE.match(part)
        if match is not None:
            found.append((match[1], cut(piece, position + match.end(), end)))
        elif len(found) > before and part != "ALL":
            # A comma inside a value: `NCCL_SOCKET_IFNAME=eth0,eth1`.
            name, value = found[-1]
            start = position - 1 - len(value.text)
            found[-1] = (name, cut(piece, start, end))
        position = end + 1
    return len(found) > before


def nested_script(
    fields: Sequence[Field], pieces: Sequence[Piece]
) -> tuple[list[Sited], tuple[Piece, ...] | None] | None:
    """The script that a command hands to a shell, and the arguments it gets.

    `bash -c '...'` after any launcher, `sbatch --wrap '...'`, and `ssh host '...'`.
    """
    if base_name(pieces[0].text) in _REMOTE and BLANKS.search(pieces[-1].text):
        return fields[-1].sited, None
    for position, piece in enumerate(pieces):
        name = base_name(piece.text)
        if name in _SHELLS:
            at = _after_options(pieces, position + 1)
            if at is not None:
                return fields[at].sited, tuple(pieces[at + 2 :])
        elif piece.text.startswith("--wrap") and base_name(pieces[0].text) == "sbatch":
            if piece.text.startswith("--wrap="):
                return _without(fields[position].sited, len("--wrap=")), None
            if position + 1 < len(fields):
                return fields[position + 1].sited, None
    return None


def _after_options(pieces: Sequence[Piece], position: int) -> int | None:
    """Where the script stands among the arguments of a shell, if there is one."""
    runs_script = False
    while position < len(pieces):
        text = pieces[position].text
        if not text.startswith(("-", "+")):
            return position if runs_script else None
        runs_script = runs_script or _RUNS_SCRIPT.fullmatch(text) is not None
        position += 2 if _TAKES_ARGUMENT.fullmatch(text) else 1
    return None


def _without(sited: Sequence[Sited], length: int) -> list[Sited]:
    """What remains of a word after its first characters."""
    rest: list[Sited] = []
    for piece, start, end in sited:
        skipped = min(length, len(piece.text))
        length -= skipped
        if skipped < len(piece.text):
            tail = cut(piece, skipped, len(piece.text))
            written = (piece.start, piece.end) == (start, end)
            rest.append(Sited(tail, tail.start if written else start, end))
    return rest


def reads_script(pieces: Sequence[Piece]) -> bool:
    """Whether a command takes a script from its standard input."""
    first, last = base_name(pieces[0].text), base_name(pieces[-1].text)
    if first == "sbatch":
        return all(piece.text.startswith("-") for piece in pieces[1:])
    return last in _SHELLS or (last == "-s" and base_name(pieces[-2].text) in _SHELLS)
