"""The JSON Schemas of frameworks: generated, quiet on right files, loud on mistakes."""

import fnmatch
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from compile_catalogues import framework_names, read_source
from corpus import SHARED, corpus_folder, needs_corpus
from framework_documents import MISTAKES, RIGHT, Mistake
from framework_schemas.dialects import DIALECTS, loader_of
from framework_schemas.generate import write_all
from published_findings import public_names
from rule_fixtures import all_fixtures, load
from speccheck.validator.cli.main import main
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.report.published_schemas import (
    FOLDER,
    published_names,
    published_text,
)
from speccheck.validator.sources.files import read_file

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "editors.md"
LEAST_VALID = 0.98
# Of command lines, and of what tools write; docs/editors.md says why.
WITHOUT_A_FILE = {"hf-model-config", "launchers", "openrlhf"}
PUBLISHED_FILES = [
    (name, path)
    for name in published_names()
    if SHARED is not None
    for path in sorted((SHARED / "corpus" / "configs" / name).glob("*"))
]


@cache
def _language(name: str) -> str:
    table = DIALECTS[name].table
    return loader_of(name, read_source(f"frameworks/{table}")).language


@cache
def schema_of(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(published_text(name))
    return schema


@cache
def validator_of(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(schema_of(name))


def errors(name: str, document: Any) -> list[str]:  # noqa: ANN401 - any document
    """Return the places that a schema points at, as dotted paths."""
    found = validator_of(name).iter_errors(document)
    return [".".join(str(part) for part in finding.absolute_path) for finding in found]


def loaded(name: str, text: str, suffix: str = "") -> Any:  # noqa: ANN401 - as above
    """Return a text as the framework's own loader gives it: YAML 1.1, JSON or TOML."""
    if not suffix:
        suffix = f".{_language(name)}"
    if suffix == ".toml":
        return tomllib.loads(text)
    return json.loads(text) if suffix == ".json" else yaml.safe_load(text)


def of_yaml(name: str, text: str) -> list[str]:
    return errors(name, yaml.safe_load(text))


def parts(schema: object) -> list[dict[str, Any]]:
    """Return a schema and all within it, names of keys aside."""
    found: list[dict[str, Any]] = []
    if isinstance(schema, list):
        return [part for item in schema for part in parts(item)]
    if isinstance(schema, dict):
        found.append(schema)
        for key, value in schema.items():
            if key in {"properties", "patternProperties"}:
                found += parts([*value.values()])
            elif key in {"items", "anyOf", "additionalProperties"}:
                found += parts(value)
    return found


def parts_of_all() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each schema, with all within it."""
    for name in DIALECTS:
        for part in parts(schema_of(name)):
            yield name, part


def target_of(reference: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference within a schema leads to; raises KeyError."""
    target = schema
    for step in reference.removeprefix("#").split("/")[1:]:
        target = target[step.replace("~1", "/").replace("~0", "~")]
    return target


@pytest.mark.slow
def test_the_published_schemas_are_the_generated_ones(tmp_path: Path) -> None:
    write_all(tmp_path)
    written = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    published = {path.name: path.read_text("utf-8") for path in Path(FOLDER).iterdir()}
    assert written.keys() == published.keys()
    for name, text in written.items():
        assert text == published[name], f"{name}: run make generate"


def test_every_key_table_of_files_has_a_schema() -> None:
    tables = {dialect.table for dialect in DIALECTS.values()}
    assert tables == set(framework_names()) - WITHOUT_A_FILE
    assert published_names() == sorted(DIALECTS) == sorted(RIGHT) == sorted(MISTAKES)


@pytest.mark.slow
def test_a_schema_is_valid_itself() -> None:
    form = jsonschema.Draft7Validator(jsonschema.Draft7Validator.META_SCHEMA)
    wrong = [
        f"{name}: {error.message}"
        for name in DIALECTS
        for error in form.iter_errors(schema_of(name))
    ]
    # draft 7 asks for it, and editors refuse a schema over it
    wrong += [
        f"{name}: a choice stands twice: {part}"
        for name, part in parts_of_all()
        if len(choices := [*map(json.dumps, part.get("enum", ()))]) > len({*choices})
    ]
    assert not wrong, "\n".join(wrong)
    for _, part in parts_of_all():
        re.compile(part.get("pattern", ""))


def test_references_lead_to_a_key() -> None:
    wrong = [
        f"{name}: {part}"
        for name, part in parts_of_all()
        if "$ref" in part and "$ref" in target_of(part["$ref"], schema_of(name))
    ]
    assert not wrong, "\n".join(wrong)


def test_every_key_is_described() -> None:
    wrong = [
        f"{name}: {key}"
        for name, part in parts_of_all()
        for key, entry in part.get("properties", {}).items()
        if entry
        and entry.keys().isdisjoint(("description", "$ref", "properties", "items"))
    ]
    assert not wrong, "\n".join(wrong)


def test_rules_that_descriptions_name_exist() -> None:
    rules = {entry.name for entry in rule_entries()}
    named = {
        rule
        for name in DIALECTS
        for rule in re.findall(r"speccheck explain (\w+)", published_text(name))
    }
    assert len(named) >= 5
    assert named <= rules


@pytest.mark.parametrize("name", RIGHT)
def test_right_files_are_valid(name: str) -> None:
    assert errors(name, loaded(name, RIGHT[name])) == []


@pytest.mark.parametrize(
    ("name", "mistake"),
    [(name, mistake) for name, group in MISTAKES.items() for mistake in group],
)
def test_mistakes_are_refused(name: str, mistake: Mistake) -> None:
    assert RIGHT[name].count(mistake.right) == 1
    text = RIGHT[name].replace(mistake.right, mistake.wrong)
    assert errors(name, loaded(name, text)) == [mistake.at]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # YAML 1.1 reads numbers and switches that YAML 1.2, as editors read, does not
        ("nanotron", RIGHT["nanotron"].replace("15_000", "'15_000'")),
        ("axolotl", "base_model: a\nbf16: 'yes'\nlearning_rate: '2e-5'\n"),
        ("llamafactory", "learning_rate: 1e-4\ndo_train: 'on'\n"),
        ("torchtune", "optimizer: {lr: 2e-5}\n"),
        ("verl", "actor_rollout_ref: {actor: {optim: {lr: 1e-6}}}\n"),
        # what Hugging Face fills in
        ("deepspeed", "optimizer: {params: {lr: auto, betas: auto}}\n"),
        ("deepspeed", "zero_optimization: {stage: auto}\n"),
        # the legacy form
        ("deepspeed", "zero_optimization: true\n"),
        # other spellings
        ("accelerate", "distributed_type: FSDP\nfsdp_config: {version: 2}\n"),
        ("gpt-neox", "pipe-parallel-size: 2\npipe_parallel_size: 2\n"),
        # interpolation, and what must be given later, anywhere
        ("nemo1", "trainer: ${other}\nmodel: {num_layers: '???'}\n"),
        ("olmo", "model: ${base.model}\nseed: ${oc.env:SEED}\n"),
        ("llm-foundry", "parameters: {seed: 17}\n"),
    ],
)  # fmt: skip
def test_what_a_framework_takes_is_valid(name: str, text: str) -> None:
    assert of_yaml(name, text) == []


@pytest.mark.parametrize(
    ("name", "text", "at"),
    [
        # a text is not made a number by these
        ("llamafactory", "lora_rank: '8'\n", "lora_rank"),
        ("nanotron", RIGHT["nanotron"].replace("42", "'1e3'"), "general.seed"),
        ("gpt-neox", "hidden-size: 'a'\n", "hidden-size"),
        # the same file below the key of a launcher
        ("llm-foundry", "parameters: {seed: a}\n", "parameters.seed"),
        ("nemo1", "training: {trainer: {num_nodes: a}}", "training.trainer.num_nodes"),
    ],
)  # fmt: skip
def test_what_a_framework_stops_on_is_refused(name: str, text: str, at: str) -> None:
    assert of_yaml(name, text) == [at]


def test_a_key_that_is_wrong_in_every_release_is_marked() -> None:
    keys = schema_of("deepspeed")["properties"]["zero_optimization"]["properties"]
    old = keys["stage3_gather_fp16_weights_on_model_save"]
    assert old["deprecated"] is True
    assert "gather_16bit_weights_on_model_save" in old["deprecationMessage"]
    assert "gather_16bit_weights_on_model_save`" in old["markdownDescription"]


def test_a_key_that_some_release_still_needs_is_not_underlined() -> None:
    ratio = schema_of("hf-trainer")["properties"]["warmup_ratio"]
    assert ratio["description"].startswith("Removed in ")
    assert "warmup_steps" in ratio["description"]
    # VS Code underlines a key of JSON for either of them
    assert ratio.keys().isdisjoint({"deprecated", "deprecationMessage"})


# A launch gives another value than the file has wrong, or a script takes more.
_OTHERWISE = {"pass_launch_gives_another", "pass_list_of_a_script"}


@pytest.mark.slow
def test_right_fixtures_of_rules_are_valid(tmp_path: Path) -> None:
    judged = 0
    for path in all_fixtures():
        if path.stem in _OTHERWISE or not path.stem.startswith("pass"):
            continue
        for name, text in load(path).files.items():
            target = tmp_path / Path(name).name
            target.write_text(text, encoding="utf-8")
            judged += valid_as_detected(target)
            target.unlink()
    assert judged >= 100


def test_published_setups_are_valid() -> None:
    folders = (ROOT / "fixtures" / "published", ROOT / "fixtures" / "examples")
    files = [path for folder in folders for path in sorted(folder.rglob("*"))]
    assert sum(valid_as_detected(path) for path in files if path.is_file()) >= 5


def valid_as_detected(path: Path) -> int:
    """Return how many files there are with a schema, each of which must be valid."""
    if path.suffix not in {".yaml", ".yml", ".json", ".toml"}:
        return 0
    names = [file.format for file in read_file(str(path))[1]]
    if path.suffix != ".json":  # DeepSpeed reads no YAML: programs load it as they like
        names = [name for name in names if name != "deepspeed"]
    for name in names:
        if name in DIALECTS:
            document = loaded(name, path.read_text("utf-8"), path.suffix)
            assert errors(name, document) == [], path
    return sum(name in DIALECTS for name in names)


def test_schema_command_prints_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "axolotl"]) == 0
    assert capsys.readouterr().out == published_text("axolotl")


def test_schema_command_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "axolot\x1b[31m"]) == 2
    assert main(["schema", "axolot"]) == 2
    escaped, plain = capsys.readouterr().err.splitlines()
    assert "\x1b" not in escaped
    assert plain.startswith(
        "speccheck: schema axolot: no such schema; did you mean axolotl? there are "
    )
    assert "native" in plain
    assert "torchtitan" in plain


def argued() -> dict[tuple[str, str], set[str]]:
    """Return the files that docs/editors.md says are not valid, and at which keys."""
    rows = re.findall(
        r"^\| (\S+) `(.+?)` \| (.+?) \| .+ \|$", PAGE.read_text(), re.MULTILINE
    )
    return {(repo, path): {*re.findall("`(.+?)`", keys)} for repo, path, keys in rows}


def test_the_page_names_every_schema() -> None:
    text = PAGE.read_text()
    for name in DIALECTS:
        assert f"| `{name}` |" in text


@needs_corpus
def test_published_files_are_valid_or_argued() -> None:
    public = public_names(corpus_folder("configs"))
    found: dict[tuple[str, str], set[str]] = {}
    read = 0
    for name, path in PUBLISHED_FILES:
        try:
            document = loaded(name, path.read_text("utf-8"), path.suffix)
        except json.JSONDecodeError:
            # to be filled in first: no loader reads it, and speccheck says so
            assert read_file(str(path))[0].state == "template", path
            continue
        read += 1
        if keys := wrong_keys(name, document):
            found[(public[path].repository, public[path].path)] = keys
    assert found == argued()
    assert read >= 480
    assert len(found) <= (1 - LEAST_VALID) * read


class EditorLoader(yaml.SafeLoader):
    """Reads YAML 1.2, as editors do: fewer words are switches, fewer texts numbers."""


EditorLoader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if rule[0].rpartition(":")[2] in {"null", "merge"}]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for kind, pattern in (
    ("bool", r"(true|True|TRUE|false|False|FALSE)$"),
    ("int", r"[-+]?[0-9]+$"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$"),
):
    tag = f"tag:yaml.org,2002:{kind}"
    EditorLoader.add_implicit_resolver(tag, re.compile(pattern), None)


@needs_corpus
def test_editors_find_the_same_in_published_files() -> None:
    public = public_names(corpus_folder("configs"))
    found: dict[tuple[str, str], set[str]] = {}
    for name, path in PUBLISHED_FILES:
        if path.suffix in {".yaml", ".yml"}:
            document = yaml.load(path.read_text("utf-8"), EditorLoader)  # noqa: S506 - safe
            if keys := wrong_keys(name, document):
                found[(public[path].repository, public[path].path)] = keys
    files = {
        item: keys
        for item, keys in argued().items()
        if not item[1].endswith(".json")  # that has one reading
    }
    assert found == files


def wrong_keys(name: str, document: Any) -> set[str]:  # noqa: ANN401 - any document
    """Return the keys that a schema points at."""
    errors_found = validator_of(name).iter_errors(document)
    return {key for finding in errors_found for key in keys_of(finding)}


def keys_of(error: jsonschema.ValidationError) -> list[str]:
    """Return the keys that an error is about: the unknown ones, or its own."""
    if error.validator == "additionalProperties":
        before = error.message.partition(" do")[0].partition(" w")[0]
        return re.findall("'(.+?)'", before)
    return [".".join(str(part) for part in error.absolute_path)]


def catalogue() -> list[dict[str, Any]]:
    """Return the entries for SchemaStore: the last block of JSON on the page."""
    blocks = re.findall(
        r"^```json\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    entries: list[dict[str, Any]] = json.loads(blocks[-1])
    return entries


def test_entries_for_schemastore_name_schemas() -> None:
    for entry in catalogue():
        name = entry["url"].rpartition("/")[2].removesuffix(".json")
        assert name in DIALECTS
        assert all(re.search("[a-z]{4}", item) for item in entry["fileMatch"])


@needs_corpus
def test_entries_for_schemastore_take_no_file_of_others() -> None:
    public = public_names(corpus_folder("configs"))
    taken = 0
    for entry in catalogue():
        name = entry["url"].rpartition("/")[2].removesuffix(".json")
        for pattern in entry["fileMatch"]:
            anywhere = pattern if pattern.startswith("**/") else f"**/{pattern}"
            wanted = re.compile(fnmatch.translate(anywhere.replace("**/", "*/")))
            for path, item in public.items():
                # SchemaStore sees paths below any folder
                if wanted.fullmatch(f"/{item.repository}/{item.path}"):
                    assert path.parent.name == name, (pattern, item.path)
                    taken += 1
    assert taken >= 20
