"""Megatron-LM's YAML of all arguments (`--yaml-cfg`), in place of a command line.

The file holds the attributes that the argument parser would set, the options of the
model in two sections (megatron/training/yaml_arguments.py). They are read as the flags
that set them.
"""

from collections.abc import Mapping

from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.evidence.stated_keys import KeyedFile
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._megatron import Flag, state_arguments
from speccheck.validator.sources.mapping import placeholder, section, texts_for_values
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "megatron-yaml"
_SECTIONS = ("language_model", "model_parallel")
# Where the attribute of a configuration class has another name than its flag.
_FLAGS = {
    "num_moe_experts": "--num-experts",
    "fp8": "--fp8-format",
    "fp8_amax_compute_algo": "",
    "virtual_pipeline_model_parallel_size": "",  # worked out anew by validate_yaml
    "group_query_attention": "",  # num_query_groups alone decides
    "swiglu": "",  # language_model.activation_func decides
    "cpu_offloading_num_layers": "",  # counts with cpu_offloading only
}
# Zero is what both are without being used: iterations and samples exclude each other.
_UNUSED_AT_ZERO = frozenset({"lr_warmup_iters", "lr_warmup_samples"})


def detect(document: Document) -> float:
    """Recognise the format by the two sections of the model."""
    data = section(document.data)
    sizes = section(data, "model_parallel")
    is_other = "num_layers" not in section(data, "language_model")
    if is_other or "tensor_model_parallel_size" not in sizes:
        return 0.0
    return 0.95


def read(document: Document) -> Reading:
    """Return the plan that the attributes state; null and false leave a flag out."""
    sheet = FactSheet.of(document)
    state_arguments(sheet, _given(document))
    layers = ("model_parallel", "cpu_offloading_num_layers")
    if section(document.data, "model_parallel").get("cpu_offloading") is True:
        sheet.state("memory.activation_offload", value=True, at=layers)
    sheet.derive("run.framework", "megatron-lm", "Megatron-LM's sections", ())
    return Reading(sheet, _keyed(document))


def _given(document: Document) -> dict[str, Flag]:
    """Return the flags that would set the same attributes."""
    data = section(document.data)
    given: dict[str, Flag] = {}
    for name, value in data.items():
        if str(name) not in _SECTIONS:
            _add(document, given, (name,), value)
    for part in _SECTIONS:
        for name, value in section(data, part).items():
            _add(document, given, (part, name), value)
    model = section(data, "language_model")
    if model.get("num_moe_experts") is None:
        given.pop("--moe-router-topk", None)
    for flag, name, is_given in (
        ("--group-query-attention", "num_query_groups", "num_query_groups" in model),
        ("--swiglu", "activation_func", model.get("activation_func") == "swiglu"),
    ):
        if is_given and model.get(name) is not None:
            place = document.place(("language_model", name))
            given[flag] = Flag(flag, (), place, place)
    return given


def _add(
    document: Document, given: dict[str, Flag], path: KeyPath, value: object
) -> None:
    name = str(path[-1])
    flag = _FLAGS.get(name, "--" + name.replace("_", "-"))
    if _is_absent(value) or isinstance(value, Mapping) or not flag:
        return
    if name in _UNUSED_AT_ZERO and value == 0:
        return
    texts: tuple[str, ...] = ()
    if isinstance(value, list):
        texts = tuple(str(item) for item in value)
    elif value is not True:
        texts = (str(value),)
    unusable = placeholder(value)
    unknown = unusable.reason if unusable is not None else ""
    place = document.place(path)
    given[flag] = Flag(flag, texts, place, place, unknown=unknown)


def _is_absent(value: object) -> bool:
    """Return whether a value leaves the flag out; zero does not."""
    return value is None or value is False or value == ""


def _keyed(document: Document) -> KeyedFile:
    """Return the keys: any is taken, and none is converted (SimpleNamespace)."""
    whole = keyed_file(document, _FORMAT, None)
    catalogue = load_framework("megatron-lm")
    top = (key for key in whole.keys if len(key.path) == 1)
    return whole._replace(loaded_as=texts_for_values(top, catalogue, lambda _: True))


READER = Reader(_FORMAT, "config", detect, read, keys=("language_model",))
