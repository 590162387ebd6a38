"""docs/signing.md: what it shows of other programs is what they do."""

import base64
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from certificate_sample import certificate
from markdown_pages import ROOT, examples
from signed_files import INSTANCE_TYPE, KEY, OTHER, TYPE_SHA256, envelope
from speccheck.validator.signing.envelope import statement_bytes
from speccheck.validator.signing.signers import SignCommand, signed

PAGE = ROOT / "docs" / "signing.md"
# Answers as `vault write -field=signature transit/sign/speccheck input=-` does.
VAULT = """\
#!{python}
import base64, sys
from cryptography.hazmat.primitives.serialization import load_pem_private_key
assert sys.argv[1:] == [
    "write", "-field=signature", "transit/sign/speccheck", "input=-"
], sys.argv
key = load_pem_private_key(open({key!r}, "rb").read(), None)
text = sys.stdin.read()
assert "\\n" not in text
made = key.sign(base64.b64decode(text, validate=True))
print("vault:v1:" + base64.b64encode(made).decode(), end="")
"""


def shown(mark: str) -> str:
    """Return the one example of the page that holds a text."""
    (found,) = [example.text for example in examples(PAGE) if mark in example.text]
    return found


def needs(*programs: str) -> None:
    missing = [item for item in programs if shutil.which(item) is None]
    if missing:
        pytest.skip(f"not here: {', '.join(missing)}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a certificate and the key that it was signed with."""
    (tmp_path / "certificate.json").write_bytes(envelope(certificate()))
    (tmp_path / "key.pub.pem").write_bytes(KEY.public.pem())
    return tmp_path


def run(
    folder: Path, *words: str, typed: str = "", path: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=folder,
        input=typed,
        env={"PATH": f"{path}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


def program(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def changed(folder: Path) -> None:
    """Sign the same with another key, under the name of the first."""
    other = envelope(certificate(), OTHER)
    named = other.replace(OTHER.public.key_id.encode(), KEY.public.key_id.encode())
    assert named != other
    (folder / "certificate.json").write_bytes(named)


def test_the_example_of_securesystemslib_verifies(folder: Path) -> None:
    words = (sys.executable, "-c", shown("from securesystemslib"))
    ended = run(folder, *words)
    assert ended.returncode == 0, ended.stderr
    subject = {"digest": {"sha256": TYPE_SHA256}, "name": INSTANCE_TYPE}
    assert ended.stdout == f"{[subject]}\n"
    changed(folder)
    assert "VerificationError" in run(folder, *words).stderr


def test_the_example_of_openssl_verifies(folder: Path) -> None:
    needs("bash", "jq", "openssl", "base64")
    script = str(program(folder / "verify", shown("pkeyutl -verify")))
    ended = run(folder, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "Signature Verified Successfully\n"
    statement = json.loads((folder / "statement.json").read_bytes())
    assert statement["subject"][0]["name"] == INSTANCE_TYPE
    changed(folder)
    assert run(folder, script).returncode != 0


def test_the_example_of_a_vault_signs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("bash", "sed", "base64")
    (folder / "key.pem").write_bytes(KEY.pem())
    stand_in = VAULT.format(python=sys.executable, key=str(folder / "key.pem"))
    program(folder / "vault", stand_in)
    script = program(folder / "vault-sign", shown("vault write"))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    payload = statement_bytes(certificate())
    assert signed(payload, SignCommand(str(script), KEY.public)) == envelope(
        certificate()
    )


def test_the_public_key_of_a_vault_becomes_pem(folder: Path) -> None:
    needs("bash", "openssl", "base64")
    script = str(program(folder / "pem", shown("openssl pkey -pubin -inform DER")))
    result = base64.b64encode(KEY.public.raw).decode()
    ended = run(folder, script, typed=result)
    assert ended.stdout.encode() == KEY.public.pem(), ended.stderr
