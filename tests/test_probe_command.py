"""`speccheck probe`: what a user types, and what of the machine leaves it."""

import json
import random
import string
import time
from pathlib import Path
from typing import Any

import pytest

from nvml_stand_in import ROOT, without_library
from slow_cases import few
from speccheck.probes.specimens import (
    is_shown,
    without_credentials,
    without_specimens,
)
from speccheck.probes.tape import TAPE
from speccheck.validator.cli.main import main

UUID = "GPU-00000003-aaaa-bbbb-cccc-000000000003"
SERIAL = "1650423000003"


def probe(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["probe", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found: dict[str, Any] = json.loads(captured.out)
    return found


def test_without_nvml_it_says_what_is_absent_and_reads_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_library(monkeypatch, tmp_path)
    taken = probe(capsys)
    assert taken["gpus"]["status"] == "absent"
    assert taken["driver"]["management_library_status"] == 12
    assert taken["host"]["memory_total_bytes"] > 0
    assert taken["cut_short"] == {}


@pytest.mark.slow
def test_without_nvml_it_takes_less_than_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_library(monkeypatch, tmp_path)
    took: list[float] = []
    for _ in range(3):
        began = time.monotonic()
        probe(capsys)
        took.append(time.monotonic() - began)
    assert min(took) < 1


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_identifiers_are_digests_unless_they_are_to_be_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def uuid(*words: str) -> str:
        return str(probe(capsys, *words)["gpus"][3]["uuid"])

    assert uuid("--keep-identifiers") == UUID
    salted = uuid("--salt", "site")
    assert salted.startswith("hashed:")
    assert salted == uuid("--salt", "site")
    assert salted != uuid("--salt", "other")
    assert uuid() != uuid()
    monkeypatch.setenv("SPECCHECK_SALT", "site")
    assert uuid() == salted


@pytest.mark.usefixtures("stand_in")
def test_no_identifier_stands_in_snapshot_or_tape(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = json.dumps(probe(capsys, "--record", str(tmp_path / "tape")))
    tape = (tmp_path / "tape" / TAPE).read_text()
    for secret in (UUID, SERIAL):
        assert secret not in text
        assert secret not in tape


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in")
def test_a_tape_is_read_as_a_root(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("--keep-identifiers",)
    first = probe(capsys, "--record", str(tmp_path), *words)
    again = probe(capsys, "--sysroot", str(tmp_path), *words)
    assert again["gpus"] == first["gpus"]


def test_specimens_are_hidden_and_zeros_stay() -> None:
    found = without_specimens(
        {
            "gpus": [
                {"uuid": "GPU-1", "fabric_cluster": "0" * 32, "serial": {"status": "x"}}
            ],
            "host": {"name": "node-7"},
            "rdma_devices": {"status": "absent"},
        },
        b"salt",
    )
    assert found["gpus"][0]["uuid"].startswith("hashed:")
    assert found["gpus"][0]["fabric_cluster"] == "0" * 32
    assert found["gpus"][0]["serial"] == {"status": "x"}
    assert found["host"]["name"].startswith("hashed:")
    assert found["rdma_devices"] == {"status": "absent"}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["file"], "probe takes no file: file; see --out and --sysroot"),
        (["--sysroot", "/nowhere"], "--sysroot /nowhere: no such folder"),
        (["--budget", "0"], "--budget 0: must be seconds above zero, such as 10s"),
        (["--budget", "nan"], "--budget nan: must be seconds above zero, such as 10s"),
        (["--budget", "soon"], "--budget soon: must be seconds above zero, such as"),
        (["--buget", "1"], "no option --buget: did you mean --budget?"),
        (["--record", "/dev/null/x"], "--record /dev/null/x: Not a directory"),
        (["--record", "/dev/null"], "--record /dev/null: File exists"),
        (["--record", "a", "--sysroot", "."], "--record keeps a tape of this machine"),
        (["--out", "/nowhere/a.json"], "/nowhere/a.json"),
    ],
)
def test_a_wrong_command_line(
    words: list[str],
    problem: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / ".imports"))
    assert main(["probe", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("speccheck: ")
    assert problem in captured.err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--record DIR" in out
    assert "--keep-identifiers" in out


def test_an_unexpected_exception_is_our_bug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: object) -> None:
        message = "nobody expected this"
        raise RuntimeError(message)

    monkeypatch.setattr("speccheck.probes.collect.snapshot", broken)
    assert main(["probe"]) == 4
    assert "nobody expected this" in capsys.readouterr().err
    monkeypatch.setenv("SPECCHECK_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        main(["probe"])


SHOWN_PREFIXES = ("", "NCCL_", "UCX_", "FI_", "SLURM_", "OMPI_MCA_", "CUDA_")
SECRET_WORDS = (
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "JWT",
)
NAMES_OF_OTHERS = (
    "AWS_SECRET_ACCESS_KEY",
    "HF_TOKEN",
    "WANDB_API_KEY",
    "OPENAI_API_KEY",
    "GITHUB_TOKEN",
    "DATABASE_URL",
    "KUBECONFIG",
    "HTTP_PROXY",
    "SSH_AUTH_SOCK",
)


def secret_variables(seed: int) -> dict[str, str]:
    """Return variables that may hold a secret, with values of their own."""
    chance = random.Random(seed)  # noqa: S311 - to vary names, no key

    def word(length: int) -> str:
        return "".join(chance.choices(string.ascii_uppercase, k=length))

    names = [*NAMES_OF_OTHERS, *(word(8) for _ in range(20))]
    for secret in SECRET_WORDS:
        prefix = chance.choice(SHOWN_PREFIXES)
        names += [f"{prefix}{secret}", f"{prefix}{word(4)}_{secret}"]
        names.append(f"{prefix}{secret}_{word(3)}")
    return {name: f"s3cr3t{number}{word(12)}" for number, name in enumerate(names)}


@pytest.mark.parametrize("seed", few(range(5), range(1).__contains__))
def test_no_value_of_a_secret_variable_gets_into_a_snapshot(
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    without_library(monkeypatch, tmp_path)
    variables = secret_variables(seed)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    text = json.dumps(probe(capsys))
    assert [name for name, value in variables.items() if value in text] == []


@pytest.mark.parametrize("seed", range(20))
def test_no_name_of_a_secret_is_shown(seed: int) -> None:
    assert [name for name in secret_variables(seed) if is_shown(name)] == []


def test_a_credential_is_hidden_under_any_name() -> None:
    token = "hf_" + "AbCdEfGhIj" * 3
    found = without_credentials(
        {
            "variables": [
                {"name": "NCCL_SOCKET_IFNAME", "value": "eth0"},
                {"name": "NCCL_COMM_ID", "value": token},
            ],
            "kernel_events": [{"text": f"killed: run --key {token}", "count": 1}],
            "host": {"kernel_arguments": ["quiet", f"key={token}"], "sockets": 2},
            "gpus": {"status": "absent"},
        }
    )
    assert token not in json.dumps(found)
    assert found["variables"][0]["value"] == "eth0"
    assert found["variables"][1]["value"]["status"] == "absent"
    assert found["kernel_events"][0]["text"].startswith("killed: run --key hf_***")
    assert found["host"]["kernel_arguments"][0] == "quiet"
    assert found["host"]["sockets"] == 2


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_IB_PKEY",
        "OMPI_MCA_btl_tcp_if_include",
        "NCCL_ALGO",
        "UCX_NET_DEVICES",
        "SLURM_JOB_ID",
        "WORLD_SIZE",
    ],
)
def test_settings_of_communication_are_shown(name: str) -> None:
    assert is_shown(name)
