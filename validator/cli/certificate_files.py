"""What `speccheck certify` writes: the certificate, its page, derived statements."""

import hashlib
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from speccheck.validator.certification.certifying import Certification
from speccheck.validator.certification.statement import Issue, derived, predicate
from speccheck.validator.cli.options import Parsed, UsageError
from speccheck.validator.cli.request import list_of
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.certificate_text import certificate_text
from speccheck.validator.report.style import Style, printable
from speccheck.validator.report.write import write_all
from speccheck.validator.signing.envelope import (
    CERTIFICATE_TYPE,
    Statement,
    statement_bytes,
)
from speccheck.validator.signing.keys import open_to_others
from speccheck.validator.signing.signers import Signer, signed, signer_of

DERIVED = ("test-result", "svr")
_DEFAULT = "certificate.json"
_NOBODY = "unnamed"


class CertificateFiles(Record):
    """What is said and written. written: the certificate; empty where none is."""

    predicate: dict[str, Any]
    contents: tuple[tuple[str, str], ...]
    written: str

    def text(self, style: Style) -> Iterator[str]:
        """The certificate on a terminal."""
        yield from certificate_text(self.predicate, style)

    def write(self) -> None:
        """Write all files, or none; raises WriteError."""
        write_all(((text,), path) for text, path in self.contents)


def signer_in(parsed: Parsed) -> Signer | None:
    """What signs; None without --key. Raises UsageError or SigningError."""
    key = parsed.values.get("key")
    if not isinstance(key, str):
        for option in ("out", "html", "derive", "public", "passphrase_env"):
            if option in parsed.values:
                flag = option.replace("_", "-")
                message = f"--{flag} needs --key: nothing is written that is not signed"
                raise UsageError(message)
        return None
    public = parsed.values.get("public")
    variable = parsed.values.get("passphrase_env")
    signer = signer_of(
        key,
        os.environ,
        public if isinstance(public, str) else "",
        variable if isinstance(variable, str) else "",
    )
    if warning := open_to_others(key):
        sys.stderr.write(f"speccheck: warning: {printable(warning)}\n")
    return signer


def issue_of(parsed: Parsed, signer: Signer | None, now: datetime) -> Issue:
    """Who issues the certificate, and its number, which grows with time."""
    return Issue(
        verifier=str(parsed.values.get("verifier", _NOBODY)),
        key_id=signer.public.key_id if signer else "",
        created=now,
        run_id=f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        third_party="third_party" in parsed.values,
        revocation=str(parsed.values.get("revocation", "")),
    )


def certificate_files(
    parsed: Parsed, found: Certification, issue: Issue, signer: Signer | None
) -> CertificateFiles:
    """All files of a certificate; none without a signer."""
    said = predicate(found, issue)
    if signer is None:
        return CertificateFiles(said, (), "")
    statement = Statement(
        said["instance_type"], said["type"]["sha256"], CERTIFICATE_TYPE, said
    )
    out = str(parsed.values.get("out", _DEFAULT))
    certificate = _signed(statement, signer)
    contents = [(certificate, out), *_derived(parsed, statement, certificate, signer)]
    page = parsed.values.get("html")
    if isinstance(page, str):
        from speccheck.validator.report.forms.html_certificate import (  # noqa: PLC0415
            certificate_page,
        )

        contents.append((certificate_page(said, pictures=_pictures(found)), page))
    return CertificateFiles(said, tuple(contents), out)


def _pictures(found: Certification) -> list[str]:
    """The machines as their snapshots tell that they are joined."""
    from speccheck.validator.node.machine_layout import layout_of_node  # noqa: PLC0415
    from speccheck.validator.report.topology_svg import (  # noqa: PLC0415
        specimen_pictures,
    )
    from speccheck.validator.sources.joining.one_node import joined  # noqa: PLC0415

    machines = (
        [one.node for file in machine.files for one in file.readings if one.node]
        for machine in found.evidence.subject.machines
    )
    return specimen_pictures(
        [layout_of_node(joined(nodes)) if nodes else None for nodes in machines]
    )


def _signed(statement: Statement, signer: Signer) -> str:
    return signed(statement_bytes(statement), signer).decode("utf-8")


def _derived(
    parsed: Parsed, statement: Statement, certificate: str, signer: Signer
) -> Iterable[tuple[str, str]]:
    sha256 = hashlib.sha256(certificate.encode("utf-8")).hexdigest()
    for word in list_of(parsed, "derive"):
        kind, _, path = word.partition("=")
        if kind not in DERIVED or not path:
            message = f"--derive {word}: must be {' or '.join(DERIVED)}=FILE"
            raise UsageError(message)
        yield _signed(derived(kind, statement, sha256), signer), path
