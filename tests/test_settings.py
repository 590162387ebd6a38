"""Settings files: found, read, and laid under the command line."""

from pathlib import Path

import pytest

from settings_files import DEEPSPEED, JOB, failed, findings, put, run


def test_facts_of_settings_stand_in_the_plan_with_their_lines(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", JOB)
    code, out, err = run(capsys, "ds.json")
    assert (code, err) == (1, "")
    assert "64 GPUs (8 nodes" in out
    assert "    speccheck.toml:4:9\n     4 | nodes = 8\n" in out


def test_a_table_in_pyproject_says_the_same(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = JOB.replace("[facts]", "[tool.speccheck.facts]")
    put(repository / "pyproject.toml", '[project]\nname = "a"\n' + text)
    (found,) = [
        finding
        for finding in findings(capsys, "ds.json")
        if finding["level"] == "error"
    ]
    places = [(place["file"], place["key"], place["line"]) for place in found["places"]]
    assert ("pyproject.toml", "tool.speccheck.facts.nodes", 6) in places


def test_a_conflict_shows_the_line_of_the_settings_and_of_the_file(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", JOB + 'role = "sft"\n')
    script = "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n"
    put(repository / "run.sh", script + "srun deepspeed t.py --deepspeed ds.json\n")
    _, out, _ = run(capsys, "run.sh", "ds.json", "--select", "CONF-009")
    assert "speccheck.toml:4:9\n     4 | nodes = 8\n" in out
    assert "run.sh:2:" in out


def test_the_command_line_comes_before_the_file(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", JOB)
    _, out, _ = run(capsys, "ds.json", "--nodes", "4")
    assert "32 GPUs (4 nodes" in out


def test_isolated_reads_no_settings(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", "this is = = no TOML")
    _, out, err = run(capsys, "ds.json", "--isolated")
    assert "number of GPUs not known" in out
    assert not err


def test_one_file_for_all_can_be_named(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", "")
    put(repository / "ci" / "strict.toml", JOB)
    _, out, _ = run(capsys, "ds.json", "--settings", "ci/strict.toml")
    assert "64 GPUs" in out


@pytest.mark.parametrize(
    "option", [["--settings", "gone.toml"], ["--settings", "."], ["--settings=ds.json"]]
)
def test_a_named_file_must_be_settings(
    repository: Path, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    assert (repository / "ds.json").exists()
    code, out, err = run(capsys, "ds.json", *option)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_roles_by_glob(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[facts-for."**/*.json"]\nrole = "pretrain"\n[facts-for."sft/**"]\n'
    put(repository / "speccheck.toml", JOB + text + 'role = "sft"\n')
    put(repository / "sft" / "ds.json", DEEPSPEED)
    for path, role in (("ds.json", "pretrain"), ("sft/ds.json", "sft")):
        _, out, _ = run(capsys, "plan", path)
        assert [line.split()[1] for line in out.splitlines() if "role  " in line] == [
            role
        ]


def test_select_and_ignore_of_a_file(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'ignore = ["BATCH-001"]\n' + JOB)
    assert failed(capsys, "ds.json") == ["COMM-006"]
    put(repository / "speccheck.toml", 'select = ["BATCH-001"]\n' + JOB)
    assert failed(capsys, "ds.json") == ["BATCH-001"]
    put(
        repository / "speccheck.toml",
        'select = ["BATCH-001"]\nextend-select = ["COMM-006"]\n' + JOB,
    )
    assert set(failed(capsys, "ds.json")) == {"BATCH-001", "COMM-006"}


def test_an_unknown_name_in_select_names_file_and_line(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'select = [\n  "BATCH",\n  "COMN-006",\n]\n')
    code, _, err = run(capsys, "ds.json")
    assert code == 2
    assert err == (
        "speccheck: speccheck.toml:3: select COMN-006: no such clause, area or rule: "
        "did you mean COMM-006?\n"
    )


def test_an_unknown_name_in_ignore_is_a_warning(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", JOB)
    code, _, err = run(capsys, "ds.json", "--ignore", "gone_rule")
    assert code == 1
    assert err == (
        "speccheck: warning: --ignore gone_rule has no effect: no such clause, area or "
        "rule: see speccheck rules\n"
    )


def test_what_is_mandatory_is_judged_whatever_else_is_said(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'mandatory = ["BATCH-001"]\n')
    put(repository / "team" / "speccheck.toml", 'ignore = ["BATCH-001"]\n' + JOB)
    put(repository / "team" / "ds.json", DEEPSPEED)
    assert "BATCH-001" in failed(capsys, "team/ds.json")
    _, _, err = run(capsys, "team/ds.json")
    assert err == (
        "speccheck: warning: team/speccheck.toml:1: ignore BATCH-001 has no effect: "
        "mandatory by speccheck.toml:1\n"
    )
    for words in (["--ignore", "BATCH-001"], ["--select", "COMM-006"]):
        assert "BATCH-001" in failed(capsys, "team/ds.json", *words), words


def test_a_level_is_raised_and_counts(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(
        repository / "speccheck.toml",
        'select = ["COMM-006"]\n' + JOB + '[levels]\nCOMM-006 = "error"\n',
    )
    code, out, _ = run(capsys, "ds.json")
    assert code == 1
    assert "error COMM-006" in out


def test_a_level_is_never_lowered(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", '[levels]\nBATCH-001 = "warning"\n')
    code, _, err = run(capsys, "ds.json")
    assert code == 2
    assert err.startswith("speccheck: speccheck.toml:2: levels BATCH-001")
    assert "waiver" in err


def test_a_gpu_that_nobody_knows_names_file_and_line(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", '\n[facts]\ngpu = "H1000"\n')
    code, _, err = run(capsys, "ds.json")
    assert code == 2
    assert err.startswith("speccheck: speccheck.toml:3: facts.gpu: unknown GPU 'H1000'")
