"""What the names of container images tell."""

import pytest

from speccheck.validator.sources.pinned_versions import versions_of_image

AMAZON = "763104351884.dkr.ecr.us-east-1.amazonaws.com"


@pytest.mark.parametrize(
    ("image", "versions"),
    [
        ("pytorch/pytorch:2.3.0-cuda12.1-cudnn8-devel", {"torch": "2.3.0"}),
        (
            "docker.io/pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime",
            {"torch": "2.13.0"},
        ),
        ("pytorch/pytorch:2.3.0@sha256:0123", {"torch": "2.3.0"}),
        ("mosaicml/llm-foundry:2.7.0_cu128-latest", {"torch": "2.7.0"}),
        ("winglian/axolotl:0.4.0", {"axolotl": "0.4.0"}),
        ("winglian/axolotl:main-20240610-py3.11-cu121-2.3.0", {"torch": "2.3.0"}),
        (
            "axolotlai/axolotl:0.9.2-py3.11-cu124-2.6.0",
            {"axolotl": "0.9.2", "torch": "2.6.0"},
        ),
        ("huggingface/transformers-pytorch-gpu:4.35.2", {"transformers": "4.35.2"}),
        (
            f"{AMAZON}/huggingface-pytorch-training:2.5.1-transformers4.49.0-gpu-py311",
            {"torch": "2.5.1", "transformers": "4.49.0"},
        ),
        (f"{AMAZON}/pytorch-training:2.3.0-gpu-py311-cu121", {"torch": "2.3.0"}),
        (
            "verlai/verl:base-verl0.5-cu126-cudnn9.8-torch2.7.0-fa2.7.4",
            {"torch": "2.7.0"},
        ),
        (
            "verlai/verl:app-verl0.5-transformers4.55.4-vllm0.10.0-mcore0.13.0-te2.2",
            {"transformers": "4.55.4", "megatron-core": "0.13.0"},
        ),
        ("hiyouga/verl:ngc-th2.6.0-cu126-vllm0.8.4", {"torch": "2.6.0"}),
        ("hiyouga/llamafactory:0.9.3", {"llamafactory": "0.9.3"}),
        ("nvcr.io/nvidia/nemo-rl:v0.3.0", {"nemo-rl": "0.3.0"}),
        ("registry:5000/team/train:pytorch-2.6.0-cu124", {"torch": "2.6.0"}),
        # A month, a release of their own, nothing at all
        ("nvcr.io/nvidia/nemo:24.05", {}),
        ("nvcr.io/nvidia/pytorch:24.05-py3", {}),
        ("registry:5000/team/train:torch24.05", {}),
        ("registry:5000/team/train:v1.2", {}),
        ("registry:5000/team/train", {}),
        ("pytorch/pytorch:latest", {}),
        ("pytorch/pytorch:${TAG}", {}),
        ("pytorch/pytorch", {}),
        ("${IMAGE}", {}),
        ("", {}),
    ],
)
def test_versions_of_image(image: str, versions: dict[str, str]) -> None:
    assert dict(versions_of_image(image)) == versions
