"""Keys: known answers, one name each, files for the owner, other kinds refused."""

import hashlib
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import (
    ec,
    ed448,
    ed25519,
    rsa,
    x25519,
)
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from signed_files import KEY, OTHER, key_of
from speccheck.validator.signing.envelope import KeyFileError
from speccheck.validator.signing.keys import (
    PrivateKey,
    PublicKey,
    new_private_key,
    open_to_others,
    private_key,
    public_key,
    read_key_file,
    read_public_key,
    write_pair,
)

ROOT = Path(__file__).resolve().parents[1]
# RFC 8032, section 7.1: TEST 1, 2 and 3. Secret, public, message, signature.
RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
            "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e"
            "458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290"
            "ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
]


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_signatures_are_those_of_the_standard(
    secret: str, public: str, message: str, signature: str
) -> None:
    of = ed25519.Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
    key = private_key(PrivateKey(of).pem(), "key.pem")
    assert key.public.raw.hex() == public
    made = key.sign(bytes.fromhex(message))
    assert made.hex() == signature
    assert key.public.fits(made, bytes.fromhex(message))
    assert not key.public.fits(made, bytes.fromhex(message) + b"x")


def test_a_key_is_named_by_the_digest_of_its_public_half() -> None:
    of = ed25519.Ed25519PublicKey.from_public_bytes(KEY.public.raw)
    der = of.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    pem = of.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    assert KEY.public.key_id == hashlib.sha256(der).hexdigest()
    assert KEY.public.pem() == pem
    assert public_key(pem, "pub.pem").key_id == KEY.public.key_id


def test_keys_are_made_anew() -> None:
    assert new_private_key().public.raw != new_private_key().public.raw


def test_a_private_key_shows_itself_to_nobody() -> None:
    secret = KEY.pem().decode().splitlines()[1]
    assert secret not in f"{KEY!r} {KEY} {vars(type(KEY))}"
    assert repr(KEY) == f"PrivateKey({KEY.public.key_id})"
    with pytest.raises(TypeError):
        pickle.dumps(KEY)


def test_an_encrypted_key_is_read_with_its_passphrase() -> None:
    content = KEY.pem(b"correct horse")
    assert b"ENCRYPTED PRIVATE KEY" in content
    assert private_key(content, "k", b"correct horse").public.raw == KEY.public.raw


_PEM, _PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8


def _pem(
    key: PrivateKeyTypes,
    layout: serialization.PrivateFormat = _PKCS8,
    encoding: serialization.Encoding = _PEM,
) -> bytes:
    return key.private_bytes(encoding, layout, serialization.NoEncryption())


def _refusal(content: bytes, passphrase: bytes | None = None) -> str:
    with pytest.raises(KeyFileError) as refused:
        private_key(content, "key.pem", passphrase)
    result = str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or not refused.value.__context__
    lines = content.decode("latin-1").splitlines()[1:-1]
    assert not [line for line in lines if len(line) > 8 and line in result]
    return result


def test_keys_of_other_kinds_are_refused_by_name() -> None:
    large = rsa.generate_private_key(65537, 2048)
    keys: dict[str, PrivateKeyTypes] = {
        "RSA": large,
        "ECDSA secp256r1": ec.generate_private_key(ec.SECP256R1()),
        "ECDSA secp384r1": ec.generate_private_key(ec.SECP384R1()),
        "Ed448": ed448.Ed448PrivateKey.generate(),
        "X25519": x25519.X25519PrivateKey.generate(),
    }
    for name, key in keys.items():
        says = f"key.pem: holds a key of {name}; it must be Ed25519; speccheck keygen"
        assert _refusal(_pem(key)).startswith(says)
        public = key.public_key().public_bytes(
            _PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        with pytest.raises(KeyFileError, match=f"holds a key of {name}; it must"):
            public_key(public, "pub.pem")
    assert "holds an RSA key; a key is PEM" in _refusal(
        _pem(large, serialization.PrivateFormat.TraditionalOpenSSL)
    )
    assert "OpenSSH's own form" in _refusal(
        _pem(large, serialization.PrivateFormat.OpenSSH)
    )
    assert "is no PEM file" in _refusal(
        _pem(large, encoding=serialization.Encoding.DER)
    )


def test_what_holds_no_private_key_says_so() -> None:
    plain, hidden_key = KEY.pem(), KEY.pem(b"x")
    assert _refusal(KEY.public.pem()) == (
        "key.pem: holds a public key; to sign takes the private one"
    )
    assert _refusal(b"") == (
        "key.pem: is empty: no line -----BEGIN ...-----; "
        "speccheck keygen makes Ed25519 keys"
    )
    assert "is no PEM file" in _refusal(b"\xff\xfe\x00")
    assert "holds 2 PEM blocks" in _refusal(plain + OTHER.pem())
    assert "an X.509 certificate" in _refusal(b"-----BEGIN CERTIFICATE-----\n")
    assert "another kind: NEW THING" in _refusal(b"-----BEGIN NEW THING-----\n")
    assert "it is damaged" in _refusal(plain.replace(b"MC4C", b"MC4D"))
    assert "it is damaged" in _refusal(plain[:60])
    assert _refusal(hidden_key) == (
        "key.pem: is encrypted; "
        "--passphrase-env NAME names the variable with its passphrase"
    )
    assert _refusal(hidden_key, b"y") == (
        "key.pem: holds no private key that can be read: "
        "the passphrase is wrong, or it is damaged"
    )
    assert "is not encrypted, and a passphrase was given" in _refusal(plain, b"y")


def test_what_holds_no_public_key_says_so() -> None:
    for content, says in (
        (KEY.pem(), "pub.pem: holds a private key; to verify takes the public one; "),
        (KEY.pem(b"x"), "pub.pem: holds a private key"),
        (KEY.public.pem()[:70], "it is damaged"),
        (b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 me@here\n", "is no PEM file"),
    ):
        with pytest.raises(KeyFileError) as refused:
            public_key(content, "pub.pem")
        assert says in str(refused.value)


def test_files_of_a_key_are_for_their_owner(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        private, public = str(tmp_path / "k.pem"), str(tmp_path / "k.pub.pem")
        write_pair((private, KEY.pem()), (public, KEY.public.pem()))
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(private).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(public).st_mode) == 0o644
    assert read_public_key(public) == PublicKey(KEY.public.raw, public)
    assert open_to_others(private) == ""
    os.chmod(private, 0o640)
    assert open_to_others(private) == (
        f"{private}: other users may read this private key (mode 0640); chmod 600"
    )


def test_nothing_is_overwritten_and_no_half_is_left(tmp_path: Path) -> None:
    there, new = tmp_path / "there", tmp_path / "new"
    there.write_text("dear")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    for private, public, says in (
        (there, new, "there: is there already, and a key is never overwritten"),
        (new, there, "there: is there already"),
        (link, new, "link: is there already"),
        (new, tmp_path / "no" / "folder", "cannot be written: No such file"),
        (new, new, "is to be both the private and the public key"),
        (tmp_path / "a\x00b", new, "no name of a file"),
    ):
        with pytest.raises(KeyFileError, match=says):
            write_pair((str(private), KEY.pem()), (str(public), KEY.public.pem()))
        assert there.read_text() == "dear"
        assert sorted(item.name for item in tmp_path.iterdir()) == ["link", "there"]


def test_a_full_disk_leaves_no_half_of_a_key(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(KeyFileError, match="is there already"):
        write_pair(("/dev/full", KEY.pem()), (str(tmp_path / "p"), b""))


def test_what_is_no_key_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * 70_000)
    for name, says in (
        ("missing", "the key cannot be read: No such file or directory"),
        ("", "is a folder; a key is a PEM file"),
        ("pipe", "is no regular file"),
        ("large", "is no key file: longer than 65,536 bytes"),
        ("a\x00b", "no name of a file"),
    ):
        with pytest.raises(KeyFileError, match=says):
            read_key_file(str(tmp_path / name))


def test_without_the_package_one_line_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['cryptography'] = None; "
        "from speccheck.validator.cli.main import main; "
        "sys.exit(main(['keygen', '--out', 'k.pem']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / ".imports")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == (
        "speccheck: signing and verifying need the package cryptography; "
        "install it: pip install 'speccheck[certify]'\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_fixed_key_is_the_same_in_each_run() -> None:
    assert key_of(1).public == KEY.public
