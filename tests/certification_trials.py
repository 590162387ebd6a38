"""Certificates of the shipped synthetic kit, for tests: made, changed, verified."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from signed_files import KEY, OTHER
from speccheck.validator.cli.main import main
from speccheck.validator.signing.envelope import (
    CERTIFICATE_TYPE,
    Statement,
    read_envelope,
    statement_bytes,
)
from speccheck.validator.signing.keys import PrivateKey
from speccheck.validator.signing.signers import signed

ROOT = Path(__file__).resolve().parents[1]
KIT = ROOT / "fixtures" / "examples" / "certification"
PROFILE = "instance/azure-nd96isr-h100-v5"
TRACKS = (
    *("checkpoint-recovery", "comm-topology", "fabric", "memory-batch-precision"),
    *("observability", "security-energy"),
)
NOW = datetime(2026, 11, 22, 6, tzinfo=UTC)  # hours after the kit was made up
Capture = pytest.CaptureFixture[str]


class Trial:
    """A folder with a kit, keys, and the certificate of the kit."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Copy the kit and write the keys."""
        self._patch = monkeypatch
        self.folder = folder
        self.kit = folder / "kit"
        self.certificate = folder / "certificate.json"
        shutil.copytree(KIT, self.kit)
        for name, key in (("key", KEY), ("other", OTHER)):
            (folder / f"{name}.pem").write_bytes(key.pem())
            (folder / f"{name}.pem").chmod(0o600)
            (folder / f"{name}.pub.pem").write_bytes(key.public.pem())

    def certify(self, *more: str) -> int:
        """Run `speccheck certify` on the kit, by edition 1.0, hours after it."""
        self._patch.setenv("SOURCE_DATE_EPOCH", str(int(NOW.timestamp())))
        return main(
            [
                *("certify", "--profile", PROFILE, "--spec", "1.0", "--synthetic"),
                *("--evidence", str(self.kit), "--key", str(self.folder / "key.pem")),
                *("--out", str(self.certificate), *more),
            ]
        )

    def verify(self, *more: str, with_evidence: bool = True) -> int:
        """Run `speccheck verify` on the certificate."""
        evidence = ("--evidence", str(self.kit)) if with_evidence else ()
        key = ("--key", str(self.folder / "key.pub.pem"))
        quiet = ("--synthetic", "--quiet", "--now", NOW.isoformat())
        return main(["verify", str(self.certificate), *key, *quiet, *evidence, *more])

    @property
    def predicate(self) -> dict[str, Any]:
        """What the certificate says."""
        payload = read_envelope(self.certificate.read_bytes()).payload
        found: dict[str, Any] = json.loads(payload)["predicate"]
        return found

    def sign(self, predicate: dict[str, Any], key: PrivateKey = KEY) -> None:
        """Write another certificate in its place, signed by who holds a key."""
        name, sha256 = predicate["instance_type"], predicate["type"]["sha256"]
        statement = Statement(name, sha256, CERTIFICATE_TYPE, predicate)
        self.certificate.write_bytes(signed(statement_bytes(statement), key))

    def rewrite(self, path: str, change: Callable[[str], str]) -> None:
        """Change a file of the kit."""
        file = self.kit / path
        file.write_text(change(file.read_text("utf-8")), "utf-8")

    def levels(self) -> dict[str, str | None]:
        """Return the level of each track of the certificate."""
        return {item["track"]: item["level"] for item in self.predicate["tracks"]}
