"""Framework keys, hardware and names: what the catalogues answer."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from compile_catalogues import (
    compiled_catalogues,
    framework_names,
    read_source,
)
from compile_frameworks import compile_framework
from compile_key_relations import (
    RelationFile,
    compiled_relations,
    faults,
    relation_files,
)
from speccheck.validator.catalogue.frameworks import (
    FRAMEWORK_OF_FORMAT,
    keys_of_format,
    load_framework,
)
from speccheck.validator.evidence.framework_keys import (
    FrameworkKeys,
    FrameworkVersion,
    KnownDefault,
    parse_version,
)
from speccheck.validator.evidence.value import KeyPath

CORE_0_12 = parse_version("core_v0.12.3")


def keys(format_id: str) -> FrameworkKeys:
    found = keys_of_format(format_id)
    assert found is not None
    return found


@pytest.mark.slow
def test_compiled_catalogues_are_up_to_date() -> None:
    stale = [
        path
        for path, text in (*compiled_catalogues(), *compiled_relations())
        if Path(path).read_text(encoding="utf-8") != text
    ]
    assert stale == []


@cache
def table_of(framework: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_source(f"frameworks/{framework}")
    return table


def test_versions_of_a_table_parse() -> None:
    for name in framework_names():
        table = table_of(name)
        written = [release["version"] for release in table["versions"]]
        for row in table["keys"]:
            written += [row.get(field, "1.0") for field in ("since", "removed_in")]
        for version in written:
            parse_version(version.replace("<=", ""))


def test_each_relation_tells_its_example_and_not_the_mended_twin() -> None:
    wrong = [fault for file in relation_files() for fault in faults(file)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("when: {warmup_step: {given: true}}", "no such key: warmup_step"),
        ("when: {warmup_steps: {grater: 1}}", "no such test: grater"),
        ("when: {warmup_steps: {above: true}}", "above takes a number or names"),
        ("when: {width of warmup_steps: {above: 1}}", "no such measure: width"),
        ("when: {length of warmup_steps: 1}", "is reckoned: ask for equals, above"),
        ("when: {warmup_steps + 1: {set: true}}", "set is no test of numbers"),
        ("when: {warmup_steps: {above: warmup_step - 1}}", "no such key: warmup_step"),
        ("example: {warmup_steps: 0}", "the example is not found"),
        ("mended: {warmup_steps: 5, warmup_ratio: 0.1}", "the mended twin is found"),
        ("reason: they exclude each other.", "no full stop"),
        ("kind: forbidden", "kind forbidden is none of refused"),
        ("sauce: nowhere", "unknown ['sauce']"),
    ],
)
def test_a_relation_that_is_wrong_is_refused_with_its_line(
    change: str, says: str, tmp_path: Path
) -> None:
    row = {
        "id": "two-warmups",
        "kind": "refused",
        "when": "{warmup_steps: {given: true}, warmup_ratio: {given: true}}",
        "reason": "they exclude each other",
        "remedy": "Keep one.",
        "source": "a test",
        "example": "{warmup_steps: 5, warmup_ratio: 0.1}",
        "mended": "{warmup_steps: 5}",
    }
    field, _, value = change.partition(": ")
    lines = [f"  {name}: {text}" for name, text in {**row, field: value}.items()]
    text = "\n".join(["framework: axolotl", "relations:", *lines])
    path = tmp_path / "axolotl.yaml"
    path.write_text(text.replace("  id:", "- id:"), encoding="utf-8")
    (fault,) = faults(RelationFile(path))
    assert fault.startswith("axolotl.yaml:3 two-warmups: ")
    assert says in fault


def test_every_format_with_a_table_loads_it() -> None:
    wrong = [
        format_id
        for format_id, named in FRAMEWORK_OF_FORMAT.items()
        if keys(format_id).framework != named.framework or not keys(format_id).rows
    ]
    assert not wrong, "\n".join(wrong)


def test_format_without_table() -> None:
    assert keys_of_format("nccl-conf") is None


@pytest.mark.parametrize(
    ("format_id", "path", "tabulated"),
    [
        ("deepspeed", ("train_batch_size",), "train_batch_size"),
        ("deepspeed", ("zero_optimization", "stage"), "zero_optimization.stage"),
        (  # an alias
            "deepspeed",
            ("zero_optimization", "max_live_parameters"),
            "zero_optimization.stage3_max_live_parameters",
        ),
        ("deepspeed", ("amp", "keep_batchnorm_fp32"), "amp.**"),  # a free map
        (  # any one name on the way
            "deepspeed",
            (
                *("compression_training", "head_pruning", "different_groups"),
                *("rp1", "params", "dense_ratio"),
            ),
            "compression_training.head_pruning.different_groups.*.params.dense_ratio",
        ),
        ("axolotl", ("datasets", 3, "path"), "datasets[].path"),
        ("axolotl", ("fsdp_config", "fsdp_version"), "fsdp_config.fsdp_version"),
        ("megatron-cli", ("--micro-batch-size",), "--micro-batch-size"),
        ("megatron-cli", ("--micro_batch_size",), "--micro-batch-size"),
        ("megatron-cli", ("micro_batch_size",), "--micro-batch-size"),
        ("torchrun", ("--nproc_per_node",), "--nproc-per-node"),
        ("slurm", ("-N",), "--nodes"),
        ("torchtitan", ("training", "seq_len"), "training.seq_len"),
        ("hf-trainer", ("gradient_checkpointing_kwargs", "x"), "gradient_checkpointi"),
    ],
)
def test_lookup_finds_the_row(format_id: str, path: KeyPath, tabulated: str) -> None:
    row = keys(format_id).lookup(path)
    assert row is not None
    assert row.path.startswith(tabulated)
    assert keys(format_id).is_known(path)


def test_row_tells_type_choices_and_range() -> None:
    offload = ("zero_optimization", "offload_optimizer")
    device = keys("deepspeed").lookup((*offload, "device"))
    ratio = keys("deepspeed").lookup((*offload, "ratio"))
    assert device is not None
    assert (device.type, list(device.choices)) == ("enum", ["none", "cpu", "nvme"])
    assert ratio is not None
    assert (ratio.type, ratio.range) == ("float", ">= 0.0, <= 1.0")


def test_items_of_a_list_of_values_belong_to_its_key() -> None:
    assert keys("deepspeed").is_known(("optimizer", "params", "betas", 0))


@pytest.mark.parametrize(
    ("format_id", "path", "meant", "kind"),
    [
        (
            "hf-trainer",
            ("gradient_accumalation_steps",),
            "gradient_accumulation_steps",
            "spelling",
        ),
        ("deepspeed", ("gradient_cliping",), "gradient_clipping", "spelling"),
        (
            "accelerate",
            ("fsdp_config", "fsdp_auto_wrap_policiy"),
            "fsdp_config.fsdp_auto_wrap_policy",
            "spelling",
        ),
        ("axolotl", ("context_parapllel_size",), "context_parallel_size", "spelling"),
        ("axolotl", ("datasets", 0, "pth"), "datasets[].path", "word"),
        ("deepspeed", ("comms_config",), "comms_logger", "word"),
        ("axolotl", ("adam_eps",), "adam_epsilon", "word"),
        ("gpt-neox", ("autotuning_config",), "autotuning", "word"),
        ("axolotl", ("plugins_settings",), "plugins", "word"),
        ("accelerate", ("num_process",), "num_processes", "word"),
        ("deepspeed", ("overlap_comm",), "zero_optimization.overlap_comm", "level"),
        ("megatron-cli", ("--rotry-base",), "--rotary-base", "spelling"),
        ("slurm", ("--gpu-per-node",), "--gpus-per-node", "word"),
    ],
)
def test_suggestion(format_id: str, path: KeyPath, meant: str, kind: str) -> None:
    assert not keys(format_id).is_known(path)
    found = keys(format_id).suggest(path)
    assert found is not None
    assert (found.path, found.kind) == (meant, kind)


@pytest.mark.parametrize(
    ("format_id", "name"),
    [
        ("hf-trainer", "cutoff_len"),  # LLaMA-Factory's own
        ("hf-trainer", "dataset"),  # a word of other names, so no slip
        ("hf-trainer", "kl_coeff_start"),
        ("megatron-cli", "--deepspeed_config"),  # Megatron-DeepSpeed's own
        ("torchtitan", "adapters"),
        ("deepspeed", "cuda_visible_devices"),
    ],
)
def test_foreign_name_is_not_taken_for_a_slip(format_id: str, name: str) -> None:
    suggestion = keys(format_id).suggest((name,))
    assert suggestion is None or suggestion.kind != "spelling"


def test_one_common_word_of_three_suggests_nothing() -> None:
    assert keys("maxtext").suggest(("query_span_size",)) is None


@pytest.mark.parametrize(
    ("format_id", "path", "version", "expected"),
    [
        ("deepspeed", ("gradient_cliping",), None, "ignore"),
        ("deepspeed", ("zero_optimization", "stge"), None, "reject"),
        ("deepspeed", ("zero_optimization", "zenflow", "x"), None, "reject"),
        ("deepspeed", ("bf16", "enable"), "0.16.9", "ignore"),
        ("deepspeed", ("bf16", "enable"), "0.17.6", "reject"),
        ("deepspeed", ("bf16", "enable"), "0.14+", "ignore"),
        ("deepspeed", ("bf16", "enable"), None, "ignore"),  # not known: the mildest
        ("accelerate", ("num_process",), None, "reject"),
        ("accelerate", ("fsdp_config", "x"), None, "ignore"),
        ("axolotl", ("adam_eps",), None, "ignore"),
        ("torchtitan", ("training", "sequence"), "v0.1.0", "ignore"),
        ("torchtitan", ("training", "sequence"), "v0.2.1", "reject"),
        ("torchtitan", ("training", "sequence"), "0.2+", "reject"),
        ("torchtitan", ("training", "sequence"), None, "ignore"),
        ("megatron-cli", ("--hidden-sze",), None, "reject"),
        ("slurm", ("--gpu",), None, "reject"),
    ],
)
def test_policy(
    format_id: str, path: KeyPath, version: str | None, expected: str
) -> None:
    at = None if version is None else parse_version(version)
    assert keys(format_id).policy(path, at) == expected


def test_open_tables() -> None:
    trainer = keys("hf-trainer")
    assert trainer.is_open(("my_script_argument",))
    assert not trainer.is_open(("accelerator_config", "split_batch"))
    assert keys("megatron-cli").is_open(("--my-own-flag",))
    assert not keys("accelerate").is_open(("num_process",))
    assert "job.custom_config_module" in keys("torchtitan").opened_by
    assert load_framework("launchers", "JobSet").is_open(("spec", "x"))
    assert load_framework("launchers", "JobSet").policy(("spec", "x"), None) == "warn"


@pytest.mark.parametrize(
    ("text", "framework", "number", "or_newer"),
    [
        ("4.57.1", None, (4, 57, 1), False),
        ("transformers 4.57.1", "transformers", (4, 57, 1), False),
        ("Megatron-LM core 0.14+", "megatron-lm", (0, 14), True),
        ("0.14+", None, (0, 14), True),
        ("core_v0.12.3", "megatron-lm", (0, 12, 3), False),
        ("core_r0.9.0", "megatron-lm", (0, 9, 0), False),
        ("v0.2.0", None, (0, 2, 0), False),
        ("trl==0.19.1", "trl", (0, 19, 1), False),
        ("deepspeed>=0.15", "deepspeed", (0, 15), True),
        ("2.21.5+cuda12.4", None, (2, 21, 5), False),
        ("NCCL 2.27 or newer", "nccl", (2, 27), True),
        ("5.0.0rc1", None, (5, 0, 0), False),
        ("Megatron-LM HEAD", "megatron-lm", (), False),
    ],
)
def test_parse_version(
    text: str, framework: str | None, number: tuple[int, ...], *, or_newer: bool
) -> None:
    assert parse_version(text) == FrameworkVersion(framework, number, or_newer)


def test_successor_of_a_key_stands_in_a_list() -> None:
    row = {"path": "a", "deprecated_by": "b", "source": "s"}
    table = {"framework": "f", "versions": [], "keys": [row]}
    with pytest.raises(ValueError, match="a: deprecated_by is no list of keys"):
        compile_framework(table, {})


@pytest.mark.parametrize("text", ["", "latest", "transformers"])
def test_version_without_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no version number"):
        parse_version(text)


@pytest.mark.parametrize(
    ("format_id", "key", "version", "gone"),
    [
        ("hf-trainer", "adafactor", "4.57.1", False),
        ("hf-trainer", "adafactor", "5.0.0", True),
        ("hf-trainer", "adafactor", "transformers 5.23", True),
        ("hf-trainer", "adafactor", "5.0+", True),
        ("hf-trainer", "adafactor", "4.40+", False),  # perhaps, so not surely
        ("hf-trainer", "adafactor", "5", False),
        ("hf-trainer", "adafactor", "trl 0.29.1", False),  # says nothing of it
        ("hf-trainer", "use_ipex", "4.57", True),
        ("hf-trainer", "max_prompt_length", "trl 0.29.1", True),
        ("hf-trainer", "max_prompt_length", "5.0.0", False),
        ("megatron-cli", "--DDP-impl", "core_v0.12.3", True),
        ("megatron-cli", "--DDP-impl", "Megatron-LM 23.04", False),
        ("megatron-cli", "--encoder-tensor-model-parallel-size", "0.13.1", False),
        ("megatron-cli", "--encoder-tensor-model-parallel-size", "0.14+", True),
        ("torchtitan", "checkpoint.enable_checkpoint", "2025-01", False),
        ("torchtitan", "checkpoint.enable_checkpoint", "v0.2.0", True),
        ("deepspeed", "aio.thread_count", "HEAD", True),
    ],
)
def test_removed(format_id: str, key: str, version: str, *, gone: bool) -> None:
    path = tuple(key.split("."))
    assert keys(format_id).removed(path, parse_version(version)) is gone
    assert keys(format_id).removed(path, None) is False


def test_key_that_no_tabulated_version_has() -> None:
    assert keys("axolotl").removed_everywhere(("eta_min",))
    assert not keys("axolotl").removed_everywhere(("relora_steps",))
    assert not keys("axolotl").removed_everywhere(("learning_rate",))


def test_too_new() -> None:
    megatron, titan = keys("megatron-cli"), keys("torchtitan")
    offload = ("--activation-offload-fraction",)  # since 0.19.0
    assert megatron.too_new(offload, CORE_0_12)
    assert not megatron.too_new(offload, parse_version("0.19.0"))
    assert not megatron.too_new(offload, parse_version("0.12+"))
    assert not megatron.too_new(offload, None)
    assert not megatron.too_new(("--lr",), parse_version("23.04"))
    inspector = ("activation_checkpoint", "debug")  # since 0.2.1
    assert titan.too_new(inspector, parse_version("0.2.0"))
    assert not titan.too_new(inspector, parse_version("0.2"))
    assert not titan.too_new(inspector, parse_version("0.2.2"))


def test_deprecated() -> None:
    trainer, titan = keys("hf-trainer"), keys("torchtitan")
    assert trainer.deprecated(("evaluation_strategy",), parse_version("4.46.3"))
    # its successor came after the oldest tabulated version: it may still be right
    assert not trainer.deprecated(("evaluation_strategy",), None)
    row = trainer.lookup(("evaluation_strategy",))
    assert row is not None
    assert list(row.deprecated_by) == ["eval_strategy"]
    assert not trainer.deprecated(("learning_rate",), None)
    old_name = ("checkpoint", "enable_checkpoint")
    assert titan.deprecated(old_name, parse_version("v0.2.0"))
    assert not titan.deprecated(old_name, None)
    # the successor came with 0.2.0 only
    assert not titan.deprecated(old_name, parse_version("v0.1.0"))


@pytest.mark.parametrize(
    ("format_id", "key", "version", "group", "expected"),
    [
        ("deepspeed", "gradient_clipping", "0.18.9", "", KnownDefault(0.0)),
        ("deepspeed", "gradient_clipping", "0.19.6", "", KnownDefault(1.0)),
        ("deepspeed", "gradient_clipping", None, "", None),  # it changed
        ("deepspeed", "gradient_clipping", "0.15+", "", None),
        ("deepspeed", "zero_optimization.stage", None, "", KnownDefault(0)),
        ("deepspeed", "steps_per_print", "0.15.4", "", KnownDefault(None)),
        ("megatron-cli", "--attention-backend", "0.12.3", "", None),  # computed
        ("megatron-cli", "--attention-backend", "0.16.1", "", KnownDefault("auto")),
        ("megatron-cli", "--clip-grad", None, "", KnownDefault(1.0)),
        ("hf-trainer", "warmup_steps", "trl 1.9", "", KnownDefault(0)),
        ("hf-trainer", "beta", None, "", None),  # the classes differ
        ("hf-trainer", "beta", None, "trl-rloo", KnownDefault(0.05)),
        ("torchtitan", "checkpoint.keep_latest_k", "v0.1.0", "", KnownDefault(10)),
        ("torchtitan", "checkpoint.keep_latest_k", "2024-07", "", KnownDefault(0)),
        ("deepspeed", "no_such_key", None, "", None),
    ],
)
def test_default(
    format_id: str,
    key: str,
    version: str | None,
    group: str,
    expected: KnownDefault | None,
) -> None:
    at = None if version is None else parse_version(version)
    path = tuple(key.split("."))
    assert keys(format_id).default(path, at, group) == expected


@pytest.mark.parametrize(
    ("format_id", "name", "meant", "framework"),
    [
        ("axolotl", "per_device_train_batch_size", "micro_batch_size", "transformers"),
        ("torchtune", "gradient_checkpointing", "enable_activation_check", "axolotl"),
        ("maxtext", "max_grad_norm", "gradient_clipping_threshold", "axolotl"),
    ],
)
def test_a_key_under_its_name_in_another_framework(
    format_id: str, name: str, meant: str, framework: str
) -> None:
    found = keys(format_id).suggest((name,))
    assert found is not None
    assert found.kind == "foreign"
    assert found.path.startswith(meant)
    assert framework in found.framework
