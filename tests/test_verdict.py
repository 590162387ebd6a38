"""The first lines and the exit code: approval never goes beyond what was seen."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from markdown_pages import ROOT
from speccheck.validator.cli.main import main
from speccheck.validator.simulation.fleet import Maker, SimulatedFleet

GOOD = """{
  "train_batch_size": 64,
  "train_micro_batch_size_per_gpu": 1,
  "gradient_accumulation_steps": 1
}
"""
BROKEN = GOOD.replace("64", "100")
NEMO = """trainer:
  num_nodes: 2
  devices: 8
model:
  micro_batch_size: 3
  global_batch_size: 100
"""
JOB = ("--nodes", "8", "--gpus-per-node", "8")
SEEN, UNSEEN = "CONF-001,CONF-005", "CONF-001,CONF-005,MEM-001"
FOOT = "edition 1.1 · profile ci, size M"
HEAD = "deepspeed: 64 GPUs (8 nodes \u00d7 8) · ds.json"
Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ds.json").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; the exit code, and the lines of its report."""

    def result(*words: str) -> tuple[int, list[str]]:
        code = main(list(words))
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines), default=0) <= 80
        return code, lines

    return result


def headline(text: str, code: int) -> str:
    """Return a first line of 80 columns."""
    return f"{text:<74}exit {code}"


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main([*words, "--output", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_all_passed(run: Run) -> None:
    assert run("ds.json", *JOB, "--select", SEEN) == (
        0,
        [
            headline("no problems: 2 of 2 required checks passed", 0),
            HEAD,
            "",
            FOOT,
            "required: 2 passed · --full lists them",
        ],
    )


def test_some_could_not_run(run: Run) -> None:
    assert run("ds.json", *JOB, "--select", UNSEEN) == (
        0,
        [
            headline("nothing wrong found in 2 of 3 required checks", 0),
            HEAD,
            "",
            "1 required check could not run. It needs:",
            "  --gpu or --instance   memory (1)",
            "",
            FOOT,
            "required: 2 passed, 1 not run · --full lists them",
        ],
    )


def test_findings_say_how_much_was_seen(run: Run, folder: Path) -> None:
    (folder / "ds.json").write_text(BROKEN)
    code, lines = run("ds.json", *JOB, "--select", f"{UNSEEN},BATCH-001")
    assert code == 1
    assert lines[0] == headline("1 error · 3 of 4 required checks could run", 1)
    assert lines[1:3] == [HEAD, ""]
    assert lines[3] == "error BATCH-001 global_batch_differs_from_product"
    assert lines[-5:] == [
        "1 required check could not run. It needs:",
        "  --gpu or --instance   memory (1)",
        "",
        FOOT,
        "required: 2 passed, 1 failed, 1 not run · --full lists them",
    ]


def test_that_failures_do_not_count_is_told_with_the_option(
    run: Run, folder: Path
) -> None:
    (folder / "ds.json").write_text(BROKEN)
    words = ("ds.json", *JOB, "--select", "BATCH-001")
    code, lines = run(*words, "--fail-on", "never")
    assert code == 0
    assert lines[:2] == [
        headline("1 error · 1 of 1 required checks could run", 0),
        "exit 0 because of --fail-on never",
    ]


@pytest.mark.parametrize("use", ["ci", "preflight", "certify"])
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("pets.yaml", "--skip-unknown"), "no file is a training configuration"),
        ((".", "--exclude", "*"), "no file is a training configuration"),
        (
            ("ds.json", "--exclude", "*", "--force-exclude"),
            "settings exclude every file",
        ),
    ],
)
def test_nothing_judged_is_no_pass(
    run: Run, folder: Path, use: str, words: tuple[str, ...], why: str
) -> None:
    (folder / "pets.yaml").write_text("cats: 2\n")
    code, lines = run(*words, "--profile", use)
    assert code == 3
    assert lines[0] == headline(f"nothing was judged: {why}", 3)


def test_a_hook_says_that_nothing_to_judge_is_right(run: Run, folder: Path) -> None:
    (folder / "pets.yaml").write_text("cats: 2\n")
    words = ("pets.yaml", "--skip-unknown", "--allow-nothing")
    code, lines = run(*words)
    assert code == 0
    text = "nothing was judged: no file is a training configuration"
    assert lines[:2] == [headline(text, 0), "exit 0 because of --allow-nothing"]
    assert run(*words, "--profile", "certify")[0] == 3
    (folder / "pets.yaml").write_text("cats: [\n")
    assert run(*words)[0] == 2


def test_the_hook_of_a_commit_lets_other_files_pass(run: Run, folder: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    of_commits, of_project = (shlex.split(hook["entry"])[1:] for hook in hooks)
    (folder / "package.json").write_text('{"name": "web"}')
    assert run(*of_commits, "package.json")[0] == 0
    assert run(*of_project, "package.json")[0] == 3
    (folder / "ds.json").write_text(BROKEN)
    assert run(*of_commits, "package.json", "ds.json", *JOB)[0] == 1


def test_no_required_check_that_could_run_is_no_pass(run: Run) -> None:
    code, lines = run("ds.json", "--select", "MEM-001")
    assert code == 3
    assert lines[0] == headline("the only required check could not run", 3)


@pytest.mark.parametrize(
    ("clauses", "code", "text"),
    [
        ("CONF-001", 0, "nothing wrong found in 2 of 3 required checks"),
        ("conf-001,CONF-005", 0, "nothing wrong found in 2 of 3 required checks"),
        ("MEM-001", 3, "MEM-001 could not run · 2 of 3 required checks could run"),
        ("FT-003", 3, "FT-003 was not judged · 2 of 3 required checks could run"),
    ],
)
def test_a_required_clause_must_be_seen_to_hold(
    run: Run, clauses: str, code: int, text: str
) -> None:
    words = ("ds.json", *JOB, "--select", UNSEEN, "--require", clauses)
    ended, lines = run(*words)
    assert (ended, lines[0]) == (code, headline(text, code))
    if code:
        assert lines[1] == f"exit 3 because of --require {clauses}"


def test_a_required_clause_that_only_warns_is_not_held(run: Run) -> None:
    words = ("ds.json", *JOB, "--select", "CONF-001,COMM-006", "--require", "COMM-006")
    code, lines = run(*words)
    assert code == 3
    text = "COMM-006 failed · 1 warning · 1 of 1 required checks passed"
    assert lines[0] == headline(text, 3)


def test_the_least_coverage(run: Run) -> None:
    words = ("ds.json", *JOB, "--select", UNSEEN, "--min-coverage")
    assert run(*words, "66")[0] == 0
    code, lines = run(*words, "67")
    assert code == 3
    assert lines[:2] == [
        headline("2 of 3 required checks could run, fewer than 67%", 3),
        "exit 3 because of --min-coverage 67",
    ]


def test_settings_demand_the_same(run: Run, folder: Path) -> None:
    text = 'require = ["MEM-001"]\nmin-coverage = 80\n'
    (folder / "speccheck.toml").write_text(text)
    code, lines = run("ds.json", *JOB, "--select", UNSEEN)
    assert code == 3
    text = "MEM-001 could not run, 2 of 3 required checks could run, fewer than 80%"
    assert lines[:2] == [
        headline(text, 3),
        "exit 3 because of --require MEM-001 and --min-coverage 80",
    ]
    assert run("ds.json", *JOB, "--select", UNSEEN, "--isolated")[0] == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--require", "MEM-01"),
            "--require MEM-01: no clause of edition 1.1: did you mean MEM-001?",
        ),
        (
            ("--require", "mem"),
            "--require MEM: an area: name its clauses one by one (speccheck spec list)",
        ),
        (
            ("--min-coverage", "0.8"),
            "--min-coverage 0.8: must be a percentage from 1 to 100",
        ),
    ],
)
def test_a_wrong_demand_is_refused(
    words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ds.json", *words]) == 2
    assert capsys.readouterr().err == f"speccheck: {says}\n"


def test_a_wrong_demand_of_settings_is_refused_at_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = 'fail-on = "error"\nrequire = ["MEM-001", "FT-03"]\n'
    (folder / "speccheck.toml").write_text(text)
    assert main(["ds.json"]) == 2
    says = "speccheck.toml:2: require[1] = FT-03: no clause of edition 1.1: did you"
    assert capsys.readouterr().err == f"speccheck: {says} mean FT-003?\n"


def test_a_folder_counts_what_it_passes_over(run: Run, folder: Path) -> None:
    for name in ("dist", "build", ".hidden", ".git", "sub"):
        (folder / name).mkdir()
        (folder / name / "c.json").write_text(GOOD)
    for name in ("C.JSON", "c.json.txt", "a.py", "b.py", ".x.json", "environment.yaml"):
        (folder / name).write_text(GOOD)
    (folder / "LICENSE").write_text("free")
    with (folder / "large.json").open("wb") as file:
        file.truncate(20_000_001)
    (folder / "link").symlink_to("sub")
    code, lines = run(".", "--select", "CONF-001", "--exclude", "ds.json")
    assert code == 0
    first = headline("no problems: 2 of 2 required checks passed", 0)
    assert lines[:2] == [first, "2 plans from 2 files"]
    assert lines[-5:] == [
        "not read: 4 files (1 hidden, 1 larger than 20 MB, 1 listing packages, 1",
        "excluded), 4 that are no configuration (.py 2, without suffix 1, .txt 1), the",
        "folders build, dist, 1 hidden, 1 linked",
        "edition 1.1 · profile ci",
        "required: 2 passed · --full lists them",
    ]


def test_documents_count_it_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.py").write_text("")
    found = document(capsys, ".", *JOB, "--select", UNSEEN)
    assert found["passed_over"] == [{"reason": "suffix", "name": ".py", "number": 1}]
    assert found["reason"] == "nothing wrong found in 2 of 3 required checks"
    required = {"applying": 3, "ran": 2, "passed": 2}
    assert found["summary"]["required_clauses"] == required
    for form, part in {
        "markdown": "### speccheck: nothing wrong found in 2 of 3 required checks",
        "html": "<title>nothing wrong found in 2 of 3 required checks",
        "concise": "nothing wrong found in 2 of 3 required checks (exit 0)",
        "junit": 'name="verdict" value="nothing wrong found in 2 of 3 required checks"',
        "sarif": '"requiredClauses": {"applying": 3, "ran": 2, "passed": 2}',
        "github": "nothing wrong found in 2 of 3 required checks",
    }.items():
        main([".", *JOB, "--select", UNSEEN, "--output", form])
        assert part in capsys.readouterr().out, form


@pytest.mark.parametrize("name", ["env", "native", "deepspeed", "slurm", "nvidia-smi"])
def test_a_format_of_which_nothing_is_there_is_refused(
    run: Run, folder: Path, name: str
) -> None:
    (folder / "nemo.yaml").write_text(NEMO)
    code, lines = run("nemo.yaml", "--format", name)
    assert code == 2
    assert lines[0] == headline("1 file could not be judged", 2)
    assert (
        " ".join(lines[3:5]).split()
        == (
            f"nemo.yaml: nothing in it is of the format {name}; it looks like nemo1: "
            "leave --format out"
        ).split()
    )


def test_an_operator_is_told_a_word_with_the_count(run: Run, folder: Path) -> None:
    snapshot = Maker(SimulatedFleet(1, "dgx-h100", 1)).healthy(0)
    (folder / "node.json").write_text(json.dumps(snapshot))
    code, lines = run("node.json", "--profile", "preflight", "--select", "HW-002")
    assert code == 0
    text = "go: 1 of 1 required checks passed · synthetic"
    assert lines[0] == headline(text, 0)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        (
            "reason",
            "because",
            "reason = because: say in 10 characters or more why it may fail",
        ),
        (
            "owner",
            "x",
            "owner = x: say who answers for it, in 2 characters or more",
        ),
    ],
)
def test_a_waiver_that_says_nothing_is_refused(
    field: str,
    value: str,
    says: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entry = {"reason": "the fan is replaced", "owner": "ops", field: value}
    (folder / "waivers.yaml").write_text(
        "schema: speccheck-waivers/1\nwaivers:\n- clause: BATCH-001\n"
        "  files: ds.json\n  permanent: true\n"
        f"  reason: {entry['reason']}\n  owner: {entry['owner']}\n"
    )
    assert main(["ds.json", "--waivers", "waivers.yaml"]) == 2
    line = {"reason": 6, "owner": 7}[field]
    place = f"waivers.yaml:{line}: waivers[0].{field}"
    assert capsys.readouterr().err == f"speccheck: {place}: {says}\n"
