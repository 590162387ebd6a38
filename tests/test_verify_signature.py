"""`speccheck verify` and `certify` where a key, an envelope or a signature is wrong."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from certificate_sample import certificate
from signed_files import KEY, OTHER, envelope
from speccheck.validator.cli.main import main

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[1]
CERTIFY = ("certify", "--profile", "instance/azure-nd96isr-h100-v5", "--evidence")


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run speccheck in a folder with a certificate and keys: code, output, errors."""
    monkeypatch.chdir(tmp_path)
    Path("cert.json").write_bytes(envelope(certificate()))
    Path("pub.pem").write_bytes(KEY.public.pem())
    Path("other.pem").write_bytes(OTHER.public.pem())
    Path("key.pem").write_bytes(KEY.pem())
    os.chmod("key.pem", 0o600)
    Path("hidden.pem").write_bytes(KEY.pem(b"geheim"))
    os.chmod("hidden.pem", 0o600)
    Path("empty").mkdir()

    def command(*words: str) -> tuple[int, str, str]:
        code = main([*words])
        found = capsys.readouterr()
        return code, found.out, found.err

    return command


def refused(run: Run, *words: str) -> str:
    """Return the one line of a refusal, without its beginning."""
    code, result, errors = run(*words)
    assert (code, result) == (2, "")
    assert errors.count("\n") == 1
    assert errors.startswith("speccheck: ")
    assert KEY.pem().decode().splitlines()[1] not in errors
    return errors.removeprefix("speccheck: ").rstrip("\n")


def test_the_signature_is_named_where_it_fits(run: Run) -> None:
    _, result, errors = run(
        "verify", "cert.json", "--key", "other.pem", "--key=pub.pem"
    )
    assert errors == ""
    assert f"of key {KEY.public.key_id[:16]}" in result
    assert "holds  signature" in result


def test_another_key_is_refused(run: Run) -> None:
    assert refused(run, "verify", "cert.json", "--key", "other.pem") == (
        f"cert.json: signed with key {KEY.public.key_id}; given: "
        f"{OTHER.public.key_id} (other.pem); give the public key of whoever signed, or "
        "do not trust this certificate"
    )


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("missing.pem", "missing.pem: the key cannot be read: No such file"),
        ("key.pem", "key.pem: holds a private key; to verify takes the public one"),
        ("cert.json", "cert.json: is no PEM file"),
        ("empty", "empty: is a folder; a key is a PEM file"),
    ],
)
def test_what_is_no_public_key_is_refused(run: Run, key: str, says: str) -> None:
    assert refused(run, "verify", "cert.json", "--key", key).startswith(says)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "cert.json: the file is empty"),
        (b"{}\n", "cert.json: the envelope has no field payload, payloadType, sig"),
        (b'{"payload":\n', "cert.json: line 1, column 12: no JSON: expecting value"),
        (b"\x1b[31m\n", "cert.json: line 1, column 1: no JSON: expecting value"),
        (b"[" * 99 + b"\n", "cert.json: line 1, column 65: deeper than 64 levels"),
        (KEY.public.pem(), "cert.json: line 1, column 1: no JSON"),
    ],
)
def test_a_broken_envelope_is_refused(run: Run, content: bytes, says: str) -> None:
    Path("cert.json").write_bytes(content)
    assert refused(run, "verify", "cert.json", "--key", "pub.pem").startswith(says)


def test_a_certificate_that_was_written_anew_is_refused(run: Run) -> None:
    fields = json.loads(Path("cert.json").read_bytes())
    Path("cert.json").write_text(json.dumps(fields) + "\n", encoding="utf-8")
    assert "not canonical: " in refused(run, "verify", "cert.json", "--key", "pub.pem")


def test_another_version_is_refused(run: Run) -> None:
    newer = certificate()._replace(predicate_type="urn:speccheck:certificate:v2")
    Path("cert.json").write_bytes(envelope(newer))
    assert refused(run, "verify", "cert.json", "--key", "pub.pem") == (
        "cert.json: payload: a certificate of version 2; this speccheck reads version "
        "1; verify it with the version that it names"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--key", "missing.pem"), "missing.pem: the key cannot be read"),
        (("--key", "pub.pem"), "pub.pem: holds a public key; to sign takes the priv"),
        (("--key", "env:NO_SUCH_KEY"), "variable NO_SUCH_KEY, which should hold the"),
        (("--key", "cmd:true"), "cmd: needs the public key of what signs; --public"),
        (("--key", "hidden.pem"), "hidden.pem: is encrypted; --passphrase-env NAME"),
        (
            ("--key", "hidden.pem", "--passphrase-env", "KEY_PASSPHRASE"),
            "hidden.pem: holds no private key that can be read: the passphrase is wr",
        ),
        (
            ("--key", "key.pem", "--public", "other.pem"),
            f"other.pem: the public key {OTHER.public.key_id} is not the other half",
        ),
    ],
)
def test_a_key_that_cannot_sign_is_refused_before_anything_is_judged(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.setenv("KEY_PASSPHRASE", "falsch")
    before = sorted(Path().iterdir())
    assert refused(run, *CERTIFY, "empty", *words).startswith(says)
    assert sorted(Path().iterdir()) == before


def test_a_key_that_others_may_read_is_told(run: Run) -> None:
    os.chmod("key.pem", 0o644)
    code, _, errors = run(*CERTIFY, "empty", "--key", "key.pem")
    assert code == 2
    assert errors.splitlines()[0] == (
        "speccheck: warning: key.pem: other users may read this private key (mode "
        "0644); chmod 600"
    )


@pytest.mark.usefixtures("run")
def test_verifying_without_the_package_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['cryptography'] = None; "
        "from speccheck.validator.cli.main import main; "
        "sys.exit(main(['verify', 'cert.json', '--key', 'pub.pem']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / ".imports")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "speccheck: signing and verifying need the package cryptography; "
        "install it: pip install 'speccheck[certify]'\n"
    )
