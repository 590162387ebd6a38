"""A remedy is one sentence, and names no program that the plan is not of."""

import re
from pathlib import Path

import pytest

from rule_fixtures import findings_of, load, of_files
from speccheck.validator.editions.edition import Clause, load_edition

# Names by which users know frameworks, and those of the plans that may read them.
PROGRAMS = {
    "Megatron": {"megatron-lm", "megatron-bridge", "nemo1", "nemo-rl", "gpt-neox"},
    "torchtitan": {"torchtitan"},
    "DeepSpeed": {"deepspeed"},
    "Hugging Face": {"transformers", "axolotl", "llamafactory", "accelerate"},
    "llm-foundry": {"llm-foundry"},
    "MaxText": {"maxtext"},
    "NeMo": {"nemo1", "nemo-rl", "nemo-automodel"},
    "Axolotl": {"axolotl"},
    "LLaMA-Factory": {"llamafactory"},
    "torchtune": {"torchtune"},
    "OLMo": {"olmo", "olmo-core"},
    "verl": {"verl"},
}
NAMED = {name: re.compile(rf"\b{name}\b") for name in PROGRAMS}
LATEST = load_edition()


def programs_in(text: str) -> set[str]:
    return {name for name, pattern in NAMED.items() if pattern.search(text)}


def sentences(text: str) -> int:
    return len(re.findall(r"[.!?](?=\s+[A-Z]|$)", text))


@pytest.mark.parametrize("clause", LATEST.clauses.values(), ids=lambda item: item.id)
def test_the_remedy_for_all_names_no_framework(clause: Clause) -> None:
    assert programs_in(clause.remedy) == set()


def test_a_remedy_for_a_framework_names_no_other() -> None:
    wrong = [
        (clause.id, program, name)
        for clause in LATEST.clauses.values()
        for program, text in clause.remedies.items()
        for name in programs_in(text)
        if program not in PROGRAMS[name]
    ]
    assert wrong == []


def test_remedies_by_framework_are_a_sentence_each() -> None:
    long = [
        (clause.id, program)
        for clause in LATEST.clauses.values()
        for program, text in clause.remedies.items()
        if sentences(text) != 1
    ]
    assert long == []


@pytest.mark.slow
def test_no_finding_of_a_fixture_names_a_framework_that_it_is_not_of(
    tmp_path: Path,
) -> None:
    wrong: list[tuple[str, str, str]] = []
    for at, path in enumerate(of_files()):
        if not path.name.startswith("fail"):
            continue
        fixture = load(path)
        if fixture.spec != LATEST.id:
            continue
        folder = tmp_path / str(at)
        folder.mkdir()
        texts = " ".join([*fixture.files, *fixture.files.values(), path.parent.name])
        for located in findings_of(fixture, folder):
            remedy = located.finding.remedy
            for name in programs_in(remedy):
                stems = {name.lower(), *PROGRAMS[name]}
                hints = {stem.split("-")[0] for stem in stems}
                if not any(hint in texts.lower() for hint in hints | HINTS[name]):
                    wrong.append((f"{path.parent.name}/{path.name}", name, remedy))
    assert wrong == []


# What files of a framework hold, where they do not name it.
HINTS = {name: set[str]() for name in PROGRAMS} | {
    "Megatron": {"tensor-model-parallel", "pretrain_gpt", "micro-batch-size"},
    "DeepSpeed": {"zero_optimization", "ds_config", "train_micro_batch_size_per_gpu"},
    "Hugging Face": {"model_name_or_path", "per_device_train_batch_size"},
    "NeMo": {"exp_manager", "megatron_gpt", "policy"},
    "Axolotl": {"base_model"},
    "LLaMA-Factory": {"finetuning_type", "template"},
    "torchtitan": {"data_parallel_shard_degree", "[job]", "[training]"},
    "verl": {"actor_rollout_ref"},
    "torchtune": {"_component_"},
}
