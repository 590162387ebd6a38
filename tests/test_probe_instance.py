"""The type of a rented machine: from firmware, files, and a service that is asked."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from machine_files import DMI, build
from probed import content
from speccheck.probes.collect import snapshot
from speccheck.probes.instance import ask_service
from speccheck.probes.raw_value import Absence

TOKEN = "token-of-a-minute"  # noqa: S105 - nobody's
ANSWERS = {
    ("GET", "/latest/meta-data/instance-type", "X-aws-ec2-metadata-token", TOKEN): (
        "p5.48xlarge"
    ),
    ("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "60"): TOKEN,
    (
        "GET",
        "/metadata/instance/compute/vmSize?api-version=2021-02-01&format=text",
        "Metadata",
        "true",
    ): "Standard_ND96isr_H100_v5",
    ("GET", "/computeMetadata/v1/instance/machine-type", "Metadata-Flavor", "Google"): (
        "projects/1/machineTypes/a3-highgpu-8g"
    ),
    ("GET", "/opc/v2/instance/shape", "Authorization", "Bearer Oracle"): (
        "BM.GPU.H100.8"
    ),
}


class _Service(BaseHTTPRequestHandler):
    """Answers as the service of one cloud does, and 404 to all else."""

    cloud = ""

    def _answer(self) -> None:
        for (method, path, header, value), text in ANSWERS.items():
            is_asked = (self.command, self.path) == (method, path)
            if is_asked and path.startswith(self.cloud):
                is_allowed = self.headers.get(header) == value
                self.send_response(200 if is_allowed else 401)
                self.end_headers()
                self.wfile.write(text.encode() if is_allowed else b"no")
                return
        self.send_response(404)
        self.end_headers()

    do_GET = do_PUT = _answer  # noqa: N815 - names of the library

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Iterator[str]:
    handler = type("_Cloud", (_Service,), {"cloud": request.param})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("service", "vendor", "expected"),
    [
        ("/latest", "Amazon EC2", "p5.48xlarge"),
        ("/metadata", "Microsoft Corporation", "Standard_ND96isr_H100_v5"),
        ("/computeMetadata", "Google", "a3-highgpu-8g"),
        ("/opc", "QEMU", "BM.GPU.H100.8"),
        ("/computeMetadata", "", "a3-highgpu-8g"),
    ],
    indirect=["service"],
)
def test_service_of_each_cloud(service: str, vendor: str, expected: str) -> None:
    assert ask_service(vendor, service) == expected


@pytest.mark.parametrize("service", ["/opc"], indirect=True)
def test_only_the_service_of_a_known_cloud_is_asked(service: str) -> None:
    found = ask_service("Amazon EC2", service)
    assert isinstance(found, Absence)
    assert found.status == "absent"


@pytest.mark.parametrize("service", ["/none"], indirect=True)
def test_service_that_knows_nothing(service: str) -> None:
    found = ask_service(Absence("absent", "dmi"), service)
    assert isinstance(found, Absence)
    assert found.message == "no answer names a type"


def test_no_service(unused_port: int) -> None:
    found = ask_service("Google", f"127.0.0.1:{unused_port}")
    assert isinstance(found, Absence)
    assert found.status == "failed"


@pytest.fixture
def unused_port() -> int:
    """Return a port that was open a moment ago."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Service) as server:
        return server.server_port


@pytest.mark.parametrize("service", ["/opc"], indirect=True)
def test_snapshot_asks_only_when_it_is_told_to(service: str) -> None:
    asked = snapshot(probes=("instance",), arguments={"instance": (service,)})
    assert asked["host"]["instance_type"] == "BM.GPU.H100.8"
    assert asked["sources"]["host.instance_type"] == f"metadata service {service}"
    silent = snapshot(probes=("instance",))
    assert "service" not in silent["sources"]["host.instance_type"]


def found_in(folder: Path, files: dict[str, str]) -> object:
    machine = build(folder, {**files})
    return content(machine, "instance")["host"]["instance_type"]


def test_firmware_of_amazon(tmp_path: Path) -> None:
    files = {f"{DMI}/sys_vendor": "Amazon EC2\n", f"{DMI}/product_name": "p4d.24xlarge"}
    assert found_in(tmp_path, files) == "p4d.24xlarge"


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ({"ds": {"meta_data": {"instance-type": "p5en.48xlarge"}}}, "p5en.48xlarge"),
        (
            {"ds": {"meta_data": {"imds": {"compute": {"vmSize": "Standard_X"}}}}},
            "Standard_X",
        ),
    ],
)
def test_file_of_cloud_init(kept: object, expected: str, tmp_path: Path) -> None:
    path = "/run/cloud-init/instance-data.json"
    assert found_in(tmp_path, {path: json.dumps(kept)}) == expected


@pytest.mark.parametrize("text", ["{", '{"ds": []}', "[" * 100_000, '{"ds": {"a": 1}}'])
def test_firmware_that_does_not_tell(text: str, tmp_path: Path) -> None:
    files = {
        f"{DMI}/sys_vendor": "Microsoft Corporation\n",
        f"{DMI}/product_name": "Virtual Machine\n",
        "/run/cloud-init/instance-data.json": text,
    }
    found = found_in(tmp_path, files)
    assert isinstance(found, dict)
    assert "--imds" in found["message"]
