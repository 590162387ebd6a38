"""`speccheck verify`: what was changed is rejected, and the verdict comes out again."""

import json
import random
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from certification_trials import NOW, Capture, Trial
from other_verifiers import in_toto_statement, in_toto_test_result, their_envelope
from other_verifiers import their_key as their_key_of
from signed_files import KEY, OTHER
from slow_cases import few_rows
from speccheck.validator.certification import certifying, verifying
from speccheck.validator.certification.certifying import CertificateOrder, Certification
from speccheck.validator.certification.judging import KitEvidence
from speccheck.validator.cli.main import main
from speccheck.validator.signing.envelope import read_envelope


@pytest.fixture(scope="module")
def monkey() -> Iterator[pytest.MonkeyPatch]:
    """Yield the patches of all tests of this file."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, monkey: pytest.MonkeyPatch
) -> Trial:
    """Return a certificate that holds; whoever changes it puts it back.

    The same evidence is judged once, however often it is verified.
    """
    trial = Trial(tmp_path_factory.mktemp("whole"), monkey)
    monkey.setattr(verifying, "certify", _judging_once())
    assert trial.certify() == 0
    return trial


def _judging_once() -> Callable[[CertificateOrder, KitEvidence], Certification]:
    judged: dict[object, Certification] = {}

    def certify(order: CertificateOrder, evidence: KitEvidence) -> Certification:
        if order.tailoring:  # a file beside the evidence, which may change
            return certifying.certify(order, evidence)
        files = tuple((file.path, file.sha256) for file in evidence.files)
        key = (order, evidence.as_of, files)
        if key not in judged:
            judged[key] = certifying.certify(order, evidence)
        return judged[key]

    return certify


@pytest.fixture
def trial(whole: Trial) -> Iterator[Trial]:
    """Yield the same, put back afterwards."""
    files = {
        path: path.read_bytes()
        for path in (whole.certificate, *whole.kit.rglob("*"))
        if path.is_file()
    }
    yield whole
    for path in whole.kit.rglob("*"):
        if path.is_file() and path not in files:
            path.unlink()
    for path, content in files.items():
        path.write_bytes(content)


def test_it_holds_with_its_evidence(trial: Trial, capsys: Capture) -> None:
    assert trial.verify() == 0
    assert capsys.readouterr().out.split() == ["verified", "exit", "0"]


def test_it_holds_as_it_was_signed(trial: Trial, capsys: Capture) -> None:
    assert trial.verify(with_evidence=False) == 0
    assert "nobody judged the evidence again" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("part", "count"),
    few_rows(
        4,
        [
            *[("payload", 50), ("signature", 50), ("field", 50), ("evidence", 5)],
            ("evidence", 50),
        ],
    ),
)
def test_a_change_of_anything_is_rejected(
    part: str, count: int, trial: Trial, capsys: Capture
) -> None:
    """With those of the other parts 200 changes, each at a place of its own."""
    chance = random.Random(part)  # noqa: S311 - the same in each run
    content = trial.certificate.read_bytes()
    for _ in range(count):
        undo = _CHANGED[part](trial, chance)
        with_evidence = part == "evidence"
        assert trial.verify(with_evidence=with_evidence) in {1, 2}, undo
        trial.certificate.write_bytes(content)
        capsys.readouterr()


def _byte_of_payload(trial: Trial, chance: random.Random) -> str:
    return _byte(trial.certificate, chance, b'"payload":"', b'"')


def _byte_of_signature(trial: Trial, chance: random.Random) -> str:
    return _byte(trial.certificate, chance, b'"sig":"', b'"')


def _byte(path: Path, chance: random.Random, start: bytes, end: bytes) -> str:
    content = bytearray(path.read_bytes())
    first = content.index(start) + len(start)
    at = chance.randrange(first, content.index(end, first))
    content[at] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    return f"byte {at} of {path.name}"


def _byte_of_evidence(trial: Trial, chance: random.Random) -> str:
    files = sorted(item for item in trial.kit.rglob("*") if item.is_file())
    judged = {item["path"] for item in trial.predicate["evidence"]}
    path = chance.choice(
        [file for file in files if str(file.relative_to(trial.kit)) in judged]
    )
    before = path.read_bytes()
    content = bytearray(before)
    at = chance.randrange(len(content))
    content[at] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    code = trial.verify()
    path.write_bytes(before)
    assert code in {1, 2}, f"byte {at} of {path}"
    # What is looked at next must be rejected as well.
    return _byte_of_payload(trial, chance)


def _field(trial: Trial, chance: random.Random) -> str:
    """Return a field of the predicate, under the old signature."""
    envelope = json.loads(trial.certificate.read_text("utf-8"))
    payload = read_envelope(trial.certificate.read_bytes()).payload
    statement = json.loads(payload)
    result = _change_one(statement, chance)
    changed = json.dumps(
        statement, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    envelope["payload"] = b64encode(changed.encode()).decode()
    text = json.dumps(envelope, sort_keys=True, separators=(",", ":")) + "\n"
    trial.certificate.write_text(text, "utf-8")
    return result


def _change_one(found: Any, chance: random.Random) -> str:  # noqa: ANN401 - JSON
    """Change one leaf to another value of its kind; returns its path."""
    leaves = [*_leaves(found, ())]
    path = chance.choice(leaves)
    for key in path[:-1]:
        found = found[key]
    value = found[path[-1]]
    found[path[-1]] = (
        not value
        if isinstance(value, bool)
        else value + 1
        if isinstance(value, int | float)
        else "changed"
    )
    return ".".join(map(str, path))


def _leaves(found: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    if isinstance(found, dict | list):
        pairs = found.items() if isinstance(found, dict) else enumerate(found)
        for key, value in pairs:
            yield from _leaves(value, (*path, key))
    else:
        yield path


_CHANGED: dict[str, Callable[[Trial, random.Random], str]] = {
    "payload": _byte_of_payload,
    "signature": _byte_of_signature,
    "evidence": _byte_of_evidence,
    "field": _field,
}


@pytest.mark.parametrize(
    "part", ["tracks", "coverage", "clauses", "measurements", "specimens", "type"]
)
def test_who_holds_the_key_cannot_sign_another_verdict(
    part: str, trial: Trial, capsys: Capture
) -> None:
    """The signature fits then; the evidence says otherwise."""
    chance = random.Random(part)  # noqa: S311 - the same in each run
    predicate = trial.predicate
    for _ in range(4):
        changed = json.loads(json.dumps(predicate))
        result = _change_one(changed[part], chance)
        trial.sign(changed)
        assert trial.verify() in {1, 2, 3}, result
        capsys.readouterr()


def test_a_level_that_does_not_follow_is_found_without_evidence(
    trial: Trial, capsys: Capture
) -> None:
    changed = trial.predicate
    row = next(
        clause for clause in changed["clauses"] if clause["clause"] == "TOPO-003"
    )
    row["judgements"][0] |= {"outcome": "fail", "level": "error"}
    trial.sign(changed)
    assert trial.verify(with_evidence=False) == 1
    result = _joined(capsys)
    assert "TOPO-003 is pass; its judgements make it fail" in result
    row["outcome"] = "fail"
    trial.sign(changed)
    assert trial.verify(with_evidence=False) == 1
    assert "track comm-topology has L3; its clauses give L1" in _joined(capsys)


def test_a_must_that_was_left_out_is_found(trial: Trial, capsys: Capture) -> None:
    changed = trial.predicate
    changed["clauses"] = [o for o in changed["clauses"] if o["clause"] != "HW-002"]
    trial.sign(changed)
    assert trial.verify(with_evidence=False) == 1
    assert "musts of the edition are left out: HW-002" in _joined(capsys)


def test_evidence_of_another_machine_is_found(trial: Trial, capsys: Capture) -> None:
    nodes = trial.kit / "nodes"
    (nodes / "node0001.json").write_bytes((nodes / "node0002.json").read_bytes())
    assert trial.verify() == 1
    assert "nodes/node0001.json was changed" in _joined(capsys)
    (nodes / "node0001.json").unlink()
    assert trial.verify() == 1
    assert "nodes/node0001.json is missing" in _joined(capsys)


def test_evidence_that_nobody_judged_is_found(trial: Trial, capsys: Capture) -> None:
    nodes = trial.kit / "nodes"
    (nodes / "more.json").write_bytes((nodes / "node0001.json").read_bytes())
    assert trial.verify() == 1
    assert "nodes/more.json was not judged" in _joined(capsys)


def test_another_key_did_not_sign_it(trial: Trial, capsys: Capture) -> None:
    key = str(trial.folder / "other.pub.pem")
    assert main(["verify", str(trial.certificate), "--key", key]) == 2
    result = _joined(capsys)
    assert KEY.public.key_id[:16] in result
    assert OTHER.public.key_id[:16] in result


@pytest.mark.parametrize(
    ("day", "code", "result"),
    [
        ("2027-02-19", 0, ""),
        ("2027-02-21", 3, "expired on 2027-02-20T06:00:00Z, 0 days ago"),
        ("2026-11-21", 3, "not valid before 2026-11-22T06:00:00Z"),
    ],
)
def test_dates_are_looked_at(
    day: str, code: int, result: str, trial: Trial, capsys: Capture
) -> None:
    assert trial.verify("--now", day, with_evidence=False) == code
    assert result in _joined(capsys)


def test_an_edition_that_is_not_ours_is_open(trial: Trial, capsys: Capture) -> None:
    changed = trial.predicate
    changed["edition"]["sha256"] = "0" * 64
    trial.sign(changed)
    assert trial.verify() == 3
    assert "edition 1.0 of the certificate is 0000000000000000" in _joined(capsys)


def test_a_newer_certificate_is_told(trial: Trial, capsys: Capture) -> None:
    changed = trial.predicate
    changed["schema"] = "speccheck-certificate/2"
    trial.sign(changed)
    assert trial.verify() == 2
    assert "speccheck-certificate/2: of another speccheck" in _joined(capsys)


def test_a_field_that_nobody_knows_is_refused(trial: Trial, capsys: Capture) -> None:
    changed = trial.predicate
    changed["revoked"] = True
    trial.sign(changed)
    assert trial.verify() == 2
    assert "is no speccheck-certificate/1: revoked" in _joined(capsys)


def test_a_form_that_is_not_canonical_is_refused(trial: Trial, capsys: Capture) -> None:
    envelope = json.loads(trial.certificate.read_text("utf-8"))
    trial.certificate.write_text(json.dumps(envelope) + "\n", "utf-8")
    assert trial.verify() == 2
    assert "canonical" in _joined(capsys)


def test_synthetic_is_no_proof_unless_asked_for(trial: Trial, capsys: Capture) -> None:
    key = str(trial.folder / "key.pub.pem")
    words = ["verify", str(trial.certificate), "--key", key, "--quiet"]
    assert main([*words, "--now", NOW.isoformat()]) == 3
    assert "were made up by speccheck simulate" in _joined(capsys)


def test_a_machine_of_the_type_is_known(trial: Trial, capsys: Capture) -> None:
    node = trial.kit / "nodes" / "node0002.json"
    assert trial.verify("--node", str(node), with_evidence=False) == 0
    capsys.readouterr()
    other = trial.folder / "other.json"
    text = node.read_text("utf-8")
    other.write_text(text.replace("NVIDIA H100 80GB HBM3", "NVIDIA H200"), "utf-8")
    assert trial.verify("--node", str(other), with_evidence=False) == 1
    assert "gpus.name is NVIDIA H200, certified is NVIDIA H100" in _joined(capsys)


_OWN = """\
schema: speccheck-tailoring/1
tailoring:
  - clause: CKPT-001
    number: max_unsaved
    value: {hours}
    unit: h
    reason: the night queue is cheap
    owner: training@example.com
    expires: 2027-01-31
"""


def test_own_numbers_stand_in_it(trial: Trial, capsys: Capture) -> None:
    own = trial.kit / "own.yaml"
    own.write_text(_OWN.format(hours=0.5), "utf-8")
    assert trial.certify("--tailor", str(own)) == 0
    (row,) = trial.predicate["edition"]["tailoring"]
    assert (row["clause"], row["own_value"], row["edition_value"]) == (
        "CKPT-001",
        0.5,
        1,
    )
    assert trial.verify() == 0
    own.write_text(_OWN.format(hours=0.25), "utf-8")
    capsys.readouterr()
    assert trial.verify() == 1
    assert "comes out otherwise" in _joined(capsys)


def test_what_holds_by_an_own_number_alone_does_not_hold(
    trial: Trial, capsys: Capture
) -> None:
    own = trial.kit / "own.yaml"
    own.write_text(_OWN.format(hours=12), "utf-8")
    trial.rewrite(
        "job/config.yaml",
        lambda text: text.replace("checkpoint:\n  enabled: true", _UNSAVED),
    )
    assert trial.certify("--tailor", str(own)) == 1
    assert "no L1: CKPT-001: " in _joined(capsys)


_UNSAVED = "checkpoint:\n  enabled: false"
_ALONE = """
import socket, sys

def refuse(*_: object, **__: object) -> None:
    raise AssertionError("network")

socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from speccheck.validator.cli.main import main

code = main(sys.argv[1:])
assert "torch" not in sys.modules
assert "pynvml" not in sys.modules
sys.exit(code)
"""


def test_it_takes_neither_a_network_nor_torch(trial: Trial) -> None:
    key = str(trial.folder / "key.pub.pem")
    words = ["verify", str(trial.certificate), "--key", key, "--synthetic"]
    words += ["--evidence", str(trial.kit), "--now", NOW.isoformat(), "--quiet"]
    ended = subprocess.run(
        [sys.executable, "-c", _ALONE, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout.split()) == (0, ["verified", "exit", "0"]), (
        ended.stderr
    )


def test_others_verify_and_read_it(trial: Trial) -> None:
    content = trial.certificate.read_bytes()
    their_envelope(content).verify([their_key_of(KEY)], 1)
    statement = in_toto_statement(read_envelope(content).payload)
    assert statement.subject[0].name == "azure-nd96isr-h100-v5"


def test_derived_statements_are_standard_ones(trial: Trial) -> None:
    short = trial.folder / "short.json"
    assert trial.certify("--derive", f"test-result={short}") == 0
    result = in_toto_test_result(read_envelope(short.read_bytes()).payload)
    # What is synthetic must not look like a pass to whoever reads this alone.
    assert result.result == "WARNED"
    assert "TOPO-003" in result.passed_tests


def _joined(capsys: Capture) -> str:
    found = capsys.readouterr()
    return " ".join((found.out + found.err).split())
