"""Relations between variables: each row tells its example, not the mended twin."""

from collections.abc import Iterator, Mapping
from contextlib import chdir as working_in
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from compile_relations import (
    KINDS,
    compile_relations,
    compiled_text,
    relation_rows,
)
from speccheck.validator.catalogue.files import compiled_path
from speccheck.validator.catalogue.nccl import nccl_relations, nccl_variables
from speccheck.validator.changes.fixes.edit import edited
from speccheck.validator.changes.fixes.edits import edits_of
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.evidence.variable_relations import (
    FORMS,
    JobFacts,
    RelationMatch,
    entries,
)
from speccheck.validator.run.run import run
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.reader import Source

ROWS = relation_rows()
RULES = {
    "refused": "variables_refuse_each_other",
    "unusable": "unusable_list",
    "no_effect": "variable_without_effect",
    "other_release": "value_of_another_release",
    "hurts": "value_known_to_hurt",
    "advice": "value_to_reconsider",
    "ignored_text": "text_dropped_by_parser",
    "mrc_off": "mrc_plugin_switched_off",
    "mrc_no_effect": "mrc_setting_without_effect",
    "mrc_advice": "mrc_setting_to_reconsider",
}
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])


def _env(variables: Mapping[str, str]) -> str:
    """Return an environment file of training, which the first line tells."""
    result = {"NVTE_FLASH_ATTN": "1", **variables}
    return "".join(f"{name}={value}\n" for name, value in result.items())


def _sbatch(variables: Mapping[str, str]) -> str:
    lines = [f"export {name}='{value}'" for name, value in variables.items()]
    start = "srun torchrun --nproc_per_node 8 train.py"
    return "\n".join(["#!/bin/bash", "#SBATCH --job-name=run", *lines, start, ""])


def _findings(
    row: Mapping[str, Any], variables: Mapping[str, str], name: str, folder: Path
) -> list[LocatedFinding]:
    """Return what the rule of the row's kind finds in a file of these variables."""
    text = _sbatch(variables) if name.endswith(".sbatch") else _env(variables)
    files = {name: text}
    if "plan" in row:
        files["plan.yaml"] = yaml.safe_dump({"speccheck": 1, **row["plan"]})
    for path, content in files.items():
        (folder / path).write_text(content, encoding="utf-8")
    request = Request(
        arguments=tuple(files),
        judging=Judging(
            context=Context(**row.get("context", {})),
            selection=Selection(select=(RULES[row["kind"]],)),
        ),
        full=True,
    )
    with working_in(folder):
        judged = run(request)
    return [
        located
        for plan in judged.plans
        for located in plan.findings
        if located.finding.rule == RULES[row["kind"]]
    ]


def _is_told(row: Mapping[str, Any], located: LocatedFinding) -> bool:
    """Return whether a finding is the failure that the row stands for."""
    finding = located.finding
    return finding.outcome == "fail" and finding.message.endswith(f": {row['reason']}")


def _places(row: Mapping[str, Any]) -> list[str]:
    return ["job.sbatch", row.get("in", "job.env")]


@each_row
def test_the_example_of_a_row_is_told_once(
    row: Mapping[str, Any], tmp_path: Path
) -> None:
    for name in _places(row):
        found = _findings(row, row["example"], name, tmp_path)
        failed = [finding for finding in found if _is_told(row, finding)]
        assert [item.finding.remedy for item in failed] == [row["remedy"]], name
        assert {at.key for at in failed[0].locations} & set(row["example"]), name


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "fix" in row], ids=lambda row: row["id"]
)
def test_the_fix_of_a_row_mends_its_example(
    row: Mapping[str, Any], tmp_path: Path
) -> None:
    name = _places(row)[0]
    (result,) = [
        finding.finding
        for finding in _findings(row, row["example"], name, tmp_path)
        if _is_told(row, finding)
    ]
    fix = result.fix
    assert fix is not None
    assert not fix.is_safe
    text = (tmp_path / name).read_text(encoding="utf-8")
    edits = edits_of(fix, {name: Source(name, text)})
    left = _variables(edited(text, edits[name]))
    assert not [
        finding
        for finding in _findings(row, left, name, tmp_path)
        if _is_told(row, finding)
    ]
    dropped = set(row.get("drops", ())) if "dropped" in row["fix"] else set()
    for variable, value in row["example"].items():
        wanted = row["fix"].get(variable, value)
        is_dropped = any(fnmatch(variable, item) for item in dropped)
        assert left.get(variable) == (None if is_dropped else wanted)


def _variables(script: str) -> dict[str, str]:
    lines = [line for line in script.split("\n") if line.startswith("export ")]
    pairs = [line.removeprefix("export ").partition("=") for line in lines]
    return {name: value.strip("'\"") for name, _, value in pairs}


@each_row
def test_the_mended_twin_of_a_row_is_left_alone(
    row: Mapping[str, Any], tmp_path: Path
) -> None:
    for name in _places(row):
        found = _findings(row, row["mended"], name, tmp_path)
        # Advice may have more to say of the same variables.
        is_any = row["kind"] != "advice"
        result = [finding for finding in found if is_any or _is_told(row, finding)]
        assert [
            item for item in result if item.finding.outcome in {"fail", "error"}
        ] == []


@each_row
def test_a_value_that_no_file_tells_is_no_failure(
    row: Mapping[str, Any], tmp_path: Path
) -> None:
    """A script that passes a variable through may be right."""
    outside = {name: f"${{SITE_{name}}}" for name in row["example"]}
    lines = [f'export {name}="{value}"' for name, value in outside.items()]
    text = "\n".join(["#!/bin/bash", *lines, "python train.py", ""])
    (tmp_path / "job.sh").write_text(text, encoding="utf-8")
    request = Request(
        arguments=("job.sh",),
        judging=Judging(
            context=Context(**row.get("context", {})),
            selection=Selection(select=(RULES[row["kind"]],)),
        ),
        full=True,
    )
    with working_in(tmp_path):
        judged = run(request)
    failed = [
        finding.finding.message
        for plan in judged.plans
        for finding in plan.findings
        if _is_told(row, finding)
    ]
    is_set_whatever = any(
        test in ({"set": True}, {"unset": True}) or "lacks" in test
        for test in row["when"].values()
    )
    assert failed == [] or is_set_whatever


def test_a_row_speaks_of_tabulated_variables() -> None:
    known = set(nccl_variables().names())
    wrong = [
        f"{row['id']}: {pattern}"
        for row in ROWS
        for part in (row["when"], row.get("drops", ()), row["example"], row["mended"])
        for pattern in part
        if not any(_is_meant(pattern, name) for name in known)
    ]
    assert not wrong, "\n".join(wrong)


def _is_meant(pattern: str, name: str) -> bool:
    """Return whether a pattern, which may end in `*`, fits a name."""
    if pattern.endswith("*"):
        return name.startswith(pattern[:-1])
    return name == pattern


@pytest.mark.parametrize("kind", KINDS)
def test_the_rule_of_a_kind_is_about_what_its_rows_need(kind: str) -> None:
    (entry,) = [item for item in rule_entries() if item.name == RULES[kind]]
    rows = [item for item in nccl_relations().rows() if item.kind == kind]
    needed = {name for row in rows for name in row.triggers()}
    covered = {
        name
        for name in needed
        if any(
            name == item or (item.endswith("*") and name.startswith(item[:-1]))
            for item in entry.about
        )
    }
    assert covered == needed
    assert {item for item in entry.about if item not in needed} == set()


def test_the_compiled_relations_are_those_of_the_yaml_file() -> None:
    path = Path(compiled_path("nccl_relations"))
    assert path.read_text(encoding="utf-8") == compiled_text()


def _platform_jobs() -> Iterator[tuple[str, str | None, JobFacts]]:
    nccl = nccl_variables()
    for platform in nccl.platforms:
        environment = Environment(
            tuple(
                Variable(name, "some" if value == "*" else value, Place("a.env", name))
                for name, value in platform.variables.items()
            ),
            ("a.env",),
        )
        for instance in (*platform.instances, None):
            leaves: dict[str, Value[Any]] = {
                "cluster.nodes": Value("cluster.nodes", 64, "stated"),
                "cluster.world_size": Value("cluster.world_size", 512, "stated"),
                "run.nccl_version": Value("run.nccl_version", "2.27.3", "stated"),
            }
            if instance:
                name = "cluster.instance_type"
                leaves[name] = Value(name, instance, "stated")
            yield (
                platform.id,
                instance,
                JobFacts(environment, TrainingPlan(leaves), nccl),
            )


def test_what_providers_publish_is_never_failed() -> None:
    """Neither with their instance type nor, for sets that are known by themselves."""
    result = [
        (name, instance, relation.id)
        for name, instance, job in _platform_jobs()
        for relation in nccl_relations().rows()
        if relation.kind != "advice" and isinstance(relation.judge(job), RelationMatch)
    ]
    assert result == []


def test_a_copy_of_a_published_set_counts_as_published() -> None:
    nccl = nccl_variables()
    (platform,) = [item for item in nccl.platforms if item.id == "azure-gb-train"]
    variables = [
        Variable(name, value, Place("gb.env", name))
        for name, value in platform.variables.items()
    ]
    whole = Environment(tuple(variables), ("gb.env",))
    shared = whole.find("NCCL_SHM_DISABLE")
    assert shared is not None
    assert nccl.is_published(shared, whole, None)
    few = Environment((shared, *variables[:1]), ("gb.env",))
    assert not nccl.is_published(shared, few, None)
    other = [Variable("NCCL_IB_SL", "0", Place("gb.env", "NCCL_IB_SL"))]
    rest = [variable for variable in variables if variable.name != "NCCL_IB_SL"]
    changed = Environment((*rest, *other), ("gb.env",))
    assert not nccl.is_published(shared, changed, None)


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        (
            "distinct_entries",
            ["0,1,2", "", "0", "0,1,-1,-1", "GPU-8932f937,GPU-46b87256", "all,all"],
            ["0,0", "0, 1 ,1", "GPU-8932f937,GPU-8932f937", "2,2,-1"],
        ),
        ("exclusion_of_loopback", ["eth0", "^lo,docker", "^=lo"], ["^docker", "^=l"]),
        ("one_file_a_process", ["/a.%p", "/dev/stderr", "/a.$RANK"], ["/a.%h", "log"]),
        ("prefixes_that_differ", ["=mlx5_1", "^=mlx5_1", "mlx5"], ["mlx5_1:1,mlx5_2"]),
        ("power_of_two", ["1024", "0x800000", "auto"], ["1000", "3"]),
        (
            "address_range",
            ["10.0.0.0/8", "fd02::/16"],
            ["10.0.0.0", "/8", "x/8", "a/b"],
        ),
        ("two_letters", ["lo"], ["e"]),
        ("no_blanks", ["a,b", " a,b "], ["a, b", "a b"]),
        ("written_out_path", ["/a/b"], ["~/b"]),
        ("subsystems", ["INIT,net", "^COLL", "ALL"], ["INIT,NETWORK", "DEBUG"]),
        ("address_and_port", ["10.0.0.1:29400", "[::1]:9"], ["10.0.0.1", "host:"]),
        ("merge_policy", ["ALL", "rail"], ["NODE", ""]),
        ("device_policy", ["AUTO", "all", "max:2"], ["MAX", "MAX:0", "MAX:x", "FEW"]),
        ("block_policy", ["default", "ZERO|DEFAULT", "2"], ["FAST", "7", "ZERO|x"]),
        ("block_policies_that_agree", ["ZERO", "1"], ["zero|Efficiency"]),
        ("numbers_with_commas", ["0,1, 8", "0x4"], ["0-3", "abc"]),
    ],
)
def test_forms(form: str, right: list[str], wrong: list[str]) -> None:
    assert [text for text in right if not FORMS[form](text)] == []
    assert [text for text in wrong if FORMS[form](text)] == []


def test_every_form_is_used() -> None:
    used = {
        test["malformed"]
        for row in ROWS
        for test in row["when"].values()
        if "malformed" in test
    }
    assert used == set(FORMS)


def test_entries_of_a_list() -> None:
    assert entries("^=eth0, eth1") == ["eth0", "eth1"]


@cache
def _sound() -> Mapping[str, Any]:
    return {**ROWS[0], "id": "sound"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": ""}, "sound: .*missing \\['source'\\]"),
        ({"kind": "odd"}, "sound"),
        ({"colour": "red"}, "unknown \\['colour'\\]"),
        ({"when": {"NCCL_NET": {"equals": ["IB"]}}}, "no such test: equals"),
        ({"when": {"NCCL_NET": {"malformed": "shape"}}}, "no such test: malformed"),
        ({"where": {"cluster.colour": {"is": ["red"]}}}, "no such leaf"),
    ],
)
def test_a_malformed_row_is_refused(change: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile_relations([{**_sound(), **change}])


def test_a_row_stands_once() -> None:
    with pytest.raises(ValueError, match="tabulated twice: sound"):
        compile_relations([_sound(), _sound()])
