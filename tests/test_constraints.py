"""What tools/constraints proposes from small source trees."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

from constraints.__main__ import main, work_list
from constraints.compare import Extract, extract
from constraints.conditions import as_text
from constraints.report import Entry, WorkList, row_text
from constraints.table import KeyTable, KnownRelation, Row
from constraints.tree import read_tree
from speccheck.validator.evidence.framework_keys import FrameworkKeys, KeyRow
from speccheck.validator.evidence.key_relations import KeyRelation

ROWS: tuple[Row, ...] = (
    {"path": "a", "type": "bool", "default": False},
    {"path": "b", "type": "bool", "default": False},
    {"path": "mode", "type": "enum", "choices": ["fast", "slow"], "default": "fast"},
    {"path": "size", "type": "int", "default": 8, "range": ">= 1"},
    {"path": "part", "type": "int", "default": 1},
    {"path": "name", "type": "str|null", "default": None},
    {"path": "items", "type": "list[str]|null", "default": None},
)


def table_of(rows: tuple[Row, ...] = ROWS, *relations: KnownRelation) -> KeyTable:
    keys = {
        row["path"]: KeyRow(
            row["path"],
            row["type"],
            row.get("choices", ()),
            row.get("range", ""),
            defaults=[["1.0", row["default"]]],
        )
        for row in rows
    }
    catalogue = FrameworkKeys(
        framework="made-up",
        family="made-up",
        versions=("1.0",),
        rows=keys,
        blocks=frozenset(),
        aliases={},
        patterns=(),
        default_policy="reject",
    )
    by_path = {row["path"]: row for row in rows}
    return KeyTable("made-up", "", by_path, relations, catalogue)


def read(folder: Path, text: str, table: KeyTable | None = None) -> Extract:
    folder.mkdir(exist_ok=True)
    (folder / "config.py").write_text(dedent(text), "utf-8")
    return extract(read_tree(str(folder)), table or table_of())


def checked(folder: Path, body: str, table: KeyTable | None = None) -> WorkList:
    """Return the work list of a dataclass whose __post_init__ has this body."""
    head = "class Config:\n    def __post_init__(self):\n"
    indented = "".join(f"        {line}\n" for line in dedent(body).strip().split("\n"))
    table = table or table_of()
    return work_list(read(folder, head + indented, table), table)


def shown(entries: list[Entry] | WorkList) -> list[str]:
    listed = entries.entries if isinstance(entries, WorkList) else entries
    return [
        f"{entry.constraint.kind}: {as_text(entry.constraint.condition)}"
        for entry in listed
    ]


def test_keys_of_argparse(tmp_path: Path) -> None:
    extracted = read(
        tmp_path,
        """
        parser.add_argument("--size", "-s", type=int, default=4)
        parser.add_argument("--mode", choices=["fast", "slow"], dest="how")
        parser.add_argument("--no-a", action="store_false", dest="a")
        parser.add_argument("--items", nargs="+", type=str)
        parser.add_argument("positional")
        """,
    )
    rows = [
        (key.path, key.type, key.choices, key.default, key.dest, key.aliases)
        for key in extracted.keys
    ]
    assert rows == [
        ("--size", "int", (), 4, "size", ("-s",)),
        ("--mode", "enum", ("fast", "slow"), None, "how", ()),
        ("--no-a", "flag", (), True, "a", ()),
        ("--items", "list[str]", (), None, "items", ()),
    ]
    assert extracted.keys[0].source == "config.py:2"


def test_keys_of_pydantic_and_dataclasses(tmp_path: Path) -> None:
    extracted = read(
        tmp_path,
        """
        class How(str, Enum):
            FAST = "fast"
            SLOW = "slow"

        class Inner(BaseModel):
            ratio: Annotated[float, Field(gt=0, le=1)] = 0.5

        class Config(Base):
            size: int | None = Field(default=None, ge=1, lt=9)
            word: "str" = Field("x", pattern="^x")
            kind: Literal["p", "q"] | None = None
            how: How = How.FAST
            inner: Inner
            many: list[Inner] = field(default_factory=list)
        """,
    )
    rows = {
        key.path: (key.type, key.choices, key.range, key.pattern, key.default)
        for key in extracted.keys
    }
    assert rows == {
        "size": ("int|null", (), ">= 1, < 9", "", None),
        "word": ("str", (), "", "^x", "x"),
        "kind": ("enum|null", ("p", "q"), "", "", None),
        "how": ("enum", ("fast", "slow"), "", "", None),
        "inner": ("object", (), "", "", None),
        "many": ("list", (), "", "", []),
        "inner.ratio": ("float", (), "> 0, <= 1", "", 0.5),
        "many[].ratio": ("float", (), "> 0, <= 1", "", 0.5),
    }


@pytest.mark.parametrize(
    ("body", "conditions"),
    [
        ("if self.a:\n    if not self.b:\n        raise ValueError", ["a and not b"]),
        (
            "if self.a:\n    pass\nelse:\n    raise ValueError(self.b)",
            ["not a"],
        ),
        (
            "if self.a:\n    pass\nelif self.mode == 'slow':\n    raise ValueError",
            ["not a and mode is slow"],
        ),
        (
            "assert self.mode in ('fast', 'slow') or self.b",
            ["mode is not fast, slow and not b"],
        ),
        ("assert not (self.a and self.b)", ["a and b"]),
        ("assert 'x' in self.items", ["items lacks x"]),
        ("assert self.part <= self.size, 'm'", ["part above size"]),
        ("assert 0 < self.part < 9", ["part at most 0 or part at least 9"]),
        ("assert self.size % self.part == 0", ["not (size multiple of part)"]),
        ("if self.size % 8:\n    raise ValueError", ["not (size multiple of 8)"]),
        (
            "n = self.part * 2\nassert self.size % n == 0",
            ["not (size multiple of part * 2)"],
        ),
        ("if self.name is None and self.a:\n    raise E", ["name is not set and a"]),
        (
            "if self.a and self.name.startswith('x'):\n    raise E",
            ["a and name begins x"],
        ),
        ("assert len(self.items) >= 2", ["items length below 2"]),
        (
            "for k in 'a', 'b':\n  if getattr(self, k) and self.part:\n    raise E",
            ["a and part", "b and part"],
        ),
        (
            "if self.a:\n    return\nassert self.name != 'x'",
            ["not a and name is x"],
        ),
        (
            "n = False\nfor item in self.items:\n    n = True\nassert not n or self.a",
            ["`n` and not a"],
        ),
        ("n, m = f()\nassert self.a or n", ["not a and `not (n)`"]),
        ("assert self.size + self.part < 9", ["`not (self.size + self.part < 9)`"]),
        ("assert self.size != f(self.part)", ["`self.size == f(self.part)`"]),
    ],
)
def test_conditions(tmp_path: Path, body: str, conditions: list[str]) -> None:
    assert shown(checked(tmp_path, body)) == [f"refused: {text}" for text in conditions]


def test_kinds(tmp_path: Path) -> None:
    result = checked(
        tmp_path,
        """
        if self.a and self.b:
            logger.warning("slow")
            self.b = False
        if self.a and self.mode == "slow":
            warnings.warn("x is deprecated", FutureWarning)
        if self.mode == "slow":
            self.part = 2
        if self.name is None:
            self.name = "x"
        self.size = self.part
        """,
    )
    assert shown(result) == [
        "warned: a and b",
        "deprecated: a and mode is slow",
        "overridden: mode is slow and part is stated and part is not 2",
    ]
    (row,) = [
        entry.proposal.row
        for entry in result.entries
        if entry.proposal and entry.constraint.kind == "overridden"
    ]
    assert row["loses"] == ["part"]


def test_flags_that_store_false_are_turned_round(tmp_path: Path) -> None:
    rows = (
        {"path": "--no-a", "dest": "a", "type": "flag", "action": "store_false"},
        {"path": "--b", "dest": "b", "type": "flag", "action": "store_true"},
    )
    table = table_of(tuple({**row, "default": False} for row in rows))
    result = checked(
        tmp_path,
        """
        assert self.a or not self.b
        if self.a:
            self.b = False
            setattr(self, "a", True)
        if not self.b:
            self.a = True
        """,
        table,
    )
    assert shown(result) == [
        "refused: --no-a and --b",
        "overridden: not --no-a and --b is given",
        "overridden: not --b and --no-a is given",
    ]


def test_validators_of_pydantic(tmp_path: Path) -> None:
    source = """
    class Config(BaseModel):
        @model_validator(mode="before")
        @classmethod
        def both(cls, data):
            if data.get("a") and not data.get("b"):
                raise ValueError("a needs b")
            return data

        @field_validator("size", "part")
        @classmethod
        def positive(cls, v):
            if v < 1:
                raise ValueError("small")
            return v

        def forward(self):
            assert self.a
    """
    assert [
        (item.function, as_text(item.condition))
        for item in read(tmp_path, source).constraints
    ] == [
        ("both", "a is given and b is not given"),
        ("positive", "size below 1"),
        ("positive", "part below 1"),
    ]


def test_a_proposed_relation_is_ready_to_paste(tmp_path: Path) -> None:
    result = checked(
        tmp_path,
        """
        if self.mode == "slow" and not self.b:
            raise ValueError(f"slow {self.mode} needs b. Set it.")
        """,
    )
    (entry,) = result.entries
    assert entry.proposal is not None
    assert row_text(entry.proposal.row) == dedent(
        """\
        - id: mode-b
          kind: refused
          when: {mode: slow}
          needs: {b: true}
          reason: slow {self.mode} needs b
          remedy: See that b.
          source: config.py:4 (__post_init__)
          example: {mode: slow}
          mended: {b: true, mode: slow}"""
    )
    assert row_text(entry.proposal.row) in result.as_text()


@pytest.mark.parametrize(
    ("body", "example", "mended"),
    [
        (
            "assert self.size % self.part == 0",
            {"part": 3},
            {"part": 1},
        ),
        (
            "if self.part > self.size:\n    raise ValueError",
            {"size": 1, "part": 2},
            {"size": 2, "part": 2},
        ),
        (
            "if self.a and self.b:\n    raise E",
            {"a": True, "b": True},
            {"a": True, "b": False},
        ),
        (
            "if self.name and self.a:\n    raise E",
            {"a": True, "name": "a"},
            {"a": False, "name": "a"},
        ),
    ],
)
def test_solve_breaks_and_mends(
    tmp_path: Path, body: str, example: Row, mended: Row
) -> None:
    (entry,) = checked(tmp_path, body).entries
    assert entry.proposal is not None
    assert entry.proposal.is_shown, entry.proposal.fault
    row = entry.proposal.row
    assert (row["example"], row["mended"]) == (example, mended)


def test_what_has_no_example_is_marked(tmp_path: Path) -> None:
    result = checked(tmp_path, "if self.size > 5 and self.size < 3:\n    raise E")
    (entry,) = result.entries
    assert entry.proposal is not None
    assert not entry.proposal.is_shown
    assert "# without example: no example in a small search" in result.as_text()


def test_what_is_not_expressible_has_a_reason(tmp_path: Path) -> None:
    result = checked(
        tmp_path, "assert self.size + self.part < 9\nassert self.a and self.other"
    )
    assert [entry.reason for entry in result.entries] == [
        "arithmetic: not (self.size + self.part < 9)",
        "no key of the table: other",
    ]
    assert "Not expressible (2)" in result.as_text()


def test_what_the_table_says_is_left_out(tmp_path: Path) -> None:
    relation = KeyRelation(
        "both", "refused", ["a", "is", [True]], ["a", "b"], "", "", []
    )
    table = table_of(ROWS, KnownRelation(relation, "own/made config.py:4 (x)"))
    result = checked(
        tmp_path,
        """
        assert not (self.a and self.b)
        assert self.size >= 1
        assert self.mode in ["fast", "slow"]
        if self.a and self.b:
            logger.warning("of another kind")
        """,
        table,
    )
    assert shown(result) == ["warned: a and b"]
    assert [recall.by_line and recall.by_keys for recall in result.recalls] == [True]
    assert result.constraints == 4


def test_keys_beside_the_table(tmp_path: Path) -> None:
    source = "made/made config.py"
    rows = (*ROWS, {"path": "old", "type": "int", "default": 1, "source": source})
    table = table_of(rows)
    extracted = read(
        tmp_path,
        """
        @dataclass
        class Config:
            a: bool = False
            b: str = "x"
            mode: Literal["fast", "other"] = "fast"
            size: int = Field(4, ge=2)
            extra: float = 0.5

        @dataclass
        class OfSomethingElse:
            x: int
            y: int
        """,
        table,
    )
    result = work_list(extracted, table)
    assert [(item.kind, item.key, item.text) for item in result.differences] == [
        ("changed", "b", "type bool -> str; default False -> 'x'"),
        ("changed", "mode", "choices ['fast', 'slow'] -> ['fast', 'other']"),
        ("changed", "size", "range >= 1 -> >= 2; default 8 -> 4"),
        ("new", "extra", "float, default 0.5"),
        ("gone", "old", "the file has no such key"),
    ]


def test_since_shows_what_differs_between_trees(tmp_path: Path) -> None:
    head = "@dataclass\nclass Config:\n    a: bool = False\n"
    validator = "    def __post_init__(self):\n        assert self.a or self.b\n"
    old = read(tmp_path / "old", head + "    gone: int = 1\n" + validator)
    later = "        assert not (self.a and self.mode == 'slow')\n"
    new = read(tmp_path / "new", head + "    part: int = 1\n\n" + validator + later)
    result = work_list(new, table_of(), old)
    assert [(item.kind, item.key) for item in result.differences] == [
        ("new", "part"),
        ("gone", "gone"),
    ]
    assert shown(result) == ["refused: a and mode is slow"]


def test_a_file_that_does_not_parse_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n", "utf-8")
    (tmp_path / "zero.py").write_bytes(b"x = 1\0")
    result = checked(tmp_path, "assert self.a or self.b")
    assert [text.partition(": does not parse")[0] for text in result.passed_over] == [
        "broken.py:1",
        "zero.py",
    ]
    assert shown(result) == ["refused: not a and not b"]
    assert "Not read (2)" in result.as_text()


def test_source_is_not_executed(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    checked(tmp_path, f"open({str(mark)!r}, 'w')")
    assert not mark.exists()


def test_kubebuilder_markers(tmp_path: Path) -> None:
    (tmp_path / "types.go").write_text(
        dedent(
            """\
            // +kubebuilder:validation:Enum:=Fast;Slow
            type Mode string

            type Job struct {
                // +optional
                Spec JobSpec `json:"spec,omitempty"`
            }

            // +kubebuilder:validation:XValidation:rule="!(self.a&&self.b)",message="m"
            type JobSpec struct {
                // Size of it.
                // +kubebuilder:validation:Minimum=1
                // +kubebuilder:validation:Maximum=9
                // +kubebuilder:default=2
                Size *int32 `json:"size,omitempty"`
                Mode Mode `json:"mode"`
                A bool `json:"a"`
                B bool `json:"b"`
                Parts []Part `json:"parts"`
            }

            type Part struct {
                Name string `json:"name"`
            }
            """
        ),
        "utf-8",
    )
    rows = tuple({**row, "path": f"spec.{row['path']}"} for row in ROWS)
    extracted = extract(read_tree(str(tmp_path)), table_of(rows))
    described = [
        (k.path, k.type, k.choices, k.range, k.default) for k in extracted.keys
    ]
    assert described == [
        ("spec", "object", (), "", None),
        ("spec.size", "int", (), ">= 1, <= 9", 2),
        ("spec.mode", "enum", ("Fast", "Slow"), "", None),
        ("spec.a", "bool", (), "", None),
        ("spec.b", "bool", (), "", None),
        ("spec.parts", "list", (), "", None),
        ("spec.parts[].name", "str", (), "", None),
    ]
    (rule,) = extracted.constraints
    assert (as_text(rule.condition), rule.message) == ("spec.a and spec.b", "m")
    assert rule.source.endswith("types.go:6 (XValidation)")


def test_the_command_prints_both_forms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.py").write_text(
        "def validate_args(args):\n"
        "    assert not (args.bf16 and args.fp16_full_eval), 'not both'\n",
        "utf-8",
    )
    arguments = [str(tmp_path), "--framework", "hf-training-arguments"]
    assert main(arguments) == 0
    assert "when: {bf16: true, fp16_full_eval: true}" in capsys.readouterr().out
    assert main([*arguments, "--format", "json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)["constraints"]
    assert item["condition"] == "bf16 and fp16_full_eval"
    assert item["has_example"]
