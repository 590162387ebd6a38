"""A certificate in the words of others: in-toto test-result v0.1 and SVR v0.2.

Both are thinner than a certificate, and their consumers ask them one thing: is this
name there? So what must not count as a pass has another name or another list: what was
waived, what nobody saw, and synthetic evidence. A field beside could be passed over,
which the parsing rules of in-toto even demand.
"""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from speccheck.validator.certification.results import LEVELS
from speccheck.validator.signing.statement import Statement

TEST_RESULT_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
SVR_TYPE = "https://in-toto.io/attestation/svr/v0.2"
_MEDIA_TYPE = "application/x.dsse+json"
_SYNTHETIC = "SYNTHETIC_EVIDENCE"


def derived(kind: str, certificate: Statement, certificate_sha256: str) -> Statement:
    """The statement of that kind, of the same subject; certificate_sha256: its file's.

    Raises KeyError for a kind that is none of KINDS.
    """
    predicate_type, write = KINDS[kind]
    # The shape is that of certificate_model.py, whose pydantic nothing here needs.
    predicate: Any = certificate.predicate
    made = write(predicate, certificate_sha256)
    return certificate._replace(predicate_type=predicate_type, predicate=made)


def _test_result(certificate: Any, sha256: str) -> dict[str, object]:  # noqa: ANN401
    """One test a clause that applies; PASSED only where nothing is left to say.

    A waived must is a failed test: the format has no word for a waiver. What is unknown
    was not run, and stands in no list.
    """
    clauses = certificate["clauses"]
    passed = [one["clause"] for one in clauses if one["outcome"] == "pass"]
    bad = [one for one in clauses if one["outcome"] in {"fail", "waived", "error"}]
    failed = [one["clause"] for one in bad if one["level"] == "must"]
    warned = [one["clause"] for one in bad if one["level"] != "must"]
    if certificate["synthetic"] is not None:
        warned.append(_SYNTHETIC)
    is_whole = not any(
        one["outcome"] == "unknown" and one["level"] == "must" for one in clauses
    ) and all(one["level"] == one["highest"] for one in certificate["tracks"])
    good = "PASSED" if is_whole and not warned else "WARNED"
    return {
        "result": "FAILED" if failed else good,
        "configuration": [
            *_policies(certificate),
            {
                "name": "rules of speccheck",
                "digest": {"sha256": certificate["verifier"]["tool"]["rules_sha256"]},
                "annotations": {"version": certificate["verifier"]["tool"]["version"]},
            },
            _certificate(certificate, sha256),
        ],
        "passedTests": passed,
        "warnedTests": warned,
        "failedTests": failed,
    }


def _svr(certificate: Any, sha256: str) -> dict[str, object]:  # noqa: ANN401
    """A property for each level that a track has, and for each below it."""
    return {
        "verifier": {
            "id": _verifier(certificate["verifier"]),
            "policies": _policies(certificate),
        },
        "timeCreated": certificate["validity"]["created"],
        "properties": list(_properties(certificate)),
        "speccheckCertificate": _certificate(certificate, sha256),
    }


def _properties(certificate: Any) -> Iterator[str]:  # noqa: ANN401
    """Such as SPECCHECK_FABRIC_L2."""
    begin = "SPECCHECK"
    if certificate["synthetic"] is not None:
        begin += f"_{_SYNTHETIC}"
    waived = [one for one in certificate["clauses"] if one["outcome"] == "waived"]
    for track in certificate["tracks"]:
        for level in LEVELS:
            if track["level"] is None or level > track["level"]:
                continue
            is_waived = any(
                track["track"] in one["tracks"] and one["certification_level"] <= level
                for one in waived
            )
            name = track["track"].replace("-", "_").upper()
            yield f"{begin}_{name}_{level}{'_WITH_WAIVERS' if is_waived else ''}"


def _policies(certificate: Any) -> list[dict[str, object]]:  # noqa: ANN401
    """What was judged against: the edition, by the profiles, with own numbers."""
    edition = certificate["edition"]
    annotations: dict[str, object] = {
        "profiles": certificate["profiles"],
        "stage": edition["stage"],
    }
    if edition["tailoring"]:
        annotations["tailored"] = [
            f"{one['clause']}.{one['number']}" for one in edition["tailoring"]
        ]
    return [
        {
            "name": f"speccheck edition {edition['id']}",
            "uri": f"urn:speccheck:edition:{quote(edition['id'])}",
            "digest": {"sha256": edition["sha256"]},
            "annotations": annotations,
        }
    ]


def _certificate(certificate: Any, sha256: str) -> dict[str, object]:  # noqa: ANN401
    """The certificate that says more, and how long it is valid."""
    validity = certificate["validity"]
    return {
        "name": f"certificate {certificate['run_id']}",
        "digest": {"sha256": sha256},
        "mediaType": _MEDIA_TYPE,
        "annotations": {
            "notAfter": validity["not_after"],
            "notBefore": validity["not_before"],
        },
    }


def _verifier(verifier: Any) -> str:  # noqa: ANN401
    """A URI, as SVR asks for: the verifier's own, or one made of its name and key."""
    name, key_id = verifier["id"], verifier["key_id"]
    if ":" in name and not any(one.isspace() for one in name):
        return str(name)
    return f"urn:speccheck:verifier:{quote(name, safe='')}:{key_id}"


KINDS: dict[str, tuple[str, Callable[[Any, str], dict[str, object]]]] = {
    "test-result": (TEST_RESULT_TYPE, _test_result),
    "svr": (SVR_TYPE, _svr),
}
