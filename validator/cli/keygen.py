"""`speccheck keygen`: a key pair that signs certificates, and the files of it."""

import os

from speccheck.validator.cli.command_line import CommandLine, UsageError
from speccheck.validator.report.write import write
from speccheck.validator.signing.faults import SigningError
from speccheck.validator.signing.key_files import write_pair
from speccheck.validator.signing.keys import new_private_key
from speccheck.validator.signing.signers import passphrase_of

REFUSED = (SigningError,)


def keygen(line: CommandLine) -> int:
    """Make a key pair; returns the exit code."""
    line.demand_no_file(f"--out {line.files[0]}" if line.files else "")
    private = line.text("out") or ""
    if not private:
        message = "keygen needs --out FILE, the file of the private key"
        raise UsageError(message)
    if private == "-":
        message = "keygen writes a private key to a file, never to standard output"
        raise UsageError(message)
    public = line.text("public") or _public_name(private)
    variable = line.text("passphrase_env") or ""
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
