"""Whether a script starts its job in a container, whose files are not the node's."""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.facts import FactSheet
from speccheck.validator.sources.mapping import derive_switch
from speccheck.validator.sources.source import Source

_LEAF = "run.in_container"
# Options of pyxis and of Slurm itself, and the programs that start containers; a line
# that only builds or fetches an image counts as well, which makes rules unsure and not
# wrong.
_STARTS = lazy_pattern(
    r"--container(?:-image|-name)?\b|--no-container-mount-home"
    r"|\b(?:apptainer|charliecloud|ch-run|docker|enroot|nerdctl|podman|sarus"
    r"|shifter|singularity|udocker)\b"
)
_COMMENT, _DIRECTIVE = "#", "#SBATCH"


def state_container(sheet: FactSheet, source: Source) -> None:
    """State that a line of a script starts a container, where one does."""
    for number, line in enumerate(source.text.splitlines(), 1):
        bare = line.lstrip()
        if bare.startswith(_COMMENT) and not bare.startswith(_DIRECTIVE):
            continue
        found = _STARTS.search(line)
        if found is not None:
            span = Span(number, found.start() + 1, len(found[0]))
            place = Place(source.name, found[0], span=span)
            derive_switch(sheet, _LEAF, "the script starts a container", place)
            return
