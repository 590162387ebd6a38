"""Which package releases the name of a container image tells.

Only what the publisher's naming says for sure is read. The monthly images of NVIDIA
(`nvcr.io/nvidia/pytorch:24.05-py3`, `nvcr.io/nvidia/nemo:24.05`) are not: their tag is
the month of the image, and what it holds stands in release notes alone.
"""

from collections.abc import Iterator

from speccheck.validator.evidence.lazy_pattern import lazy_pattern

# Repositories whose tag begins with the release of one package. mosaicml/llm-foundry
# names the PyTorch release there (llm-foundry README, "Docker"), not its own.
_PACKAGES = {
    "axolotlai/axolotl": "axolotl",
    "axolotlai/axolotl-cloud": "axolotl",
    "hiyouga/llamafactory": "llamafactory",
    "huggingface/transformers-pytorch-gpu": "transformers",
    "huggingface/transformers-pytorch-deepspeed-latest-gpu": "transformers",
    "huggingface/trl": "trl",
    "mosaicml/composer": "mosaicml",
    "mosaicml/llm-foundry": "torch",
    "mosaicml/pytorch": "torch",
    "nvidia/nemo-rl": "nemo-rl",
    "pytorch/pytorch": "torch",
    "winglian/axolotl": "axolotl",
    "winglian/axolotl-cloud": "axolotl",
}
# Deep learning containers of AWS, under any account:
# `763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.3.0-gpu-py311-...`
_NAMES = {
    "huggingface-pytorch-training": "torch",
    "huggingface-pytorch-trcomp-training": "torch",
    "pytorch-training": "torch",
}
# Parts of a tag that name a package: `-torch2.7.0-`, `th2.6.0`, `transformers4.55.4`.
_SPELLINGS = {
    "accelerate": "accelerate",
    "axolotl": "axolotl",
    "deepspeed": "deepspeed",
    "mcore": "megatron-core",
    "nccl": "nccl",
    "pt": "torch",
    "pytorch": "torch",
    "th": "torch",
    "torch": "torch",
    "transformers": "transformers",
    "trl": "trl",
}
# A release is told by at least two numbers: `py3`, `torch2` and `cu121` are none.
_RELEASE = lazy_pattern(r"v?(\d+\.\d+(?:\.\d+)*)(?=$|[-_+])")
_NAMED = lazy_pattern(
    r"(?:^|(?<=[-_.]))([a-z]+?)[-_]?v?(\d+\.\d+(?:\.\d+)?)(?=$|[-_+.](?!\d))"
)
# The end of axolotl's tags is the release of PyTorch: `0.9.2-py3.11-cu124-2.6.0`.
_TORCH_AT_END = lazy_pattern(r"-cu\d+-(\d+\.\d+\.\d+)$")
_FIRST_CALENDAR_NUMBER = 20  # 24.05 is a month, and no release of these packages


def versions_of_image(image: str) -> tuple[tuple[str, str], ...]:
    """Package and release for each package that the name of an image tells.

    Args:
        image: `[registry/]repository[:tag][@digest]`; anything else gives nothing.

    Returns:
        packages as PyPI writes them (NCCL as `nccl`), each once, with their release.
    """
    repository, tag = _parts(image)
    found: dict[str, str] = {}
    for package, release in _told(repository, tag):
        if int(release.partition(".")[0]) < _FIRST_CALENDAR_NUMBER:
            found.setdefault(package, release)
    return tuple(found.items())


def _parts(image: str) -> tuple[str, str]:
    """Repository and tag, the registry left on the repository."""
    name = image.strip().partition("@")[0].lower()
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag or "$" in tag or "{" in tag:
        return name, ""
    return head, tag


def _told(repository: str, tag: str) -> Iterator[tuple[str, str]]:
    parts = repository.split("/")
    package = _PACKAGES.get("/".join(parts[-2:])) or _NAMES.get(parts[-1])
    start = _RELEASE.match(tag)
    if package is not None and start is not None:
        yield package, start[1]
    for found in _NAMED.finditer(tag):
        if (named := _SPELLINGS.get(found[1])) is not None:
            yield named, found[2]
    if package == "axolotl" and (end := _TORCH_AT_END.search(tag)) is not None:
        yield "torch", end[1]
