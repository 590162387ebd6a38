"""Who signs: files, variables, other programs; and what each of them may do wrong."""

import base64
import os
import select
import shlex
import shutil
import socket
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from signed_files import KEY, OTHER, STATEMENT, envelope
from speccheck.validator.signing.envelope import (
    KeyFileError,
    SignerError,
    SigningError,
    statement_bytes,
)
from speccheck.validator.signing.signers import SignCommand, signed, signer_of
from speccheck.validator.signing.verified import verified

PAYLOAD = statement_bytes(STATEMENT)
# Signs what it reads; its arguments: the key, and how to answer.
SIGNS = """\
import base64, sys
from cryptography.hazmat.primitives.serialization import load_pem_private_key
key = load_pem_private_key(open(sys.argv[1], "rb").read(), None)
source = open(sys.argv[3], "rb") if len(sys.argv) > 3 else sys.stdin.buffer
made = key.sign(source.read())
if sys.argv[2] == "raw":
    sys.stdout.buffer.write(made)
elif sys.argv[2] == "base64":
    print(base64.b64encode(made).decode())
elif sys.argv[2] == "lines":
    print(base64.encodebytes(made).decode())
else:
    print(made.hex())
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with both halves of a key, and a program that signs."""
    (tmp_path / "key.pem").write_bytes(KEY.pem())
    (tmp_path / "pub.pem").write_bytes(KEY.public.pem())
    (tmp_path / "other.pem").write_bytes(OTHER.public.pem())
    (tmp_path / "hidden.pem").write_bytes(KEY.pem(b"geheim"))
    (tmp_path / "signs.py").write_text(SIGNS, encoding="utf-8")
    return tmp_path


def command(*words: str | Path) -> str:
    return "cmd:" + shlex.join([sys.executable, *map(str, words)])


def test_a_file_and_a_variable_sign_alike(files: Path) -> None:
    pem = KEY.pem().decode()
    variables = {"WHOLE": pem, "ONE_LINE": pem.replace("\n", "\\n"), "PASS": "geheim"}
    sources = (
        (str(files / "key.pem"), ""),
        (str(files / "hidden.pem"), "PASS"),
        ("env:WHOLE", ""),
        ("env:ONE_LINE", ""),
    )
    for source, passphrase in sources:
        signer = signer_of(source, variables, passphrase_variable=passphrase)
        assert signed(PAYLOAD, signer) == envelope()


@pytest.mark.parametrize("answer", ["raw", "base64", "lines"])
def test_a_program_signs_what_it_reads(files: Path, answer: str) -> None:
    source = command(files / "signs.py", files / "key.pem", answer)
    signer = signer_of(source, {}, public=str(files / "pub.pem"))
    assert signed(PAYLOAD, signer) == envelope()
    of_file = signer_of(f"{source} {{file}}", {}, public=str(files / "pub.pem"))
    assert signed(PAYLOAD, of_file) == envelope()


def test_openssl_signs(files: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here")
    words = f"openssl pkeyutl -sign -rawin -inkey {files / 'key.pem'} -in {{file}}"
    signer = signer_of(f"cmd:{words}", {}, public=str(files / "pub.pem"))
    assert verified(signed(PAYLOAD, signer), [KEY.public]) == STATEMENT


def test_the_file_that_a_program_signs_is_gone_afterwards(files: Path) -> None:
    """Only its owner may read it while it is there."""
    code = (
        "import os, sys; p = sys.argv[1]; "
        "sys.exit(f'{p} {os.stat(p).st_mode & 0o777:o}')"
    )
    source = command("-c", code, "{file}")
    with pytest.raises(SignerError) as refused:
        signer_of(source, {}, public=str(files / "pub.pem")).sign(b"x")
    path, mode = str(refused.value).rpartition(": ")[2].split()
    assert mode == "600"
    assert not os.path.exists(path)


def test_no_shell_takes_a_command_apart(files: Path) -> None:
    source = command("-c", "import sys; sys.exit(repr(sys.argv[1:]))", "$(id)", "a;b")
    with pytest.raises(SignerError, match=r"\['\$\(id\)', 'a;b'\]"):
        signer_of(source, {}, public=str(files / "pub.pem")).sign(b"x")


def test_a_program_that_does_not_sign_is_named(files: Path) -> None:
    program = Path(sys.executable).name
    secret = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ0bC2dF4g"
    noise = "import sys; sys.stderr.write('one\\n\\x1b[31mtwo ' + sys.argv[1]); exit(3)"
    for source, says in (
        ("cmd:", "cmd: names no program"),
        ("cmd:'open", "cmd: cannot be taken apart: no closing quotation"),
        ("cmd:/no/such/program x", "program cannot be started: No such file"),
        (f"cmd:{files}", "cannot be started: Permission denied"),
        (command("-c", noise, "x"), f"{program} ended with code 3: "),
        (command("-c", noise, secret), "two hf_*******"),
        (command("-c", "exit(0)"), f"{program} answered with 0 bytes that are no"),
        (command("-c", "print('x' * 64)"), "answered with 65 bytes that are no"),
        (command(files / "signs.py", files / "key.pem", "hex"), "answered with 129"),
        (
            command("-c", "import os; os.kill(os.getpid(), 15)"),
            f"{program} ended with signal 15",
        ),
    ):
        with pytest.raises(SignerError) as refused:
            signer_of(source, {}, public=str(files / "pub.pem")).sign(b"x")
        assert says in str(refused.value)
        assert secret not in str(refused.value)


def test_a_program_that_reads_nothing_may_still_sign(files: Path) -> None:
    """It may know what to sign by other means; the pipe breaks on a long message."""
    made = base64.b64encode(KEY.sign(b"x")).decode()
    source = command("-c", "import sys; print(sys.argv[1])", made)
    signer = signer_of(source, {}, public=str(files / "pub.pem"))
    assert signer.sign(b"y" * 1_000_000) == KEY.sign(b"x")


def test_a_program_that_hangs_is_ended_with_all_it_started(files: Path) -> None:
    code = "tail -f /dev/null & echo $! > $1; wait"
    words = shlex.join(["sh", "-c", code, "sh", str(files / "child")])
    signer = SignCommand(words, KEY.public, deadline=2)
    with pytest.raises(SignerError, match="did not sign within 2 seconds; it must ask"):
        signer.sign(b"x")
    with suppress(ProcessLookupError):
        child = os.pidfd_open(int((files / "child").read_text()))
        assert select.select([child], [], [], 30)[0] == [child]  # it has ended
        os.close(child)


def test_an_endless_answer_is_cut_off() -> None:
    code = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    signer = SignCommand(shlex.join([sys.executable, "-c", code]), KEY.public, 30)
    with pytest.raises(SignerError, match="answered with more than 65,536 bytes"):
        signer.sign(b"x")


def test_a_signature_that_does_not_fit_is_not_given_away(files: Path) -> None:
    source = command(files / "signs.py", files / "key.pem", "raw")
    signer = signer_of(source, {}, public=str(files / "other.pem"))
    with pytest.raises(SignerError) as refused:
        signed(PAYLOAD, signer)
    assert str(refused.value) == (
        f"the signature does not fit the public key {OTHER.public.key_id} "
        f"({files / 'other.pem'}); give the public key of what signs"
    )


def test_what_gives_no_key_says_so(files: Path) -> None:
    pem = KEY.pem().decode()
    variables = {"EMPTY": " ", "KEY": pem, "CUT": pem[:50], "PASS": "wrong"}
    public, hidden = str(files / "pub.pem"), str(files / "hidden.pem")
    for source, arguments, says in (
        ("env:", {}, "--key env: names no variable; --key env:NAME"),
        (
            "env:NONE",
            {},
            "variable NONE, which should hold the private key, is not set",
        ),
        (
            "env:EMPTY",
            {},
            "variable EMPTY, which should hold the private key, is empty",
        ),
        ("env:CUT", {}, "variable CUT: holds no private key that can be read"),
        ("cmd:true", {}, "cmd: needs the public key of what signs; --public pub.pem"),
        ("missing.pem", {}, "missing.pem: the key cannot be read"),
        (public, {}, "pub.pem: holds a public key; to sign takes the private one"),
        (hidden, {}, "hidden.pem: is encrypted; --passphrase-env NAME names"),
        (
            hidden,
            {"passphrase_variable": "PASS"},
            "hidden.pem: holds no private key that can be read: the passphrase is",
        ),
        (
            hidden,
            {"passphrase_variable": "NONE"},
            "variable NONE, which should hold the passphrase, is not set",
        ),
        (
            hidden,
            {"passphrase_variable": "EMPTY"},
            "hidden.pem: holds no private key that can be read: the passphrase is",
        ),
        (
            "env:KEY",
            {"public": str(files / "other.pem")},
            (
                f"other.pem: the public key {OTHER.public.key_id} is not the other "
                f"half of the private key, which is {KEY.public.key_id}"
            ),
        ),
    ):
        with pytest.raises(KeyFileError) as refused:
            signer_of(source, variables, **arguments)
        result = str(refused.value)
        assert says in result
        assert pem.splitlines()[1][:20] not in result
        assert "wrong\n" not in result


def test_nothing_asks_the_network(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        message = "a socket"
        raise AssertionError(message)

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    content = signed(PAYLOAD, signer_of(str(files / "key.pem"), {}))
    assert verified(content, [KEY.public]) == STATEMENT
    with pytest.raises(SigningError):
        verified(content, [OTHER.public])
