"""The edition: its files, what the compiler refuses, its compiled form."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import speccheck.schemas
from compile_edition import main
from slow_cases import few
from speccheck.validator.editions.edition import (
    Condition,
    Edition,
    UnknownEdition,
    digest,
    load_edition,
)
from speccheck.validator.editions.source import (
    COMPUTED_FACTS,
    EditionSourceError,
    compiled_text,
    load_edition_source,
)
from speccheck.validator.evidence.plan import SECTIONS

FOLDER = Path(speccheck.schemas.__file__).parent / "1.0"
CORE_MUSTS = {
    "COMM": [3, 9, 10, 16, 17, 60, 71, 72, 73],
    "MEM": [1, 2, 5, 8, 21, 32],
    "BATCH": [1, 2, 5, 22, 30],
    "PREC": [2, 4],
    "TOPO": [2, 3, 4, 10, 50, 60],
    "CKPT": [20, 60],
    "DATA": [60],
    "FT": [3, 20, 21, 45],
    "OBS": [1, 4],
    "FAB": [1, 2, 3, 4, 5, 6, 21, 23, 25, 27, 28, 29, 30, 32, 33, 34, 60],
    "KERN": [31, 32],
    "MRC": [1, 2, 3, 12],
    "SEC": [1, 2],
    "HW": [
        *(1, 2, 3, 5, 20, 21, 22, 25, 27, 33, 35, 60, 63, 64, 75),
        *(86, 88, 90, 93),
        *(102, 103, 105, 110, 112, 113, 116, 117, 118),
        *(126, 132, 140),
        *(150, 151, 153),
    ],
    "META": [1],
    "CONF": [1, 3, 5, 6, 9, 10, 60],
}
AREAS = (
    "COMM",
    "MEM",
    "BATCH",
    "PREC",
    "TOPO",
    "CKPT",
    "FT",
    "OBS",
    "FAB",
    "MRC",
    "KERN",
    "DATA",
    "SEC",
    "ENER",
    "HW",
    "META",
    "CONF",
)


@pytest.fixture(scope="module")
def edition() -> Edition:
    return load_edition("1.0")


# The files and their compiled form


def test_the_compiled_edition_is_that_of_its_files() -> None:
    compiled = (FOLDER / "compiled.json").read_text(encoding="utf-8")
    assert compiled == compiled_text(load_edition_source(FOLDER))


def test_the_digest_is_that_of_the_content(edition: Edition) -> None:
    document = json.loads((FOLDER / "compiled.json").read_text(encoding="utf-8"))
    assert edition.sha256 == document["sha256"] == digest(document)
    document["clauses"]["COMM-001"]["level"] = "may"
    assert digest(document) != edition.sha256


def test_the_edition_says_whose_it_is(edition: Edition) -> None:
    assert (edition.id, edition.stage) == ("1.0", edition.stage)
    assert edition.stage in {"candidate", "approved"}
    assert "not text of OpenAI, of the Open Compute Project" in edition.statement
    for clause in edition.clauses.values():
        text = f"{clause.title} {clause.requirement} {clause.rationale}"
        assert "OpenAI" not in text


def test_every_area_holds_its_clauses_in_order(edition: Edition) -> None:
    ids = list(edition.clauses)
    assert ids == sorted(ids, key=lambda item: (AREAS.index(item[:-4]), item))
    assert list(edition.areas) == list(AREAS)


def test_the_core_musts_are_these(edition: Edition) -> None:
    """A must too many blocks a sound run; a must too few certifies a broken one."""
    found: dict[str, list[int]] = {}
    for clause in edition.clauses.values():
        if clause.status == "core" and clause.level == "must":
            found.setdefault(clause.area, []).append(int(clause.id[-3:]))
    assert found == CORE_MUSTS


def test_every_number_has_a_unit_a_source_and_a_confidence(edition: Edition) -> None:
    for clause in edition.clauses.values():
        for number in clause.numbers.values():
            assert number.unit.name
            assert number.source
            assert number.confidence in {
                "verified",
                "secondary",
                "derived",
                "engineering-default",
            }


def test_conditions_ask_for_values_that_their_leaves_can_have(edition: Edition) -> None:
    for condition in edition.conditions.values():
        if condition.fact in COMPUTED_FACTS or condition.is_stated:
            continue
        section, _, field = condition.fact.partition(".")
        (kind,) = get_args(get_type_hints(SECTIONS[section])[field])
        asked = [*condition.one_of, condition.equals, condition.more_than]
        kinds = {type(item) for item in asked if item is not None}
        assert kinds == {kind}, condition.name


@pytest.mark.parametrize(
    ("condition", "holds_for", "fails_for"),
    [
        (Condition("c", "a.b", "", more_than=1), [2, 1.5], [1, 0, "2", True]),
        (Condition("c", "a.b", "", at_least=2), [2, 3], [1]),
        (Condition("c", "a.b", "", one_of=("L", "XL")), ["L"], ["M"]),
        (Condition("c", "a.b", "", equals=True), [True], [False, "true"]),
        (Condition("c", "a.b", "", equals="mrc"), ["mrc"], ["efa"]),
        (Condition("c", "a.b", "", is_stated=True), ["x", 0, False], [None]),
    ],
)
def test_a_condition_holds(
    condition: Condition, holds_for: list[object], fails_for: list[object]
) -> None:
    assert [condition.holds(fact) for fact in holds_for] == [True] * len(holds_for)
    assert [condition.holds(fact) for fact in fails_for] == [False] * len(fails_for)


# What the compiler refuses

COMM = "clauses/comm.yaml"
BASE = "profiles/base.yaml"
BROKEN = {
    "a_condition_that_is_not_defined": (
        COMM,
        ("[several_nodes]", "[many_nodes]"),
        f"{COMM}: COMM-001: applies_when: many_nodes is not known",
    ),
    "a_placeholder_without_number": (
        COMM,
        ("{min_nodes}", "{least_nodes}"),
        f"{COMM}: COMM-001: requirement: {{least_nodes}} is no number of the clause",
    ),
    "a_number_nobody_uses": (
        COMM,
        ("jobs of at least {min_nodes}", "large jobs"),
        f"{COMM}: COMM-001: numbers.min_nodes: not in the requirement, and no note",
    ),
    "another_level_than_the_sentence": (
        COMM,
        ("level: should", "level: must"),
        f"{COMM}: COMM-001: requirement: does not say must, the level of the clause",
    ),
    "an_implausible_number": (
        COMM,
        ("value: 8\n", "value: 800\n"),
        f"{COMM}: COMM-001: numbers.min_nodes: 800 is outside the plausible range 2 to",
    ),
    "an_implausible_number_of_a_profile": (
        COMM,
        ("nodes/8: 851443712", "nodes/8: 85"),
        f"{COMM}: COMM-001: numbers.crossover: 85 is outside the plausible range 1,0",
    ),
    "a_confidence_of_its_own": (
        COMM,
        ("confidence: derived", "confidence: sure"),
        f"{COMM}: COMM-001: numbers.min_nodes.confidence: Input should be 'verified', ",
    ),
    "a_unit_of_its_own": (
        COMM,
        ("unit: nodes", "unit: hosts"),
        f"{COMM}: COMM-001: numbers.min_nodes: unit: hosts is no unit of edition.yaml",
    ),
    "a_claim_that_nobody_made": (
        COMM,
        ("S2#35", "S2#99"),
        f"{COMM}: COMM-001: origin.claims: S2#99 is not known",
    ),
    "a_clause_of_another_area": (
        COMM,
        ("id: COMM-001", "id: MEM-901"),
        f"{COMM}: MEM-901: id: does not belong to area COMM",
    ),
    "the_same_clause_twice": (
        COMM,
        ("id: COMM-001", "id: COMM-002"),
        "clauses: COMM-002 stands 2 times",
    ),
    "a_field_that_does_not_exist": (
        COMM,
        ("    level: should", "    severity: high\n    level: should"),
        f"{COMM}: COMM-001: severity: Extra inputs are not permitted",
    ),
    "a_key_twice": (
        COMM,
        ("    level: should", "    level: may\n    level: should"),
        f"{COMM}: no YAML: key level stands twice",
    ),
    "a_fact_that_no_plan_has": (
        "conditions.yaml",
        ("fact: cluster.nodes", "fact: cluster.hosts"),
        "conditions.yaml: several_nodes: cluster.hosts is no leaf of the plan",
    ),
    "a_condition_with_two_tests": (
        "conditions.yaml",
        ("more_than: 1", "more_than: 1\n  equals: 2"),
        "conditions.yaml: several_nodes: needs exactly one test, has 2",
    ),
    "a_profile_that_lowers": (
        BASE,
        ("FT-001: must", "FT-001: may"),
        "profiles: base: raises_when: FT-001 to may: it is should already",
    ),
    "a_profile_that_raises_what_is_not_there": (
        BASE,
        ("FT-001: must", "FT-901: must"),
        "profiles: base: raises_when: FT-901 is no clause",
    ),
    "a_profile_that_leaves_out_what_is_not_there": (
        "profiles/fabrics.yaml",
        ("FAB-002: InfiniBand", "FAB-902: InfiniBand"),
        "profiles: fabric/infiniband: not_applicable: FAB-902 is no clause and no area",
    ),
    "a_core_clause_added": (
        "profiles/uses.yaml",
        ("adds: [COMM-014", "adds: [COMM-001"),
        "profiles: use/preflight: adds: COMM-001 is core, not proposed",
    ),
    "an_instance_with_an_unknown_gpu": (
        "profiles/instances.yaml",
        ("accelerator: accel/a100-sxm4-40gb", "accelerator: accel/a101"),
        "profiles: instance/azure-nd96asr-v4: accel/a101 is no profile",
    ),
    "a_use_that_asks_for_no_level": (
        "profiles/uses.yaml",
        ("    certification_levels: [L1]\n", ""),
        "profiles: use/ci: certification_levels: is needed by use",
    ),
    "no_base": (
        BASE,
        ("id: base", "id: size/XXXL"),
        "profiles: base is missing",
    ),
    "a_claim_that_forgets_its_clause": (
        "provenance.yaml",
        ("clauses: [COMM-001, COMM-010]", "clauses: [COMM-010]"),
        "provenance.yaml: S0#2: COMM-001 and it do not name each other",
    ),
    "a_change_that_was_not_made": (
        "CHANGES.yaml",
        ("to: should", "to: may"),
        "CHANGES.yaml: level: COMM-001 is not may",
    ),
}


def broken_copy(folder: Path, name: str, change: tuple[str, str]) -> Path:
    copied = folder / "edition"
    shutil.copytree(FOLDER, copied)
    text = (copied / name).read_text(encoding="utf-8")
    assert change[0] in text
    (copied / name).write_text(text.replace(*change, 1), encoding="utf-8")
    return copied


@pytest.mark.parametrize("case", few(BROKEN, [*BROKEN][::3].__contains__))
def test_a_broken_edition_is_refused(tmp_path: Path, case: str) -> None:
    name, change, expected = BROKEN[case]
    with pytest.raises(EditionSourceError) as caught:
        load_edition_source(broken_copy(tmp_path, name, change))
    assert any(line.startswith(expected) for line in caught.value.problems), str(
        caught.value
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EditionSourceError) as caught:
        load_edition_source(tmp_path)
    assert caught.value.problems[0] == (
        "edition.yaml: cannot be read: No such file or directory"
    )


# Loading


def test_an_edition_is_loaded_from_a_folder_and_a_file(tmp_path: Path) -> None:
    change = ("value: 8\n", "value: 16\n")
    copied = broken_copy(tmp_path, COMM, change)
    assert main([str(copied)]) == 0
    for path in (copied, copied / "compiled.json"):
        loaded = load_edition(str(path))
        assert loaded.clauses["COMM-001"].numbers["min_nodes"].value == 16
        assert loaded.sha256 != load_edition().sha256


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no compiled edition: Expecting"),
        ("[]", "no compiled edition: it holds no object"),
        ('{"sha256": "0"}', "not the content that was compiled"),
    ],
)
def test_a_file_that_holds_no_edition(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "compiled.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UnknownEdition, match=message):
        load_edition(str(path))


def test_an_edition_that_is_incomplete(tmp_path: Path) -> None:
    content: dict[str, object] = {"edition": {}}
    path = tmp_path / "compiled.json"
    path.write_text(
        json.dumps({**content, "sha256": digest(content)}), encoding="utf-8"
    )
    with pytest.raises(UnknownEdition, match="no compiled edition: KeyError"):
        load_edition(str(path))


def test_an_edition_that_was_not_compiled(tmp_path: Path) -> None:
    (tmp_path / "edition.yaml").write_text("", encoding="utf-8")
    with pytest.raises(UnknownEdition, match="not compiled: run python -m"):
        load_edition(str(tmp_path))


def test_an_edition_that_nobody_knows() -> None:
    with pytest.raises(UnknownEdition, match=r"no edition 9\.9: known is 1\.0"):
        load_edition("9.9")


def test_a_run_reads_the_edition_without_pydantic_and_yaml() -> None:
    code = (
        "import sys; from speccheck.validator.editions import show;"
        "from speccheck.validator.editions.edition import load_edition;"
        "show.list_text(load_edition());"
        "print({'pydantic', 'yaml', 'hashlib', 'pathlib'} & set(sys.modules))"
    )
    root = Path(speccheck.schemas.__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "set()\n"
