"""A certificate told as test-result v0.1 and as SVR v0.2: never better than it is."""

import json
from typing import Any

import pytest

from certificate_sample import certificate, clause, predicate, track
from other_verifiers import in_toto_statement, in_toto_test_result
from signed_files import KEY, TYPE_SHA256
from speccheck.validator.certification.certificate_model import Certificate
from speccheck.validator.certification.statement import KINDS, derived
from speccheck.validator.signing.envelope import (
    StatementError,
    canonical,
    statement_bytes,
)
from speccheck.validator.signing.signers import signed
from speccheck.validator.signing.verified import verified

FILE_SHA256 = "3c" * 32
SYNTHETIC = {"by": "speccheck simulate", "files": 3, "note": "no such machine"}
WAIVED = clause("FAB-002", "fabric", outcome="waived", certification_level="L2")


def test_the_sample_is_a_certificate() -> None:
    Certificate.model_validate(predicate())


def told(kind: str, **changes: object) -> Any:  # noqa: ANN401 - parsed JSON
    statement = derived(kind, certificate(**changes), FILE_SHA256)
    return json.loads(statement_bytes(statement))


def test_a_test_result_names_what_was_tested_by_what() -> None:
    found = told("test-result")
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    assert found["subject"] == [
        {"name": "contoso-gx8-h100", "digest": {"sha256": TYPE_SHA256}}
    ]
    assert found["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert found["predicate"] == {
        "result": "PASSED",
        "configuration": [
            {
                "name": "speccheck edition 1.0",
                "uri": "urn:speccheck:edition:1.0",
                "digest": {"sha256": "2b" * 32},
                "annotations": {
                    "profiles": ["base", "instance/contoso-gx8-h100", "use/certify"],
                    "stage": "released",
                },
            },
            {
                "name": "rules of speccheck",
                "digest": {"sha256": "1a" * 32},
                "annotations": {"version": "0.1.0"},
            },
            {
                "name": "certificate 20261122T101500Z-contoso",
                "digest": {"sha256": FILE_SHA256},
                "mediaType": "application/x.dsse+json",
                "annotations": {
                    "notBefore": "2026-11-22T10:15:00Z",
                    "notAfter": "2027-02-20T10:15:00Z",
                },
            },
        ],
        "passedTests": ["COMM-001", "FAB-001"],
        "warnedTests": [],
        "failedTests": [],
    }


@pytest.mark.parametrize(
    ("outcome", "level", "result", "of_list"),
    [
        ("pass", "must", "PASSED", "passedTests"),
        ("not_applicable", "must", "PASSED", None),
        ("unknown", "should", "PASSED", None),
        ("unknown", "must", "WARNED", None),
        ("fail", "may", "WARNED", "warnedTests"),
        ("fail", "should", "WARNED", "warnedTests"),
        ("waived", "should", "WARNED", "warnedTests"),
        ("error", "should", "WARNED", "warnedTests"),
        ("waived", "must", "FAILED", "failedTests"),
        ("fail", "must", "FAILED", "failedTests"),
        ("error", "must", "FAILED", "failedTests"),
    ],
)
def test_a_clause_counts_as_what_it_is(
    outcome: str, level: str, result: str, of_list: str | None
) -> None:
    item = clause("SEC-001", "security-energy", outcome=outcome, level=level)
    found = told("test-result", clauses=[clause("COMM-001", "x"), item])["predicate"]
    lists = ("passedTests", "warnedTests", "failedTests")
    assert found["result"] == result
    assert [name for name in lists if "SEC-001" in found[name]] == (
        [of_list] if of_list else []
    )


def test_a_denied_track_is_no_pass() -> None:
    low = [track("fabric", "L1"), track("comm-topology", "L1", "L1")]
    assert told("test-result", tracks=low)["predicate"]["result"] == "WARNED"
    tracks = [track("fabric", "L2"), track("observability", None)]
    assert told("test-result", tracks=tracks)["predicate"]["result"] == "WARNED"
    assert told("svr", tracks=tracks)["predicate"]["properties"] == [
        "SPECCHECK_FABRIC_L1",
        "SPECCHECK_FABRIC_L2",
    ]


def test_in_toto_reads_the_test_result() -> None:
    statement = derived("test-result", certificate(), FILE_SHA256)
    result = in_toto_test_result(statement_bytes(statement))
    assert result.result == "PASSED"
    assert list(result.passed_tests) == ["COMM-001", "FAB-001"]
    assert len(result.configuration) == 3


def test_an_svr_lists_each_level_that_was_reached() -> None:
    found = told("svr")
    in_toto_statement(canonical(found))
    assert found["predicateType"] == "https://in-toto.io/attestation/svr/v0.2"
    predicate = found["predicate"]
    assert predicate["timeCreated"] == "2026-11-22T10:15:00Z"
    assert predicate["verifier"]["id"] == (
        f"urn:speccheck:verifier:Contoso%20platform%20team:{KEY.public.key_id}"
    )
    assert [item["uri"] for item in predicate["verifier"]["policies"]] == [
        "urn:speccheck:edition:1.0"
    ]
    assert predicate["properties"] == [
        "SPECCHECK_FABRIC_L1",
        "SPECCHECK_FABRIC_L2",
        "SPECCHECK_COMM_TOPOLOGY_L1",
    ]
    assert predicate["speccheckCertificate"]["digest"] == {"sha256": FILE_SHA256}


def test_a_verifier_that_is_a_uri_stays_one() -> None:
    verifier = {**predicate()["verifier"], "id": "https://contoso.example/verifier/v1"}
    found = told("svr", verifier=verifier)["predicate"]["verifier"]["id"]
    assert found == "https://contoso.example/verifier/v1"


def test_a_waiver_has_a_name_that_nobody_takes_for_a_pass() -> None:
    found = told("svr", clauses=[*predicate()["clauses"], WAIVED])
    assert found["predicate"]["properties"] == [
        "SPECCHECK_FABRIC_L1",
        "SPECCHECK_FABRIC_L2_WITH_WAIVERS",
        "SPECCHECK_COMM_TOPOLOGY_L1",
    ]


def test_synthetic_evidence_never_passes() -> None:
    result = told("test-result", synthetic=SYNTHETIC)["predicate"]
    assert result["result"] == "WARNED"
    assert result["warnedTests"] == ["SYNTHETIC_EVIDENCE"]
    properties = told("svr", synthetic=SYNTHETIC)["predicate"]["properties"]
    assert properties == [
        "SPECCHECK_SYNTHETIC_EVIDENCE_FABRIC_L1",
        "SPECCHECK_SYNTHETIC_EVIDENCE_FABRIC_L2",
        "SPECCHECK_SYNTHETIC_EVIDENCE_COMM_TOPOLOGY_L1",
    ]


def test_own_numbers_are_named() -> None:
    own = {"clause": "FAB-001", "number": "floor", "edition_value": 0.9}
    edition = {**predicate()["edition"], "tailoring": [own]}
    found = told("svr", edition=edition)["predicate"]["verifier"]["policies"][0]
    assert found["annotations"]["tailored"] == ["FAB-001.floor"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_derived_statement_is_signed_as_a_certificate_is(kind: str) -> None:
    statement = derived(kind, certificate(), FILE_SHA256)
    content = signed(statement_bytes(statement), KEY)
    assert verified(content, [KEY.public], KINDS[kind][0]) == statement
    with pytest.raises(StatementError, match="must be urn:speccheck:certificate:v1"):
        verified(content, [KEY.public])
