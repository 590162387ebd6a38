"""`speccheck keygen`: both halves of a key, or one line that says why not."""

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.signing.keys import private_key, read_key_file, read_public_key

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run `speccheck keygen` in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["keygen", *words])
        found = capsys.readouterr()
        return code, found.out, found.err

    return command


def test_both_halves_are_written_and_named(run: Run) -> None:
    code, result, errors = run("--out", "key.pem")
    key = private_key(read_key_file("key.pem"), "key.pem")
    assert (code, errors) == (0, "")
    assert result == (
        "private key  key.pem (not encrypted: whoever reads it can sign in your name)\n"
        "public key   key.pub.pem\n"
        f"key id       {key.public.key_id}\n"
    )
    assert stat.S_IMODE(os.stat("key.pem").st_mode) == 0o600
    assert read_public_key("key.pub.pem").raw == key.public.raw


def test_a_passphrase_comes_from_the_environment(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_PASSPHRASE", "correct horse")
    words = ("--out", "k", "--public", "p", "--passphrase-env", "KEY_PASSPHRASE")
    code, result, _ = run(*words)
    assert code == 0
    assert "k (encrypted by the passphrase of KEY_PASSPHRASE)\n" in result
    assert "horse" not in result
    key = private_key(read_key_file("k"), "k", b"correct horse")
    assert read_public_key("p").raw == key.public.raw


def test_openssl_reads_both_halves(run: Run) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here")
    assert run("--out", "key.pem")[0] == 0
    made = subprocess.run(
        ["openssl", "pkey", "-in", "key.pem", "-pubout"],  # noqa: S607
        capture_output=True,
        check=True,
    )
    assert made.stdout == Path("key.pub.pem").read_bytes()


def test_what_is_wrong_is_one_line_and_leaves_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY", "")
    Path("there.pem").write_text("dear", encoding="utf-8")
    for words, says in (
        ((), "keygen needs --out FILE, the file of the private key"),
        (("--out", "-"), "keygen writes a private key to a file, never to standard"),
        (("key.pem",), "keygen takes no file: key.pem; --out key.pem"),
        (("--out", "there.pem"), "there.pem: is there already, and a key is never"),
        (("--out", "k.pem", "--public", "there.pem"), "there.pem: is there already"),
        (("--out", "no/k.pem"), "no/k.pem: the key cannot be written: No such file"),
        (("--out", "k", "--public", "./k"), "k: is to be both the private and the"),
        (("--out", "k", "--passphrase-env", "EMPTY"), "variable EMPTY, which should"),
        (("--out", "k", "--passphrase-env", "NONE"), "the passphrase, is not set"),
        (("--out", "k", "--passphrase", "x"), "no option --passphrase: see"),
    ):
        code, result, errors = run(*words)
        assert (code, result) == (2, "")
        assert errors.startswith("speccheck: ")
        assert says in errors
        assert errors.count("\n") == 1
        assert [item.name for item in Path().iterdir()] == ["there.pem"]
        assert Path("there.pem").read_text("utf-8") == "dear"


def test_a_run_never_gives_a_key_twice(run: Run) -> None:
    ids = {run("--out", f"{item}.pem")[1].split()[-1] for item in range(4)}
    assert len(ids) == 4
