"""The JSON file that `fsdp_config` of the Hugging Face Trainer may name."""

import json

from corpus import corpus_folder, needs_corpus
from reader_text import document_of, read_text
from speccheck.validator.sources.formats.hf_fsdp_json import READER


def test_an_fsdp_file_of_its_own() -> None:
    content = {"xla": True, "xla_fsdp_v2": True, "xla_fsdp_grad_ckpt": True}
    leaves = read_text(READER, json.dumps(content), "fsdp.json")
    assert leaves.value("memory.recompute_mode") == "full"
    second = {"version": 2, "reshard_after_forward": False, "cpu_offload": True}
    leaves = read_text(READER, json.dumps(second), "fsdp.json")
    assert leaves.value("parallelism.engine") == "fsdp2"
    assert leaves.value("parallelism.sharding_stage") == 2
    assert leaves.value("memory.parameter_offload_device") == "cpu"


@needs_corpus
def test_every_published_fsdp_file_is_recognised() -> None:
    for path in sorted(corpus_folder("configs/hf-fsdp-json").iterdir()):
        document = document_of(path.read_text("utf-8"), "settings.json")
        assert READER.detect(document) >= 0.5, path.name
