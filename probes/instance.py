"""Reads the type of a rented machine: from firmware and files, or from its service.

The firmware tells it at Amazon only. The metadata service is asked only when the user
wants it (`--imds`): a request leaves the machine, if only to the next one.
"""

import json
import re
import time
from collections.abc import Callable, Mapping

from speccheck.probes.host import DMI
from speccheck.probes.raw_value import Absence, Sheet
from speccheck.probes.root import Root
from speccheck.validator.evidence.record import Record

KINDS = ("host",)
SERVICE = "169.254.169.254"
_TYPE = re.compile(r"[A-Za-z0-9][\w.\-]{1,79}")
_AMAZON = re.compile(r"[a-z0-9\-]+\.(metal|\d*[a-z]+)[\w\-]*")
_CLOUD_FILE = "/run/cloud-init/instance-data.json"
_PATIENCE_SECONDS = 0.5
_TOTAL_SECONDS = 1.5
_MOST_BYTES = 1024
_OK = 200
Ask = Callable[[str, str, dict[str, str]], str | None]


class Cloud(Record):
    """Who makes such firmware, and how its service is asked for the type."""

    vendor: str
    asks: Callable[[Ask], str | None]


def probe(root: Root, sheet: Sheet, service: str = "") -> None:
    """Put down the type; service: host and port to ask, or nothing."""
    result, source = _by_files(root)
    if service and root.is_live:
        sheet.doing(f"a request to {service}")
        outcome = ask_service(root.line(f"{DMI}/sys_vendor"), service)
        # The service knows best; what it does not answer, files may have told.
        if not isinstance(outcome, Absence) or isinstance(result, Absence):
            result, source = outcome, f"metadata service {service}"
    sheet.put("host", "instance_type", result, source)


def _by_files(root: Root) -> tuple[str | Absence, str]:
    source = f"{DMI}/product_name"
    product = root.line(source)
    vendor = root.line(f"{DMI}/sys_vendor")
    if vendor == "Amazon EC2" and _AMAZON.fullmatch(str(product)):
        return product, source
    text = root.text(_CLOUD_FILE)
    if not isinstance(text, Absence):
        result = _by_cloud_init(text)
        if result is not None:
            return result, _CLOUD_FILE
    if isinstance(product, Absence):
        return product, source
    message = "the firmware does not tell it; --imds asks the metadata service"
    return Absence("absent", source, message), source


def _by_cloud_init(text: str) -> str | None:
    """Return what cloud-init kept of the service's answer at the machine's start."""
    try:
        result: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for path in (
        ("ds", "meta_data", "instance-type"),  # Amazon
        ("ds", "meta_data", "imds", "compute", "vmSize"),  # Azure
    ):
        outcome: object = result
        for step in path:
            outcome = outcome.get(step) if isinstance(outcome, Mapping) else None
        if isinstance(outcome, str) and _TYPE.fullmatch(outcome):
            return outcome
    return None


def _amazon(ask: Ask) -> str | None:
    seconds = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    token = ask("PUT", "/latest/api/token", seconds)
    if token is None:
        return None
    headers = {"X-aws-ec2-metadata-token": token}
    return ask("GET", "/latest/meta-data/instance-type", headers)


def _azure(ask: Ask) -> str | None:
    path = "/metadata/instance/compute/vmSize?api-version=2021-02-01&format=text"
    return ask("GET", path, {"Metadata": "true"})


def _google(ask: Ask) -> str | None:
    """Return the last step of `projects/1/machineTypes/a3-highgpu-8g`."""
    path = "/computeMetadata/v1/instance/machine-type"
    text = ask("GET", path, {"Metadata-Flavor": "Google"})
    return None if text is None else text.rpartition("/")[2]


def _oracle(ask: Ask) -> str | None:
    headers = {"Authorization": "Bearer Oracle"}
    return ask("GET", "/opc/v2/instance/shape", headers)


# Documentation of each provider's instance metadata service.
CLOUDS = (
    Cloud("Amazon EC2", _amazon),
    Cloud("Microsoft Corporation", _azure),
    Cloud("Google", _google),
    Cloud("OracleCloud.com", _oracle),
)


def ask_service(vendor: str | Absence, service: str) -> str | Absence:
    """Return the type by the service of this cloud; of any, where it is not known."""
    from http.client import HTTPConnection, HTTPException  # noqa: PLC0415 - if asked

    ends = time.monotonic() + _TOTAL_SECONDS

    def ask(method: str, path: str, headers: dict[str, str]) -> str | None:
        left = min(_PATIENCE_SECONDS, ends - time.monotonic())
        if left <= 0:
            raise TimeoutError
        connection = HTTPConnection(service, timeout=left)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            content = answer.read(_MOST_BYTES)
        finally:
            connection.close()
        if answer.status != _OK:
            return None
        text = content.decode("latin-1").strip()
        return text if text.isprintable() else None

    known = [cloud for cloud in CLOUDS if cloud.vendor == vendor]
    source = f"metadata service {service}"
    try:
        for cloud in known or CLOUDS:
            result = cloud.asks(ask)
            if result is not None and _TYPE.fullmatch(result):
                return result
    except (OSError, HTTPException) as error:
        message = f"{type(error).__name__}: {error}".strip(": ")
        return Absence("failed", source, message)
    return Absence("absent", source, "no answer names a type")
