"""`speccheck keygen`: a key pair that signs certificates, and the files of it."""

import os

from speccheck.validator.cli.guarded import guarded
from speccheck.validator.cli.option_table import Option
from speccheck.validator.cli.options import Parsed, UsageError, options_help, parse
from speccheck.validator.cli.request import REFUSALS
from speccheck.validator.report.write import write
from speccheck.validator.signing.envelope import SigningError
from speccheck.validator.signing.keys import new_private_key, write_pair
from speccheck.validator.signing.signers import passphrase_of

_GROUP = "Keys"
OPTIONS: tuple[Option, ...] = (
    Option("--out", "the private key, which signs", "text", "FILE", group=_GROUP),
    Option("--public", "the public key (FILE.pub.pem)", "text", "FILE", group=_GROUP),
    Option(
        "--passphrase-env",
        "variable with a passphrase: encrypt by it",
        "text",
        "NAME",
        group=_GROUP,
    ),
)
HELP = f"""\
usage: speccheck keygen --out key.pem [--public pub.pem] [--passphrase-env NAME]

Makes an Ed25519 key: the private half (PEM, PKCS8) for `speccheck certify --key`, which
only its owner may read, and the public half (PEM) for `speccheck verify --key`. Prints
the key id, the SHA-256 of the public half: tell it to verifiers by another way than
that of the certificates. A file that is there is never overwritten.

Needs `pip install 'speccheck[certify]'`.

Exit codes: 0; 2 the command line is wrong, or a file cannot be written; 4 a bug of
speccheck.
{options_help(OPTIONS)}
"""


def keygen(words: list[str]) -> int:
    """Make a key pair; returns the exit code."""
    if words[:1] in (["-h"], ["--help"]):
        write(HELP, None)
        return 0
    return guarded(lambda: _keygen(parse(words, OPTIONS)), (SigningError, *REFUSALS))


def _keygen(parsed: Parsed) -> int:
    if parsed.files:
        message = f"keygen takes no file: {parsed.files[0]}; --out {parsed.files[0]}"
        raise UsageError(message)
    private = str(parsed.values.get("out", ""))
    if not private:
        message = "keygen needs --out FILE, the file of the private key"
        raise UsageError(message)
    if private == "-":
        message = "keygen writes a private key to a file, never to standard output"
        raise UsageError(message)
    public = str(parsed.values.get("public", "")) or _public_name(private)
    variable = str(parsed.values.get("passphrase_env", ""))
    passphrase = passphrase_of(variable, os.environ)
    key = new_private_key()
    write_pair((private, key.pem(passphrase)), (public, key.public.pem()))
    kind = "not encrypted: whoever reads it can sign in your name"
    if variable:
        kind = f"encrypted by the passphrase of {variable}"
    write(
        f"private key  {private} ({kind})\n"
        f"public key   {public}\n"
        f"key id       {key.public.key_id}\n",
        None,
    )
    return 0


def _public_name(private: str) -> str:
    return f"{private.removesuffix('.pem')}.pub.pem"
