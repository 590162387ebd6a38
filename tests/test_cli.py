"""The command line: what a user types, what is printed, and how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from speccheck.validator import VERSION
from speccheck.validator.cli.main import main

DEEPSPEED = """{
  "train_batch_size": 512,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 8,
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 2},
  "optimizer": {"type": "AdamW", "params": {"lr": 0.0001}}
}
"""
TRAINER = """output_dir: /ckpt/sft
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 0.0001
num_train_epochs: 1
lr_scheduler_type: cosine
bf16: true
deepspeed: ds.json
"""
JOB = ["--nodes", "8", "--gpus-per-node", "8", "--gpu", "H100-80GB"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ds.json").write_text(DEEPSPEED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"speccheck {VERSION}\n", "")
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "--gpus-per-node N" in out
    code, out, _ = run(capsys, "help", "exit-codes")
    for line in (
        "  0      nothing wrong",
        "  1      findings",
        "  2      usage",
        "  3      not enough",
    ):
        assert line in out


@pytest.mark.usefixtures("folder")
def test_text_report_shows_place_arithmetic_remedy_and_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, "ds.json", *JOB)
    assert (code, err) == (1, "")
    first, second, *_ = ascii_of(out).splitlines()
    headline = "1 error, 1 warning - 10 of 13 required checks could run"
    assert first == f"{headline:<74}exit 1"
    assert second == "deepspeed: 64 GPUs (8 nodes x 8) - ds.json"
    assert "error BATCH-001 global_batch_differs_from_product" in out
    assert "    ds.json:2:23\n" in out
    assert '     2 |   "train_batch_size": 512,\n' in out
    assert "       |                       ^^^ stated here\n" in out
    assert "= 1,024" in out
    assert "  fix  " in out
    assert "\x1b[" not in out


def ascii_of(text: str) -> str:
    return text.replace("·", "-").replace("\u00d7", "x")


def test_two_files_of_one_plan_are_framed_on_both_sides(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "sft.yaml").write_text(TRAINER)
    code, out, _ = run(capsys, "sft.yaml", "ds.json", "--select", "CONF-009")
    assert code == 1
    assert "hf-trainer + deepspeed: number of GPUs not known · sft.yaml, ds.json" in out
    assert "gradient accumulation" in out or "gradient_accumulation_steps" in out
    assert "    sft.yaml:3:30\n" in out
    assert "    ds.json:4:34\n" in out


def test_files_of_one_role_are_two_plans(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.json").write_text(DEEPSPEED)
    _, out, _ = run(capsys, "ds.json", "other.json", "--output", "json")
    assert [plan["files"] for plan in json.loads(out)["plans"]] == [
        ["ds.json"],
        ["other.json"],
    ]


def test_a_folder_is_searched_and_hidden_folders_are_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "ds.json").write_text(DEEPSPEED)
    (folder / "a").mkdir()
    (folder / "a" / "pets.yaml").write_text("cats: 2\n")
    code, out, _ = run(capsys, ".", "--output", "json")
    report = json.loads(out)
    assert [(f["path"], f["status"]) for f in report["files"]] == [
        ("ds.json", "judged"),
        ("a/pets.yaml", "unrecognised"),
    ]
    assert code == report["exit_code"]


def test_a_folder_that_is_here_gives_files_the_names_that_others_call_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The launcher names train.toml, the walk found ./train.toml: one file."""
    text = "[parallelism]\ntensor_parallel_degree = 16\n[training]\nsteps = 5\n"
    (folder / "train.toml").write_text(f'[model]\nflavor = "8B"\n{text}')
    launch = "torchrun --nnodes 2 --nproc_per_node 8 -m torchtitan.train"
    (folder / "job.sh").write_text(f"{launch} --job.config_file train.toml\n")
    for here in (".", "./"):
        _, out, _ = run(capsys, here, "--gpu", "H100-80GB", "--nvlink-domain", "8")
        assert "train.toml:4:26" in out, here


def test_standard_input_with_a_name(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "speccheck", "-", "--stdin-filename", "x.json", *JOB],
        input=DEEPSPEED,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 1
    assert "x.json:2:23" in done.stdout


@pytest.mark.usefixtures("folder")
def test_show_files_says_what_each_file_was_taken_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(capsys, "ds.json", "--show-files")
    assert code == 0
    assert out.startswith("ds.json: deepspeed (0.9")


def test_format_overrides_detection(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "few.json").write_text('{"train_batch_size": 64}')
    assert run(capsys, "few.json")[0] == 3
    code, out, _ = run(capsys, "few.json", "--format", "deepspeed", "--output", "json")
    assert code == json.loads(out)["exit_code"]
    assert json.loads(out)["files"][0]["format"] == "deepspeed"


@pytest.mark.usefixtures("folder")
def test_select_and_ignore_by_clause_area_and_rule(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def failed(*words: str) -> list[str]:
        _, out, _ = run(capsys, "ds.json", *JOB, "--output", "json", *words)
        rows = json.loads(out)["findings"]
        return [row["rule"] for row in rows if row["outcome"] == "fail"]

    rule = "global_batch_differs_from_product"
    assert rule in failed()
    for name in ("BATCH-001", "batch", "batching", rule):
        assert failed("--select", name) == [rule], name
        assert rule not in failed("--ignore", name), name


def test_unknown_files_may_be_passed_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "pets.yaml").write_text("cats: 2\n")
    assert run(capsys, "pets.yaml")[0] == 3
    assert run(capsys, "pets.yaml", "--skip-unknown")[0] == 3
    assert run(capsys, "pets.yaml", "--skip-unknown", "--allow-nothing")[0] == 0
    (folder / "ds.json").write_text(DEEPSPEED.replace("512", "1024"))
    assert run(capsys, "ds.json", "pets.yaml", *JOB)[0] == 2
    assert run(capsys, "ds.json", "pets.yaml", *JOB, "--skip-unknown")[0] == 0


def test_a_bug_of_ours_is_one_line_and_code_4(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_request: object) -> None:
        message = "lost"
        raise KeyError(message)

    monkeypatch.setattr("speccheck.validator.cli.plain.run", broken)
    code, out, err = run(capsys, str(folder / "ds.json"), "--output", "json")
    assert code == 4
    assert err.startswith("speccheck: a bug of speccheck: KeyError: 'lost'")
    assert json.loads(out)["exit_code"] == 4


def test_fail_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "ds.json", *JOB, "--fail-on", "never")[0] == 0
    (folder / "ds.json").write_text(
        DEEPSPEED.replace("512", "1024").replace(
            '"stage": 2', '"stage": 2, "overlap_com": true'
        )
    )
    assert run(capsys, "ds.json", *JOB, "--select", "CONF")[0] == 1


def test_warnings_alone_do_not_fail_unless_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = DEEPSPEED.replace("512", "1024").replace(
        '"bf16"', '"gradient_cliping": 1.0,\n  "bf16"'
    )
    (folder / "ds.json").write_text(text)
    assert run(capsys, "ds.json", *JOB)[0] == 0
    assert run(capsys, "ds.json", *JOB, "--fail-on", "warning")[0] == 1


def test_preflight_with_missing_evidence_is_inconclusive(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ds.json").write_text(DEEPSPEED.replace("512", "1024"))
    words = ("ds.json", *JOB, "--profile", "preflight", "--ignore", "FT,COMM,CKPT")
    code, out, _ = run(capsys, *words)
    assert code == 3
    assert "required checks lack the evidence that preflight needs" in out


def test_report_files_are_whole_and_may_be_several(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(
        capsys, "ds.json", *JOB, "--output", "concise", "--output", "json=report.json"
    )
    assert code == 1
    assert out.splitlines()[0].startswith("ds.json:2:23: error BATCH-001 ")
    report = json.loads((folder / "report.json").read_text())
    assert report["exit_code"] == 1
    assert [path.name for path in folder.iterdir() if path.name.endswith("part")] == []


@pytest.mark.usefixtures("folder")
def test_a_report_that_cannot_be_written_ends_with_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = run(capsys, "ds.json", "--output", "json=none/report.json")
    assert code == 2
    assert err == "speccheck: --output json=none/report.json: no such folder: none\n"


def test_a_report_takes_the_place_of_no_pipe(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor of /dev/null, which a test that fails must not destroy."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        code, _, err = run(capsys, "ds.json", "--output", f"concise={pipe}")
        result = os.read(reader, 4096).decode()
    finally:
        os.close(reader)
    assert code != 2, err
    assert "exit" in result
    assert pipe.is_fifo()


@pytest.mark.usefixtures("folder")
def test_colour_only_when_asked_for_or_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = run(capsys, "ds.json", *JOB, "--color", "always")
    assert "\x1b[1;31merror\x1b[0m" in out


def test_a_command_word_wins_over_a_folder_of_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rules").mkdir()
    (folder / "rules" / "ds.json").write_text(DEEPSPEED)
    code, out, _ = run(capsys, "rules")
    assert code == 0
    assert "global_batch_differs_from_product" in out
    _, out, _ = run(capsys, "./rules", "--output", "json")
    assert json.loads(out)["files"][0]["path"] == "rules/ds.json"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["explain", "COMM-001"], ["Ring all-reduce", "crossover", "should"]),
        (["explain", "secret_in_file"], ["SEC-002", "Bad::", "Good::", "Source:"]),
        (["spec", "show"], ["sha256", "clauses", "not text of OpenAI"]),
        (["spec", "show", "FT-001"], ["90 s", "S2#43", "secondary"]),
        (["spec", "list"], ["BATCH-001", "must", "FT-002"]),
        (["rules"], ["secret_in_file", "SEC-002"]),
        (["schema", "native"], ["tensor_parallel_size"]),
        (["schema", "report"], ["speccheck-report/1"]),
    ],
)
def test_commands(
    words: list[str], says: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    for text in says:
        assert text in " ".join(out.split()), text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["explain", "COMM-0001"], "COMM-001"),
        (["explain", "secret_in_fil"], "secret_in_file"),
        (["spec", "show", "XX-001"], "no such rule or clause"),
        (["schema", "nativ"], "native"),
        (["spec", "shwo"], "shwo"),
    ],
)
def test_commands_with_a_wrong_name_say_what_there_is(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, *words)
    assert code == 2
    assert says in err
    assert "Traceback" not in err


def test_nothing_on_the_way_uses_the_network(folder: Path) -> None:
    """A process in which every socket call raises judges a file as ever."""
    script = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise SystemExit('network used')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from speccheck.validator.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "ds.json", *JOB],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 1, done.stderr
    assert "network used" not in done.stderr


@pytest.mark.parametrize("words", [[], ["plan"]])
def test_a_reader_that_goes_away_is_no_bug(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    folder = str(Path(__file__).resolve().parents[1] / "fixtures/examples/conflict")
    ended = subprocess.run(
        [sys.executable, "-m", "speccheck", *words, folder, "--output", "json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert ended.stderr == ""
    assert ended.returncode == 141, "a verdict that nobody read is no pass"
