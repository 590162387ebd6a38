"""Branches, loops, functions, scripts in scripts, and texts that no shell accepts."""

import pytest

from slow_cases import few
from speccheck.validator.sources.shell.interpreter import parse_script
from speccheck.validator.sources.shell.script import Script


def runs(script: Script) -> list[list[str]]:
    """Return the words of each `run ...`; a question mark precedes unsure ones."""
    return [
        [word.text if word.resolved else f"?{word.text}" for word in command.words[1:]]
        for command in script.commands
        if command.words[0].text == "run"
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # Decided by the text.
        ("A=2\nif [ $A -gt 1 ]; then B=x; else B=y; fi\nrun $B", ["x"]),
        ("A=2\nif [[ $A == 3 || $A != 2 ]]; then B=x; else B=y; fi\nrun $B", ["y"]),
        (
            'A=\nif [ -z "$A" ]; then B=x; fi\nif [ -n "$A" ]; then B=y; fi\nrun $B',
            ["x"],
        ),
        (
            "A=ab\nif [[ $A == *b ]] && (( 2 > 1 )); then B=x; else B=y; fi\nrun $B",
            ["x"],
        ),
        ("A=7b\ncase $A in 13b) B=x;; 7*|8*) B=y;; *) B=z;; esac\nrun $B", ["y"]),
        ("A=1\nfalse && A=2\ntrue || A=3\nrun $A", ["1"]),
        ("A=0\n[ $A = 1 ] && B=x || B=y\nrun $B", ["y"]),
        ("A=1\nif ! test $A = 1; then B=x; else B=y; fi\nrun $B", ["y"]),
        ("A=1\nwhile false; do A=2; done\nuntil true; do A=3; done\nrun $A", ["1"]),
        ("(( A = 2 * 3 ))\nrun $A", ["6"]),
        ("cd dir && A=1\nmkdir -p x || exit 1\nrun $A", ["1"]),
        # Not decided: what differs is unknown.
        ("if [ -f x ]; then A=1; else A=2; fi\nrun $A", ["?${A}"]),
        ("if [ -f x ]; then A=1; else A=1; fi\nrun $A", ["1"]),
        ("A=1\nif [ -f x ]; then A=2; fi\nrun $A", ["?${A}"]),
        ("A=1\nif [ -f x ]; then A=2; fi\nA=3\nrun $A", ["3"]),
        ("A=1\ngrep -q x y && A=2\nrun $A", ["?${A}"]),
        ("case $X in a) A=1;; b) A=2;; esac\nrun $A", ["?${A}"]),
        ("A=1\nwhile read x; do A=2; done\nrun $A", ["?${A}"]),
        ("i=0\nfor x in a b; do i=$((i+1)); done\nrun $i", ["?${i}"]),
        # The only value that is written is the one.
        ('if [ -z "$A" ]; then A=1; fi\nrun $A', ["1"]),
        ('A=4\nif [ -n "$1" ]; then A=$1; fi\nrun $A', ["4"]),
        ("if [ -f x ]; then A=1; else exit 1; fi\nrun $A", ["1"]),
        ("case $X in a) A=1;; *) echo no; exit 1;; esac\nrun $A", ["1"]),
        # Options that only one branch has are there, but unsure.
        ("A=(-a)\nif [ -f x ]; then A+=(--b 2); fi\nrun ${A[@]}", ["-a", "?--b", "?2"]),
        ("A='-a'\nif [ -f x ]; then A=\"$A --b\"; fi\nrun $A", ["-a", "?--b"]),
        ("A='-z'\nif [ -f x ]; then A=\"-y $A\"; fi\nrun $A", ["?-y", "-z"]),
        (
            "if [ -f x ]; then A=(-t 4 -p); else A=(-t 8 -p); fi\nrun ${A[@]}",
            ["-t", "?4", "?8", "-p"],
        ),
        ("if [ -f x ]; then A=--a; else A=; fi\nrun $A", ["?--a"]),
        # Loops.
        ("for A in 4; do :; done\nrun $A", ["4"]),
        ("for A in 1 2; do :; done\nrun $A", ["?${A}"]),
        ("for ((A=0; A<4; A++)); do B=1; done\nrun $A $B", ["?${A}", "1"]),
        (
            "for A in 1 2; do B=x; [ -f y ] && continue; C=z; done\nrun $B $C",
            ["x", "z"],
        ),
        # Functions, subshells.
        ("f() { A=$1; local B=2; }\nB=1\nf 8\nrun $A $B", ["8", "1"]),
        ("f() { return; A=2; }\nA=1\nf\nrun $A", ["1"]),
        ("A=1\n(A=2; B=3)\nrun $A ${B:-4}", ["1", "4"]),
        ("set -- a b\nshift\nrun $1 $#", ["b", "1"]),
        ('eval \'A=1; B="$A 2"\'\nrun "$B"', ["1 2"]),
    ],
)
def test_branches_leave_what_they_agree_on(text: str, words: list[str]) -> None:
    script = parse_script(text)
    assert runs(script) == [words]
    assert script.problems == ()


def test_commands_of_branches_are_marked() -> None:
    script = parse_script(
        "export A=1\n"
        "run always\n"
        "if [ -f x ]; then run maybe; export B=1; fi\n"
        "if [ 1 = 2 ]; then run never; export C=1; fi\n"
        "uncalled() { run perhaps $1; export D=1; }\n"
        "called() { run called $1; }\n"
        "called 3\n"
        "exit 0\n"
        "run dead\n"
    )
    assert [
        (command.words[1].text, command.conditional, command.line)
        for command in script.commands
    ] == [
        ("always", False, 2),
        ("maybe", True, 3),
        ("called", False, 6),
        ("perhaps", True, 5),
    ]
    assert runs(script)[2] == ["called", "3"]
    assert [(item.name, item.conditional) for item in script.assignments] == [
        ("A", False),
        ("B", True),
        ("D", True),
    ]
    assert set(script.exports) == {"A", "B"}
    assert script.exports["B"].conditional


def test_inner_shells_see_exports_and_pass_theirs_on() -> None:
    script = parse_script(
        "A=1\nexport B=2\n"
        "bash -euo pipefail -c 'export C=3; run $A $B $C $0 $1' name arg\n"
        "(export D=4)\n"
        "run $C\n"
        "bash <<'END'\nrun $B\nEND\n"
        "cat <<END\nrun data\nEND\n"
        "bash script.sh -c 'run no'\n"
        'ssh -p 22 node1 "cd /code && run there"\n'
    )
    assert runs(script) == [
        ["?${A}", "2", "3", "?${0}", "arg"],
        ["?${C}"],
        ["2"],
        ["there"],
    ]
    assert set(script.exports) == {"B", "C", "D"}


def test_arguments_of_the_script_are_none_of_an_inner_one() -> None:
    script = parse_script(
        "A=$1\n"
        'bash -c "run --a $A --b $2"\n'
        'f() { eval "run --a $A"; eval "run --c $1"; }\n'
        "f x\n"
    )
    assert runs(script) == [
        ["--a", "?${1}", "--b", "?${2}"],
        ["--a", "?${1}"],
        ["--c", "x"],
    ]


@pytest.mark.parametrize(
    ("text", "line", "message", "words"),
    [
        ("echo 'a\nrun b", 1, "single quote", ["b"]),
        ('echo "a\nrun b', 1, "double quote", ["b"]),
        ("A=$(date\nrun b", 1, "expansion", ["b"]),
        ("x\nA=(--a 1\nrun b", 2, "array", ["b"]),
        ("A=(1\nB=(2)\nrun ${A[@]} ${B[@]}", 1, "array", ["1", "2"]),
        ("[[ a == b\nrun b", 1, "'[['", ["b"]),
        ("fi\nrun b", 1, "'fi'", ["b"]),
        ("run b )\n", 1, "')'", ["b"]),
        ("if true; then\nrun b", 1, "'fi'", ["b"]),
        ("for x in 1; do\nrun $x", 1, "'done'", ["1"]),
        ("run b <<END\ntext\n", 1, "here-document", ["b"]),
        ("run b \\ \n  --c 1", 1, "backslash", ["b", " "]),
        ("run b\n  --c 1", 2, "--c is read as a command", ["b"]),
        ("run b \\\n  # note\n  --c 1", 3, "--c is read as a command", ["b"]),
    ],
)
def test_what_is_broken_is_told_and_the_rest_is_read(
    text: str, line: int, message: str, words: list[str]
) -> None:
    script = parse_script(text)
    assert runs(script) == [words]
    assert script.problems[0].line == line
    assert message in script.problems[0].message


BOMBS = {
    "doubled": "A='x x'\n" + "A=$A$A\n" * 60 + "run $A",
    "doubled in quotes": "A=xx\n" + 'A="$A$A"\n' * 60 + "run $A",
    "chained": "".join(f'A{n + 1}="$A{n} $A{n}"\n' for n in range(80)) + "run $A80",
    "array": "A=(x x)\n" + "A=(${A[@]} ${A[@]})\n" * 60 + "run ${A[@]}",
    "evaluated": "A='eval $A; eval $A'\neval $A\nrun",
    "recursive": "f() { f; f; }\nf\nrun",
    "loops": "for i in 1 2; do " * 30 + "a\n" + "done; " * 30 + "run",
    "branches": 'if x; then A="$A --a"; else A="$A --b"; fi\n' * 500 + "run $A",
    "options": "A='" + "--x 1 " * 5000 + "'\n" + "echo $A\n" * 500 + "run",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=list(BOMBS))
def test_what_a_script_expands_to_stays_small(text: str) -> None:
    script = parse_script(text)
    assert len(runs(script)) == 1
    words = [word for command in script.commands for word in command.words]
    assert len(words) < 50_000
    assert sum(len(word.text) for word in words) < 1_000_000


OPENERS = (
    *('"', "'a' \"", "$(", "${A:-", "${A%", "$((", "(", "{ ", "if ", "`", "[[ "),
    *("A=(", "case a in ", "for x in ", "$(cat <<E\n", "cat <<E\n", "f() { ", "$'"),
)


@pytest.mark.parametrize("opener", few(OPENERS, {*OPENERS[::6]}.__contains__))
def test_what_never_closes_is_read_once(opener: str) -> None:
    """A reader that starts anew at each would take hours."""
    script = parse_script(opener * (20_001 // len(opener)) + "\nrun a")
    assert len(script.problems) <= 100
    assert len(script.commands) <= 20_000


def test_numbers_of_any_size_are_no_trouble() -> None:
    script = parse_script(
        f"run $((9**9**9**9)) $(({'1+' * 3000}1)) $(({'(' * 400}1{')' * 400}))"
    )
    assert [word.startswith("?") for word in runs(script)[0]] == [True, True, True]


def test_what_a_check_refuses_is_not_the_value_of_the_run() -> None:
    script = parse_script(
        'SIZE=""\nKEPT=7b\n'
        'if [[ -z "$SIZE" || -z "$KEPT" ]]; then echo usage; exit 1; fi\n'
        "python train.py --size=$SIZE --kept=$KEPT\n"
    )
    (command,) = [c for c in script.commands if c.words[0].text == "python"]
    words = [(word.text, word.resolved) for word in command.words[2:]]
    assert words == [("--size=${SIZE}", False), ("--kept=7b", True)]


def test_a_script_that_is_held_in_a_variable_and_written_by_echo() -> None:
    script = parse_script(
        "SIZE=4\n"
        "body=$(cat <<- EOM\n"
        '  if [ "\\$RANK" -eq 0 ]; then\n    echo first ;\n  fi ;\n'
        "  python train.py --size $SIZE\n"
        "EOM\n)\n"
        'echo "$body" > body.sh\n'
        "torchrun --no-python bash body.sh\n"
    )
    (command,) = [c for c in script.commands if c.words[0].text == "python"]
    assert [word.text for word in command.words] == [
        "python",
        "train.py",
        "--size",
        "4",
    ]
    assert command.outer is not None
    assert command.outer.words[0].text == "torchrun"


def test_a_script_that_is_too_long_is_read_in_part_and_says_so() -> None:
    rows = "torchrun --nnodes 2 train.py\n" + "echo again\n" * 40_000
    script = parse_script(rows, name="train.sh")
    assert script.commands[0].words[0].text == "torchrun"
    assert [unseen.what for unseen in script.unseen] == [
        "train.sh is read up to character 300,000 alone; what follows"
    ]
