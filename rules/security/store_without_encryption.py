"""Data or checkpoints fetched or stored over plain http or ftp.

Why it hurts: anyone on the path can read the weights and the data, or replace them
with others.

What passes: https, s3, gs, az and hf addresses, whose clients use TLS.

Where it does not apply: no address is stated; addresses of the same machine or of
private ranges, which do not cross a trust boundary.

Source: RFC 1918, RFC 6598 and RFC 6761 for the private ranges and names.

Bad::

    data_files: http://mirror.example.org/corpus.jsonl

Good::

    data_files: https://mirror.example.org/corpus.jsonl
"""

from collections.abc import Iterator

from speccheck.validator.evidence.addresses import is_private_host, store_address
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Place
from speccheck.validator.rule import Verdicts, fail, passed, rule

_PLAIN = ("http", "ftp")
# A proxy is asked over http for what is then encrypted from end to end.
_PROXY = "_proxy"


@rule(clause="SEC-001")
def store_without_encryption(stated: StatedKeys, environment: Environment) -> Verdicts:
    """Judge the scheme of each address that a file states."""
    text_lists = list(_addresses(stated, environment))
    if not text_lists:
        return
    plain: dict[tuple[str, str, str], list[Place]] = {}
    for name, scheme, host, place in text_lists:
        if scheme in _PLAIN and not is_private_host(host):
            plain.setdefault((name, scheme, host), []).append(place)
    for (name, scheme, host), places in plain.items():
        yield fail(
            f"{name} is reached over plain {scheme}"
            if len(places) == 1
            else f"{name}: {len(places):,} addresses at {host} are reached over plain "
            f"{scheme}",
            at=places,
            measured=scheme,
            required="https, or another encrypted transport",
            cost="anyone on the path can read it, or replace it",
            remedy=f"Use {scheme}s or an encrypted store.",
        )
    if not plain:
        yield passed(at=[place for _, _, _, place in text_lists])


def _addresses(
    stated: StatedKeys, environment: Environment
) -> Iterator[tuple[str, str, str, Place]]:
    for file in stated.files:
        for key, text in file.texts:
            if texts := store_address(text):
                yield str(key.path[-1]), *texts, key.place
    for variable in environment.variables:
        if not variable.value or variable.name.lower().endswith(_PROXY):
            continue
        if texts := store_address(variable.value):
            yield variable.name, *texts, variable.place
