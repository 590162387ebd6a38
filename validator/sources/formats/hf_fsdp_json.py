"""The JSON file that `fsdp_config` of the Hugging Face Trainer may name."""

from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.formats._huggingface import fsdp_version, state_fsdp
from speccheck.validator.sources.mapping import section
from speccheck.validator.sources.reader import FactSheet, Reader, Reading, keyed_file

_FORMAT = "hf-fsdp-json"
_OWN_KEYS = frozenset(
    {
        "transformer_layer_cls_to_wrap",
        "backward_prefetch",
        "forward_prefetch",
        "limit_all_gathers",
        "use_orig_params",
        "sync_module_states",
        "cpu_ram_efficient_loading",
        "activation_checkpointing",
        "state_dict_type",
        "reshard_after_forward",
        "min_num_params",
        "auto_wrap_policy",
        "cpu_offload",
        "version",
        "xla",
        "xla_fsdp_v2",
        "xla_fsdp_grad_ckpt",
        "xla_fsdp_settings",
    }
)
_FEWEST_KEYS = 2


def detect(document: Document) -> float:
    """Recognise the format by its keys, all of which are FSDP's."""
    data = section(document.data)
    keys = {str(key).removeprefix("fsdp_") for key in data}
    return 0.8 if len(keys) >= _FEWEST_KEYS and keys <= _OWN_KEYS else 0.0


def read(document: Document) -> Reading:
    """Return what the file states of sharding, recomputation and checkpoints."""
    sheet = FactSheet.of(document)
    version = fsdp_version(document.data, "version", "fsdp_version")
    if isinstance(version, int):
        key = next(
            name for name in section(document.data) if str(name).endswith("version")
        )
        sheet.derive("parallelism.engine", f"fsdp{version}", key, (key,))
    state_fsdp(sheet, document.data, version, ())
    return Reading(sheet, keyed_file(document, _FORMAT, None))


READER = Reader(
    _FORMAT,
    "engine",
    detect,
    read,
    keys=(*sorted(_OWN_KEYS), *sorted(f"fsdp_{name}" for name in _OWN_KEYS)),
)
