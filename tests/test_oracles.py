"""Oracles answer case by case, and the page says what both sides say."""

import hashlib
import sys
from io import BytesIO
from pathlib import Path

import pytest

from constraints_page import Constraint
from oracles import environments
from oracles.asking import Answer, Case, NoOracle, answers, kept_answers
from oracles.edited import Text, TextResult, edits
from oracles.examples import (
    Example,
    ExampleResult,
    completed,
    configured,
    example_results,
    examples,
)
from oracles.ledger import Draw, draws, ledger_lines
from oracles.page import OracleReport, page
from oracles.registry import registry

STAND_IN = (sys.executable, str(Path(__file__).with_name("oracle_stand_in.py")))


def replies(*cases: Case, seconds: float = 20.0) -> list[Answer]:
    return [*answers(STAND_IN, cases, seconds)]


def wishing(wish: str, **keys: object) -> Case:
    return Case(wish, {}, {"wish": wish, **keys})


def test_a_case_is_accepted_or_refused_with_its_reason() -> None:
    assert replies(wishing("accept"), wishing("refuse", key="lr")) == [
        Answer("accept", accepted=True),
        Answer("refuse", accepted=False, message="ValueError: lr is refused"),
    ]


def test_what_a_case_does_to_the_process_reaches_no_other() -> None:
    crashed, after = replies(wishing("crash"), wishing("accept"))
    assert crashed == Answer("crash", accepted=None, message="crashed: exit -6")
    assert after.accepted


def test_a_case_that_hangs_is_ended() -> None:
    hung, after = replies(wishing("hang"), wishing("accept"), seconds=1.0)
    assert hung == Answer("hang", accepted=None, message="timed out after 1 s")
    assert after.accepted


def test_the_exit_of_a_command_line_is_a_refusal_in_its_words() -> None:
    (answer,) = replies(wishing("exit"))
    assert answer == Answer("exit", accepted=False, message="usage: it")


def test_a_case_that_the_framework_cannot_judge_is_open() -> None:
    (answer,) = replies(wishing("cannot"))
    assert answer.accepted is None
    assert answer.message == "cannot be asked: no package for it"


def test_warnings_are_kept() -> None:
    (answer,) = replies(wishing("warn"))
    assert answer.accepted
    assert "an old key" in answer.said[0]


def test_files_lie_beside_the_first() -> None:
    case = Case(
        "read", {"a.yaml": "{wish: read, beside: b.json}"}, {}, {"b.json": "{}"}
    )
    (answer,) = replies(case)
    assert answer == Answer("read", accepted=True)


def test_a_driver_that_ends_or_falls_silent_is_started_again(tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(
        "import json, sys, time\n"
        "print(json.dumps({'ready': 'it 1'}), flush=True)\n"
        "for line in sys.stdin:\n"
        "    case = json.loads(line)\n"
        "    if case['id'] == 'ends':\n"
        "        sys.exit(3)\n"
        "    answer = {'id': case['id'], 'accepted': True, 'message': ''}\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    command = (sys.executable, str(script))
    given = [*answers(command, [Case("ends"), Case("next")], 5.0)]
    assert given == [
        Answer("ends", accepted=None, message="crashed: the driver ended"),
        Answer("next", accepted=True),
    ]


def test_a_driver_that_does_not_start_says_why(tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text("import no_such_framework\n")
    with pytest.raises(NoOracle, match="No module named 'no_such_framework'"):
        list(answers((sys.executable, str(script)), [Case("a")], 5.0))


def test_the_keys_of_an_example_lie_over_the_base() -> None:
    base = {"model": {"name": "a", "layers": 2}, "data": [{"path": "d"}]}
    made = configured(base, {"model.name": "b", "data[0].type": "t", "more.deep": 1})
    assert made == {
        "model": {"name": "b", "layers": 2},
        "data": [{"path": "d", "type": "t"}],
        "more": {"deep": 1},
    }
    assert base["model"] == {"name": "a", "layers": 2}


def test_each_oracle_has_driver_environment_and_relations() -> None:
    known = registry()
    wrong = [
        oracle.name
        for oracle in known.oracles
        if not oracle.driver.exists() or not examples(oracle)
    ]
    assert wrong == []
    assert {oracle.environment for oracle in known.oracles} <= set(known.environments)
    files = [environment.requirements for environment in known.environments.values()]
    assert [file.name for file in files if not file.exists()] == []
    unpinned = [
        line
        for file in files
        for line in file.read_text().splitlines()
        if "==" not in line or "://" in line
    ]
    assert unpinned == []


def test_relations_of_an_oracle_that_do_not_exist_are_noticed() -> None:
    wrong = [
        f"{oracle.name}: {row}"
        for oracle in registry().oracles
        for row in {*oracle.rows, *oracle.argued, *oracle.processes}
        - {e.id for e in examples(oracle)}
    ]
    assert wrong == []
    unused = [
        f"{oracle.name}: {pattern}"
        for oracle in registry().oracles
        for pattern, reason in oracle.elsewhere.items()
        if reason not in {e.reason for e in examples(oracle)}
    ]
    assert unused == []


def test_edits_are_drawn_by_the_seed_and_of_different_keys() -> None:
    text = Text("ds.json", '{"train_batch_size": 8, "gradient_clipping": 1.0}\n')
    first = edits(text, 2, 1)
    assert first == edits(text, 2, 1)
    assert {edit.key for edit in first} == {"train_batch_size", "gradient_clipping"}


def test_a_refusal_in_the_words_of_the_mended_twin_is_of_something_else() -> None:
    oracle = registry().oracles[0]
    row = Example("a", "refused", "why", "", (Case("a/example"), Case("a/mended")))
    same = [Answer("a/example", False, "no"), Answer("a/mended", False, "no")]  # noqa: FBT003
    (result,) = example_results(oracle, [row], same)
    assert not result.example_agrees
    (result,) = example_results(oracle, [row], [same[0]._replace(message="x"), same[1]])
    assert result.example_agrees


def test_the_page_says_what_both_sides_say() -> None:
    yes, no = Answer("", accepted=True), Answer("", accepted=False, message="Bad: |x")
    rows = [
        ExampleResult("it", "a-b", "refused", "why", "", no, yes),
        ExampleResult("it", "a-c", "refused", "both", "", yes, yes, "refused later"),
        ExampleResult("it", "a-d", "warned", "old", "", yes, yes),
        ExampleResult("it", "a-e", "refused", "far", "holds from 9 on"),
    ]
    edit = Text("f.yaml", "", "lr", "word", "1", "two")
    results = [
        TextResult("it", edit, no, ("value_refused: lr two",)),
        TextResult("it", edit, no, ()),
        TextResult("it", edit, yes, ("value_refused: lr two",)),
        TextResult("it", edit._replace(key="wd"), yes, ("value_refused: wd two",)),
        TextResult("it", edit, yes, ()),
    ]
    plain = [TextResult("it", Text("f.yaml", ""), yes, ())]
    text = page(
        [
            OracleReport("it", "it 1.0", "its loader", rows, plain, results),
            OracleReport("other", "other 2.0", skipped="no network"),
        ],
        {"it/value_refused: word": "not typed"},
    )
    lines = text.splitlines()
    at = lines.index("## The oracles")
    assert lines[at:] == [
        "## The oracles",
        "",
        "| oracle | release | what is asked |",
        "| --- | --- | --- |",
        "| it | it 1.0 | its loader |",
        "| other | other 2.0 | not asked: no network |",
        "",
        "## Relations",
        "",
        (
            "| oracle | rows | agrees | disagrees, argued | disagrees, not argued "
            "| not asked | agrees, of those asked | warning seen |"
        ),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| it | 4 | 2 | 1 | 0 | 1 | 67% | 0 |",
        "| all | 4 | 2 | 1 | 0 | 1 | 67% | 0 |",
        "",
        "## Published files and single edits",
        "",
        (
            "| oracle | files | the framework accepts | of these we refuse | edits "
            "| both refuse | both accept | only the framework refuses "
            "| only we refuse | its refusals that we share "
            "| our refusals that it shares |"
        ),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| it | 1 | 1 | 0 | 5 | 1 | 1 | 1 | 2 | 50% | 33% |",
        "",
        "## Disagreements",
        "",
        "3 rows of 4 cases, 1 of them not argued yet.",
        "",
        "### it",
        "",
        "| case | cases | the framework | speccheck | argument |",
        "| --- | ---: | --- | --- | --- |",
        "| `it/a-c/example` | 1 | accepts | refused: both | refused later |",
        "| `it/f.yaml/lr=two` | 1 | Bad: \\|x | accepts | not argued yet |",
        "| `it/value_refused: word` | 2 | accepts | lr two; wd two | not typed |",
        "",
        "## Relations that are not asked about",
        "",
        "| relation | why |",
        "| --- | --- |",
        "| it/a-e | holds from 9 on |",
    ]


def test_a_case_is_asked_once_until_its_driver_changes(tmp_path: Path) -> None:
    kept = tmp_path / "answers" / "it.jsonl"
    case = wishing("refuse", key="lr")
    refused = Answer("refuse", accepted=False, message="ValueError: lr is refused")
    assert kept_answers(STAND_IN, [case], 20.0, kept, "v1") == [refused]
    nobody = (sys.executable, "-c", "")
    again = case._replace(id="refuse")
    assert kept_answers(nobody, [again], 5.0, kept, "v1") == [refused]
    with pytest.raises(NoOracle):
        kept_answers(nobody, [case], 5.0, kept, "v2")


def test_what_runs_after_an_oracle_is_asked_and_argued() -> None:
    rows = rows_of("accelerate")
    later = rows["multinode-launcher-of-no-such-name"]
    assert (later.reason, later.argument) == (
        "",
        "runs where DeepSpeed starts the other machines",
    )
    assert rows["mesh-without-engine"].reason == (
        "asks an Accelerator of several processes"
    )


def test_what_no_oracle_can_be_asked_says_why() -> None:
    assert rows_of("llamafactory")["kt-activation-without-kt"].reason == (
        "speaks of kt_cpu_activation, which newer releases have"
    )
    assert rows_of("transformers")["kto-batch-of-one"].reason == "speaks of keys of TRL"
    assert rows_of("trl")["kto-batch-of-one"].reason == ""


def test_a_row_is_held_to_the_release_of_the_package_that_it_names() -> None:
    row = "groups-of-a-batch-that-shrinks"  # from TRL 1.9.0 on
    assert rows_of("trl")[row].reason == ""
    assert rows_of("trl-0")[row].reason == "holds from trl 1.9.0 on"


def test_the_processes_of_a_job_lie_beside_the_file() -> None:
    stated = rows_of("torchtitan")["seed-checkpoint-on-several-ranks"]
    assert [case.beside for case in stated.cases] == [
        {"world_size": "8"},
        {"world_size": "1"},
    ]
    assert "plan.cluster.world_size" not in stated.cases[0].keys
    of_oracle = rows_of("deepspeed")["elastic-model-parallel-across-nodes"]
    assert of_oracle.cases[0].beside == {"world_size": "8"}


def test_items_of_lists_have_what_their_definition_demands() -> None:
    items = {"env": {"name": "A"}, "containers": {"name": "main"}}
    document = {"containers": [{"env": [1, {"name": "B"}]}], "args": [1]}
    assert completed(document, items) == {
        "containers": [{"name": "main", "env": [{"name": "A"}, {"name": "B"}]}],
        "args": [1],
    }


def test_a_file_of_an_environment_must_be_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "urlopen", lambda *_, **__: BytesIO(b"kind: A"))
    good = hashlib.sha256(b"kind: A").hexdigest()
    environments.fetch({"a.yaml": {"url": "https://x", "sha256": good}}, tmp_path / "f")
    assert (tmp_path / "f" / "a.yaml").read_text() == "kind: A"
    with pytest.raises(environments.NotBuilt, match=r"b\.yaml is not what it was"):
        environments.fetch({"b.yaml": {"url": "https://x", "sha256": "0"}}, tmp_path)


def test_the_ledger_counts_what_is_told_and_what_an_oracle_confirms() -> None:
    rows = [
        Constraint("it", "a:1", "c", "error", "relation", "one, other"),
        Constraint("it", "a:2", "c", "warn", "open", "why | not"),
        Constraint("it", "a:3", "c", "error", "not-by-file", "a GPU"),
    ]
    yes, no = Answer("", accepted=True), Answer("", accepted=False, message="no")
    results = [ExampleResult("it", "other", "refused", "", "", no, yes)]
    lines = [*ledger_lines(rows, results, [Draw(7, 9, 4, "2 of 5", 3, 4, "nothing")])]
    assert "| it | 2 | 1 | 100% | 1 | 0% | 1 | 1 | 1 |" in lines
    assert "| it | warn | why \\| not |" in lines
    assert {draw.seed for draw in draws()} == {41, 43}
    assert lines[-1] == "| 7 | 9 | 4 | 2 of 5 | 3 (75%) | 4 (100%) | nothing |"


def rows_of(name: str) -> dict[str, Example]:
    (oracle,) = (oracle for oracle in registry().oracles if oracle.name == name)
    return {row.id: row for row in examples(oracle)}


def test_null_takes_a_key_off_the_base() -> None:
    example, mended = rows_of("llamafactory")["train-without-dataset"].cases
    assert "dataset" not in example.keys
    assert mended.keys["dataset"] == "identity"
