"""Settings that are wrong, hostile or gone: one line, exit code 2, nothing else."""

import os
from pathlib import Path

import pytest

from settings_files import DEEPSPEED, JOB, put, run


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    code, out, err = run(capsys, *(words or ("ds.json",)))
    assert (code, out) == (2, "")
    assert err.startswith("speccheck: ")
    assert err.count("\n") == 1
    assert err.rstrip("\n").isprintable()
    return err.removeprefix("speccheck: ").rstrip("\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('selct = ["MEM"]', "speccheck.toml:1: no setting selct: did you mean select?"),
        (
            "\nfail_on = 1",
            "toml:2: no setting fail_on: did you mean fail-on?",
        ),
        ("zzz = 1", "speccheck.toml:1: no setting zzz: known are extend, spec, "),
        (
            "[facts]\ngpus = 8",
            "speccheck.toml:2: facts: no fact gpus: did you mean gpu?",
        ),
        ("full = 1", "speccheck.toml:1: full = 1: must be true or false"),
        (
            "select = 4",
            'speccheck.toml:1: select = 4: must be a list of texts: ["...", "..."]',
        ),
        ('select = ["MEM", 4]', "speccheck.toml:1: select = "),
        ('select = ["MEM", " "]', "speccheck.toml:1: select = "),
        (
            '[facts]\nnodes = "8"',
            'speccheck.toml:2: facts.nodes = "8": must be a whole number above zero',
        ),
        ("[facts]\nnodes = 0", "must be a whole number above zero"),
        ("[facts]\nnodes = 2.5", "must be a whole number above zero"),
        ("[facts]\nnodes = true", "must be a whole number above zero"),
        ("[facts]\nhours = -1", "must be a number above zero"),
        ("[facts]\nhours = nan", "must be a number above zero"),
        ("[facts]\nhours = inf", "must be a number above zero"),
        ("[facts]\ngpu = 100", 'must be a text: write gpu = "100"'),
        ("[facts]\nnccl-version = 2.27", 'must be a text: write nccl-version = "2.27"'),
        ('[facts]\nrole = "pre"', "must be one of pretrain, continued, sft"),
        ('[facts]\ngpu = "H1000"', "speccheck.toml:2: facts.gpu: unknown GPU 'H1000'"),
        (
            '[facts]\nfabric = "string"',
            "speccheck.toml:2: facts.fabric: unknown",
        ),
        ('[facts]\ninstance = "p9"', "speccheck.toml:2: facts.instance: unknown"),
        (
            '[facts]\nframework-version = "new"',
            "toml:2: facts.framework-version",
        ),
        ("facts = 4", "speccheck.toml:1: facts = 4: must be a table: write [facts]"),
        ('levels = "error"', "must be a table: write [levels]"),
        ("facts-for = 1", "must be a table: write [facts-for]"),
        ('[facts-for]\n"a/**" = 1', "speccheck.toml:2: facts-for.a/** = 1: must be a"),
        ('[facts-for.""]\nnodes = 1', "an empty name"),
        ('[levels]\nMEM = "must"', "must be one of error, warning, info"),
        ('[levels]\nMEMO = "error"', "speccheck.toml:2: levels MEMO: no such clause"),
        ('[levels]\nMEM-001 = "info"', "only ever raised"),
        ('[levels]\nBATCH-001 = "warning"', "write a waiver"),
        ('fail-on = "errors"', 'speccheck.toml:1: fail-on = "errors": must be one of'),
        ('output = ["yaml"]', "speccheck.toml:1: output[0] = yaml: must be one"),
        ('output = ["json="]', "needs a file name"),
        ('output = ["json=../r.json"]', "must lie below their folder"),
        ('output = ["json=/tmp/r.json"]', "must lie below their folder"),
        ('profile = ["size/XXXL"]', "speccheck.toml:1: profile"),
        ('spec = "9.9"', "9.9"),
        ('select = ["COMM-901"]', "speccheck.toml:1: select COMM-901: no such clause"),
        ('extend-select = ["COMM-901"]', "speccheck.toml:1: extend-select COMM-901"),
        ('mandatory = ["COMM-901"]', "speccheck.toml:1: mandatory COMM-901: no such"),
        ('waivers = "gone.yaml"', "speccheck.toml:1: waivers: no such file: gone.yaml"),
        (
            'baseline = "gone.json"',
            "toml:1: baseline: no such file: gone.json",
        ),
        (
            'extend = "gone.toml"',
            'toml:1: extend = "gone.toml": no such file',
        ),
        ('extend = "."', 'speccheck.toml:1: extend = ".": a folder'),
        ('extend = ["a.toml"]', "must be a text"),
        ("a = = 1", "speccheck.toml:1:5: not TOML"),
        ('select = ["a"', "speccheck.toml:1"),
        ("full = true\nfull = false", "speccheck.toml:2"),
        ("select = " + "[" * 300 + "]" * 300, "speccheck.toml:1:"),
        (".".join(["a"] * 3000) + " = 1", "speccheck.toml:1:"),
        ("[facts]\nnodes = " + "9" * 5000, "speccheck.toml:2:"),
        ("[facts]\nnodes = 99999999999999", "above zero"),
        ('select = ["\\u001b[31mred"]', "\\x1b[31mred"),
        ('"\\u001b[31m" = 1', "no setting \\x1b[31m"),
        ("#" + "x" * 1_048_577, "1,048,578 bytes; settings may have 1,048,576"),
    ],
)
def test_one_line_names_file_line_and_remedy(
    repository: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    put(repository / "speccheck.toml", text)
    assert says in refused(capsys)
    assert sorted(os.listdir(repository)) == [".git", "ds.json", "speccheck.toml"]


def test_the_table_of_a_pyproject_is_named_whole(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "pyproject.toml", "[tool.speccheck.facts]\nnodes = 0\n")
    assert refused(capsys).startswith(
        "pyproject.toml:2: tool.speccheck.facts.nodes = 0"
    )
    put(repository / "pyproject.toml", "[tool]\nspeccheck = 4\n")
    assert refused(capsys) == (
        "pyproject.toml:2: tool.speccheck: must be a table: write [tool.speccheck]"
    )
    put(repository / "pyproject.toml", "[tool.speccheck\n")
    assert refused(capsys).startswith("pyproject.toml:1")


@pytest.mark.parametrize(
    "text",
    [
        "[project]\nname = 'speccheck-user'\ndependencies = ['speccheck']\n",
        "[project]\nname = = 'broken, and not ours'\n",
        "[tool.speccheckers]\nselect = 4\n",
        "[scripts]\nspeccheck = 'a:b'\n",
        "",
        "# [tool.speccheck]\n",
    ],
)
def test_a_pyproject_of_others_does_not_count(
    repository: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    put(repository / "speccheck.toml", JOB)
    put(repository / "a" / "pyproject.toml", text)
    put(repository / "a" / "ds.json", (repository / "ds.json").read_text())
    _, out, err = run(capsys, "a/ds.json")
    assert not err
    assert "64 GPUs" in out


@pytest.mark.parametrize(
    "text",
    [
        "[ tool . speccheck ]\nfail-on = 'never'\n",
        "tool.speccheck.fail-on = 'never'\n",
        "[tool]\nspeccheck = {fail-on = 'never'}\n",
        "[tool]\nspeccheck.fail-on = 'never'\n",
        '[tool."speccheck"]\nfail-on = "never"\n',
    ],
)
def test_every_way_to_write_the_table_counts(
    repository: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    put(repository / "pyproject.toml", text)
    _, out, _ = run(capsys, "--show-settings")
    assert out.startswith("the run: pyproject.toml\n")


def test_bytes_that_are_no_text(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "speccheck.toml").write_bytes(b'select = ["\xff"]\n')
    assert refused(capsys).startswith("speccheck.toml:1:12: byte 0xff")
    (repository / "speccheck.toml").write_bytes(b"\xff\xfes\x00")
    assert "UTF-16" in refused(capsys)
    (repository / "speccheck.toml").write_bytes(b"a = 1\0")
    assert "NUL" in refused(capsys)


def test_a_pipe_is_no_settings_file(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(repository / "speccheck.toml")
    assert "speccheck.toml: a pipe" in refused(capsys)


def test_what_is_called_so_and_is_no_file_is_passed_over(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "speccheck.toml").mkdir()
    (repository / "pyproject.toml").symlink_to("gone")
    _, out, err = run(capsys, "ds.json")
    assert not err
    assert "settings" not in out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "pyproject.toml", "[tool.speccheck]\n").chmod(0)
    assert "pyproject.toml: cannot be read" in refused(capsys)


def test_files_that_extend_each_other(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'extend = "a.toml"\n')
    put(repository / "a.toml", '\nextend = "b.toml"\n')
    put(repository / "b.toml", 'extend = "speccheck.toml"\n')
    assert refused(capsys) == (
        "b.toml:1: the files extend each other: speccheck.toml -> a.toml -> b.toml -> "
        "speccheck.toml"
    )
    put(repository / "speccheck.toml", 'extend = "./speccheck.toml"\n')
    assert "extend each other" in refused(capsys)


def test_a_chain_has_an_end(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'extend = "0.toml"\n')
    for number in range(12):
        put(repository / f"{number}.toml", f'extend = "{number + 1}.toml"\n')
    said = refused(capsys)
    assert said.startswith("9.toml:1: too long a chain: speccheck.toml -> 0.toml -> ")
    assert said.endswith("at most 10 files")
    put(repository / "9.toml", "")
    assert run(capsys, "--show-settings")[0] == 0


def test_a_pyproject_without_the_table_cannot_be_extended(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "pyproject.toml", "[project]\nname = 'a'\n")
    put(repository / "speccheck.toml", 'extend = "pyproject.toml"\n')
    assert refused(capsys).endswith("it has no [tool.speccheck]")


def test_a_report_does_not_follow_a_link_out_of_the_folder(
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (repository / "out").symlink_to(elsewhere)
    put(repository / "speccheck.toml", 'output = ["json=out/r.json"]\n')
    assert "must lie below their folder" in refused(capsys)
    assert not list(elsewhere.iterdir())


def test_an_error_is_told_in_json_where_that_was_asked_for(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", "nodes = 4\n")
    code, out, err = run(capsys, "ds.json", "--output", "json")
    assert code == 2
    assert "speccheck.toml:1: no setting nodes" in out
    assert "speccheck.toml:1: no setting nodes" in err


def test_a_file_above_that_is_wrong_may_hold_a_lock(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", "mandatory = = 1\n")
    put(repository / "a" / "speccheck.toml", JOB)
    assert refused(capsys, "a/ds.json").startswith("speccheck.toml:1:13: not TOML")


@pytest.mark.parametrize(("use", "code"), [("ci", 0), ("preflight", 3), ("certify", 3)])
def test_what_is_left_out_is_no_pass_but_for_the_files_of_a_commit(
    repository: Path, capsys: pytest.CaptureFixture[str], use: str, code: int
) -> None:
    put(repository / "speccheck.toml", 'exclude = ["*"]\nforce-exclude = true\n')
    put(repository / "ds.json", DEEPSPEED)
    assert run(capsys, "ds.json", "--profile", use)[0] == 3
    assert run(capsys, "ds.json", "--profile", use, "--allow-nothing")[0] == code
    put(repository / "speccheck.toml", "skip-unknown = true\n")
    put(repository / "mkdocs.yml", "site_name: a\n")
    assert run(capsys, "mkdocs.yml", "--profile", use)[0] == 3
    words = ("mkdocs.yml", "--profile", use, "--allow-nothing")
    assert run(capsys, *words)[0] == code
