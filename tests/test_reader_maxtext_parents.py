"""The files that a recipe of MaxText inherits from."""

from pathlib import Path

from speccheck.validator.sources.composition import Composition, compose
from speccheck.validator.sources.formats.maxtext import READER
from speccheck.validator.sources.joining.merge import merge
from speccheck.validator.sources.reader import Source

CORE = """\
base_config: base.yml
per_device_batch_size: 1
"""
SFT = """\
base_config: base.yml
use_sft: true
steps: 9
"""


def composed(folder: Path, text: str, name: str = "run.yml") -> Composition:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    (document,) = Source(str(path), text).documents
    return compose(document, READER)


def value_of(found: Composition, leaf: str) -> object:
    return merge(READER.read(found.document).facts.facts)[leaf].value


def test_inherits_from_the_recipe_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "base.yml").write_text("steps: 150001\ncheckpoint_period: 10000\n")
    (tmp_path / "sft.yml").write_text(SFT)
    found = composed(tmp_path, "base_config: sft.yml\nper_device_batch_size: 1\n")
    assert value_of(found, "run.steps") == 9
    assert value_of(found, "run.role") == "sft"
    leaf = merge(READER.read(found.document).facts.facts)["checkpoint.interval_steps"]
    assert leaf.status == "stated"
    assert leaf.places[0].file == str(tmp_path / "base.yml")


def test_the_file_of_the_model_wins(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.yml").write_text("base_emb_dim: 64\nvocab_size: 512\n")
    text = CORE + "model_name: tiny-Instruct\nvocab_size: 1000\n"
    found = composed(tmp_path, text)
    assert value_of(found, "model.hidden_size") == 64
    assert value_of(found, "model.vocabulary_size") == 512
    deep = composed(tmp_path, text, "post_train/run.yml")
    assert value_of(deep, "model.hidden_size") == 64


def test_only_the_tabulated_base_file_may_be_missing(tmp_path: Path) -> None:
    assert not composed(tmp_path, CORE).gaps
    (gap,) = composed(tmp_path, CORE.replace("base.yml", "rl.yml")).gaps
    assert "rl.yml was not found" in gap.reason


def test_works_out_interpolations(tmp_path: Path) -> None:
    text = CORE + "steps: 100\ncheckpoint_period: ${steps}\n"
    leaves = merge(READER.read(composed(tmp_path, text).document).facts.facts)
    assert leaves["checkpoint.interval_steps"].value == 100
    assert [place.key for place in leaves["checkpoint.interval_steps"].places] == [
        "checkpoint_period",
        "steps",
    ]
