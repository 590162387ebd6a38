"""What is known of the files of an evidence kit."""

from typing import Literal

from speccheck.validator.evidence.record import Record

Kind = Literal["config", "snapshot", "measurement", "log", "drill", "other"]
KINDS: tuple[Kind, ...] = (
    *("config", "snapshot", "measurement", "log", "drill", "other"),
)


class EvidenceFile(Record):
    """One file of a kit.

    path: below the folder, with slashes. format: of the reader that knows it; empty for
    what none knows. taken: when, in UTC (ISO 8601); empty where it does not tell.
    specimen: the machine that it is of, by its engine or by the digest of its name;
    empty for what is of none or of several. synthetic: what made it up; empty for what
    was really seen. gives: kinds of evidence, in words of the edition. nodes: how many
    took part in the widest measurement; 0 where nothing tells. instance_type: as it
    says of itself. note: what is to be known of it, for people.
    """

    path: str
    kind: Kind
    format: str
    sha256: str
    size_bytes: int
    taken: str = ""
    specimen: str = ""
    synthetic: str = ""
    gives: tuple[str, ...] = ()
    nodes: int = 0
    instance_type: str = ""
    note: str = ""


class Problem(Record):
    """A file that should be evidence, and cannot be read."""

    path: str
    text: str


class Kit(Record):
    """What a folder holds. passed_over: what is not looked at, and why."""

    folder: str
    files: tuple[EvidenceFile, ...]
    problems: tuple[Problem, ...] = ()
    passed_over: tuple[Problem, ...] = ()

    def of_kind(self, *kinds: Kind) -> tuple[EvidenceFile, ...]:
        """The files of these kinds."""
        return tuple(one for one in self.files if one.kind in kinds)

    @property
    def evidence(self) -> tuple[EvidenceFile, ...]:
        """The files that rules can judge."""
        return tuple(one for one in self.files if one.kind != "other")

    @property
    def specimens(self) -> tuple[str, ...]:
        """The machines of which there are snapshots, sorted."""
        return tuple(sorted({one.specimen or one.path for one in self._snapshots}))

    @property
    def instance_types(self) -> tuple[str, ...]:
        """The types that machines say they are, sorted."""
        return tuple(sorted({one.instance_type for one in self._snapshots} - {""}))

    @property
    def synthetic(self) -> tuple[EvidenceFile, ...]:
        """The files that were made up."""
        return tuple(one for one in self.files if one.synthetic)

    @property
    def gives(self) -> frozenset[str]:
        """All kinds of evidence; several machines can be laid beside each other."""
        found = {kind for one in self.files for kind in one.gives}
        return frozenset({*found, "fleet"} if len(self.specimens) > 1 else found)

    @property
    def _snapshots(self) -> tuple[EvidenceFile, ...]:
        return self.of_kind("snapshot")
