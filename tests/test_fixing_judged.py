"""Fixes are judged before they are made: what spoils anything is left out, and said."""

from collections.abc import Callable
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.evidence.finding import (
    Finding,
    Fix,
    Waiver,
    to_remove,
    to_rename,
    to_set,
)
from speccheck.validator.evidence.value import Place
from speccheck.validator.run import fixing as mending
from speccheck.validator.run.run import run as judged

HEAD = "#!/bin/bash\n#SBATCH --nodes=1\n"
RUN = "srun torchrun --nnodes 1 --nproc-per-node 8 train.py\n"
BLOCKING = (
    f"{HEAD}export NCCL_BLOCKING_WAIT=1\n"
    f"export TORCH_NCCL_ASYNC_ERROR_HANDLING=0\n{RUN}"
)
RENAMED = BLOCKING.replace("NCCL_BLOCKING", "TORCH_NCCL_BLOCKING")
OLD = f"{HEAD}export NCCL_ASYNC_ERROR_HANDLING=1\n{RUN}"
ENGINE = """\
{
  "train_batch_size": 512,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 8,  // as before
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 2},
  "optimizer": {"type": "AdamW", "params": {"lr": 0.0001}}
}
"""
JOB = ("--nodes", "8", "--gpus-per-node", "8", "--gpu", "H100-80GB")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def give_fixes(
    monkeypatch: pytest.MonkeyPatch, fix_of: Callable[[Finding], Fix | None]
) -> None:
    """Let findings have other fixes than those of their rules."""

    def fixes(located: LocatedFinding, *, unsafe: bool) -> list[Fix]:
        del unsafe
        fix = fix_of(located.finding)
        return [] if fix is None else [fix]

    monkeypatch.setattr(mending, "_fixes", fixes)


def deletes_deprecated(finding: Finding) -> Fix | None:
    if finding.rule != "deprecated_variable":
        return None
    return Fix(
        "delete it", tuple(map(to_remove, finding.places)), because="same meaning"
    )


def test_what_brings_an_error_is_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its blocking wait, a job with error handling off hangs."""
    give_fixes(monkeypatch, deletes_deprecated)
    for name, text in (("a.sh", OLD), ("b.sh", BLOCKING), ("c.sh", OLD)):
        (folder / name).write_text(text)
    _, _, err = run(capsys, "--each", "a.sh", "b.sh", "c.sh", "--fix")
    assert err == (
        "speccheck: fixed 2 findings in 2 files (deprecated_variable: 2)\n"
        "speccheck: not fixed: CONF-004 deprecated_variable at b.sh "
        "NCCL_BLOCKING_WAIT: it would bring FT-003 error_handling_off\n"
        "speccheck: 1 more with --unsafe-fixes\n"
    )
    assert (folder / "a.sh").read_text() == HEAD + RUN
    assert (folder / "b.sh").read_text() == BLOCKING
    assert (folder / "c.sh").read_text() == HEAD + RUN


def test_the_fix_of_the_rule_brings_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.sh").write_text(BLOCKING)
    _, _, err = run(capsys, "b.sh", "--fix", "--unsafe-fixes")
    assert err == (
        "speccheck: fixed 1 finding in 1 file (deprecated_variable: 1)\n"
        "speccheck: not fixed: OBS-011 debugging_variable_left_set at b.sh "
        "TORCH_NCCL_BLOCKING_WAIT: it would bring FT-003 error_handling_off\n"
    )
    assert (folder / "b.sh").read_text() == RENAMED


def test_what_does_not_mend_is_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_value(finding: Finding) -> Fix | None:
        if finding.rule != "deprecated_variable":
            return None
        change = to_set(finding.places[0], 3)
        return Fix("set it", (change,), because="same meaning")

    give_fixes(monkeypatch, other_value)
    (folder / "a.sh").write_text(OLD)
    code, out, err = run(capsys, "a.sh", "--diff")
    assert (code, out) == (0, "")
    assert err == (
        "speccheck: not fixed: CONF-004 deprecated_variable at a.sh "
        "NCCL_ASYNC_ERROR_HANDLING: what it should mend fails all the same\n"
    )


def test_what_makes_a_file_unreadable_is_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_file(finding: Finding) -> Fix | None:
        if finding.rule != "deprecated_variable":
            return None
        place = finding.places[0]
        changes = (to_rename(place, "SOME_VARIABLE"),)
        return Fix("rename it", changes, because="same meaning")

    give_fixes(monkeypatch, other_file)
    (folder / "a.env").write_text("NCCL_ASYNC_ERROR_HANDLING=1\n")
    _, out, err = run(capsys, "a.env", "--diff")
    assert out == ""
    assert err.endswith(": a.env would not be read as env any more\n")


def test_a_fix_of_a_later_pass_is_of_what_the_first_one_left(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Error handling is off under the old name: the name first, then the value."""
    (folder / "a.sh").write_text(OLD.replace("=1\nsrun", "=0  # why?\nsrun"))
    _, _, err = run(capsys, "a.sh", "--fix", "--unsafe-fixes")
    assert err == (
        "speccheck: fixed 2 findings in 1 file "
        "(deprecated_variable: 1, error_handling_off: 1)\n"
    )
    after = OLD.replace("NCCL_", "TORCH_NCCL_").replace("=1\nsrun", "=3  # why?\nsrun")
    assert (folder / "a.sh").read_text() == after


def test_what_stands_in_the_way_has_its_turn_next(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two variables on one line: each removal touches the words of the other."""
    before = "export NCCL_ASYNC_ERROR_HANDLING=1 NCCL_BLOCKING_WAIT=0"
    (folder / "a.sh").write_text(f"{HEAD}{before}\n{RUN}")
    _, _, err = run(capsys, "a.sh", "--fix", "--unsafe-fixes")
    assert err == "speccheck: fixed 2 findings in 1 file (deprecated_variable: 2)\n"
    after = before.replace(" NCCL", " TORCH_NCCL")
    assert (folder / "a.sh").read_text() == f"{HEAD}{after}\n{RUN}"


def test_a_fix_is_all_or_nothing_over_files(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def both(finding: Finding) -> Fix | None:
        if finding.rule != "deprecated_variable":
            return None
        place = finding.places[0]
        other = Place("elsewhere.yaml", "a", ("a",))
        changes = (to_rename(place, f"TORCH_{place.key}"), to_set(other, 1))
        return Fix("both", changes, because="same meaning")

    give_fixes(monkeypatch, both)
    (folder / "a.sh").write_text(OLD)
    (folder / "elsewhere.yaml").write_text("a: 0\n")
    _, out, err = run(capsys, "a.sh", "--diff")
    assert out == ""
    assert err.endswith(
        ": elsewhere.yaml was not given: name it as well; by hand: both\n"
    )


def test_a_file_that_another_one_names_is_not_edited(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ds.json").write_text(ENGINE)
    (folder / "train.yaml").write_text(
        "output_dir: /ckpt/sft\nper_device_train_batch_size: 2\nbf16: true\n"
        "gradient_accumulation_steps: 8\nlearning_rate: 0.0001\ndeepspeed: ds.json\n"
    )
    _, out, err = run(capsys, "train.yaml", *JOB, "--diff", "--unsafe-fixes")
    assert out == ""
    assert "ds.json is only named by another file: give it as well; by hand: " in err


def test_a_waived_finding_is_not_fixed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.sh").write_text(OLD)

    def waived(*words: object, **named: object) -> object:
        found = judged(*words, **named)  # type: ignore[arg-type]
        waiver = Waiver("waiver", Place("waivers.yaml", "0"), "it is known")
        plans = tuple(
            plan._replace(
                findings=tuple(
                    finding._replace(finding=finding.finding._replace(waiver=waiver))
                    for finding in plan.findings
                )
            )
            for plan in found.plans
        )
        return found._replace(plans=plans)

    monkeypatch.setattr(mending, "run", waived)
    code, out, err = run(capsys, "a.sh", "--diff")
    assert (code, out, err) == (0, "", "speccheck: nothing to fix\n")


def test_a_verified_proposal_is_an_unsafe_fix(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ds.json").write_text(ENGINE)
    code, out, err = run(capsys, "ds.json", *JOB, "--diff")
    assert (code, out) == (0, "")
    assert err == "speccheck: 1 more with --unsafe-fixes\n"
    code, _, err = run(capsys, "ds.json", *JOB, "--fix", "--unsafe-fixes")
    assert code == 0
    assert err == (
        "speccheck: fixed 1 finding in 1 file (global_batch_differs_from_product: 1)\n"
    )
    assert (folder / "ds.json").read_text() == ENGINE.replace('steps": 8', 'steps": 4')


def test_the_options_exclude_each_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.sh").write_text(OLD)
    belongs = "--unsafe-fixes belongs to --diff or --fix: give one of them as well"
    takes = "--diff takes standard output: give the report a file, json=FILE"
    for words, message in (
        (("--diff", "--fix"), "--diff only shows what --fix writes: give one of them"),
        (("--unsafe-fixes",), belongs),
        (("--diff", "--output", "json"), takes),
    ):
        code, _, err = run(capsys, "a.sh", *words)
        assert (code, err) == (2, f"speccheck: {message}\n")
    shown = ("--diff", "--unsafe-fixes")
    assert run(capsys, "a.sh", *shown, "--output", "concise")[1].startswith("--- a")
    code, out, _ = run(capsys, "a.sh", *shown, "--output", "concise=report.txt")
    assert code == 1
    assert out.startswith("--- a/a.sh\n")
    assert "deprecated_variable" in (folder / "report.txt").read_text()


def test_a_file_that_cannot_be_read_ends_with_its_own_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.sh").write_text(OLD)
    (folder / "b.yaml").write_text("a: [\n")
    code, out, _ = run(capsys, "a.sh", "b.yaml", "--diff", "--unsafe-fixes")
    assert code == 2
    assert out.startswith("--- a/a.sh\n")
