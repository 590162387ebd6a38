"""Compose files: services that train."""

import pytest

from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.formats.compose import READER, detect

SERVICES = """\
services:
  metrics:
    image: prom/prometheus:v3.0.0
  train:
    image: nvcr.io/nvidia/pytorch:25.04-py3
    command: torchrun --standalone --nproc_per_node=8 train.py
    environment:
      NCCL_DEBUG: INFO
      NCCL_IB_HCA: ${HCA}
    env_file: [job.env]
    shm_size: 16gb
    ulimits:
      memlock: {soft: -1, hard: -1}
    network_mode: host
    cap_add: [IPC_LOCK]
    devices: [/dev/infiniband]
    volumes:
      - ./data:/data
      - {type: bind, source: /scratch, target: /scratch}
    deploy:
      resources:
        reservations:
          devices:
            - {driver: nvidia, count: 8, capabilities: [gpu]}
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "compose.yaml")


def test_the_container_of_a_service() -> None:
    service = read(SERVICES)
    assert service.values("stated", "derived") == {
        "cluster.gpus_per_node": 8,
        "container.accelerators": "8",
        "container.capabilities": ("IPC_LOCK",),
        "container.engine": "compose",
        "container.fabric_device": "/dev/infiniband",
        "container.image": "nvcr.io/nvidia/pytorch:25.04-py3",
        "container.locked_memory_bytes": -1,
        "container.may_lock_memory": True,
        "container.mounts": ("/data", "/scratch"),
        "container.network": "host",
        "container.shared_memory_bytes": 16 * 2**30,
        "container.shared_memory_volume": "memory",
        "container.variables": ("NCCL_DEBUG", "NCCL_IB_HCA"),
        "run.in_container": True,
    }
    assert service.line("container.shared_memory_bytes") == 11


def test_the_script_the_variables_and_the_file_of_more() -> None:
    reading = read(SERVICES).reading
    assert [script.text.strip() for script in reading.scripts] == [
        "torchrun --standalone --nproc_per_node=8 train.py"
    ]
    values = {variable.name: variable.value for variable in reading.variables}
    assert values == {"NCCL_DEBUG": "INFO", "NCCL_IB_HCA": None}
    assert [opening.target for opening in reading.openings] == ["job.env"]


def test_a_service_that_extends_another_may_have_more() -> None:
    text = (
        "services:\n  train:\n    extends: {file: base.yaml, service: gpu}\n"
        "    image: image:1\n    command: [python, train.py]\n"
    )
    service = read(text)
    assert "container.shared_memory_volume" not in service.values("stated", "derived")
    assert [opening.what for opening in service.reading.openings] == [
        "the service that another one extends was not read"
    ]


@pytest.mark.parametrize(
    ("command", "confidence"),
    [
        ("torchrun train.py", 0.9),
        ("python finetune.py --lr 1e-4", 0.7),
        ("bash -c 'cd /work && accelerate launch train.py'", 0.9),
        ("python tools/run_pretraining.py", 0.7),
        ("python main.py", 0.0),
        ("vllm serve model", 0.0),
        ("python -m http.server", 0.0),
        ("sleep infinity", 0.0),
    ],
)
def test_only_services_that_train_are_recognised(
    command: str, confidence: float
) -> None:
    text = f"services:\n  a:\n    image: image:1\n    command: {command}\n"
    assert detect(document_of(text, "compose.yaml")) == confidence
