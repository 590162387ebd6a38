"""Words, places, assignments, directives and options of shell scripts."""

import pytest

from speccheck.validator.sources.shell.interpreter import parse_script
from speccheck.validator.sources.shell.script import (
    Script,
    ShellCommand,
    ShellWord,
    options,
)


def command(text: str, name: str = "run", **known: str) -> ShellCommand:
    """Return the last command of that name."""
    script = parse_script(text, known)
    return [item for item in script.commands if item.words[0].text == name][-1]


def arguments(text: str, **known: str) -> list[str]:
    """Return the words of `run ...`; what is unsure has a question mark in front."""
    return [shown(word) for word in command(text, **known).words[1:]]


def shown(word: ShellWord) -> str:
    return word.text if word.resolved else f"?{word.text}"


def place(word: ShellWord) -> tuple[int, int, int, str]:
    return word.line, word.column, word.length, word.raw


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run a  b\tc", ["a", "b", "c"]),
        ("run a \\\n  b\\\nc d", ["a", "bc", "d"]),
        ("run a#b '#c' # d", ["a#b", "#c"]),
        ("run 'a \\n $X' \"b 'c'\" \"\" d\\ e", ["a \\n $X", "b 'c'", "", "d e"]),
        ('run $\'a\\tb\\\'c\' "\\$x \\"y\\" \\z"', ["a\tb'c", '$x "y" \\z']),
        ("run --a='b c'\"d\"e", ["--a=b cde"]),
        ("run a>out 2>&1 b &>/dev/null >> log c <in", ["a", "b", "c"]),
        ("run a > >(tee log) b", ["a", "b"]),
        ("run <<< 'text' a", ["a"]),
        ("run a; other b", ["a"]),
        ("run a && other b || third", ["a"]),
        ("run a | tee log &", ["a"]),
        ("(cd x; run a)", ["a"]),
        ("{ run a; }", ["a"]),
        ("time run a", ["a"]),
        ("! run a", ["a"]),
        ("if true; then run a; fi", ["a"]),
        ("run trainer.devices=[0,1] +x=* ~y", ["trainer.devices=[0,1]", "+x=*", "~y"]),
        ("run {1..4}", ["?{1..4}"]),
        ("run $(date) `date` <(ls)", ["?$(...)", "?$(...)", "?$(...)"]),
        ('run "$(echo ")" \'"\' # )\n)" b', ["?$(...)", "b"]),
    ],
)
def test_words_are_cut_as_a_shell_cuts_them(text: str, words: list[str]) -> None:
    assert arguments(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A=1\nrun $A ${A} \"$A\" '$A' x$A-y", ["1", "1", "1", "$A", "x1-y"]),
        ("run $A ${A[@]}", ["?${A}", "?${A[@]}"]),
        ("run ${A:-1} ${A-2} ${A:-$B} ${A:-a b}", ["1", "2", "?${B}", "a", "b"]),
        ("A=\nrun ${A:-1} x${A-2} $A", ["1", "x"]),
        ("A=1\nrun ${A:-2} ${A:+3} ${A+4}", ["1", "3", "4"]),
        ("run ${A:+--flag 3}", ["?--flag", "?3"]),
        ("A=\nrun ${A:+--flag 3} x", ["x"]),
        (': "${A:=5}"\nrun $A', ["5"]),
        ("run ${1:-8} $1 $@ $#", ["8", "?${1}", "?${@}", "?${#}"]),
        ("run ${A:?needed}", ["?${A}"]),
        ("A=a.b\nrun ${A%.*} ${#A}", ["?${A%.*}", "?${#A}"]),
        ("A=' x  y '\nrun $A \"$A\" a$A", ["x", "y", " x  y ", "a", "x", "y"]),
        ("A=(1 '2 3' $B)\nrun ${A[@]}", ["1", "2", "3", "?${B}"]),
        ('A=(1 \'2 3\')\nrun "${A[@]}" p"${A[@]}"s', ["1", "2 3", "p1", "2 3s"]),
        ("A=(1 '2 3')\nrun \"${A[*]}\" $A ${A[1]}", ["1 2 3", "1", "2", "3"]),
        ("A=(1)\nA+=(2 3)\nA+=(\n # 4\n 5)\nrun ${A[@]}", ["1", "2", "3", "5"]),
        ('A=1\nA+=2\nA="$A 3"\nrun $A', ["12", "3"]),
        ("A=$B:1\nrun $A", ["?${B}:1"]),
        ("A=$(date)\nrun $A x-$A", ["?${A}", "?x-${A}"]),
        ("A=1\nunset A\nrun x$A ${A:-2}", ["x", "2"]),
        ("A=1\nread A\nrun $A", ["?${A}"]),
        ("A=1 B=$A\nrun $B", ["1"]),
        ("A=/x:$PATH\nexport PATH\nrun $A", ["?/x:${PATH}"]),
        ("A=$NODES\nrun $A ${NODES:-1}", ["4", "4"]),
    ],
)
def test_variables_are_expanded(text: str, words: list[str]) -> None:
    assert arguments(text, NODES="4") == words


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * -4", "-20"),
        ("$A * ${B:-8} / B", "?$((4*8/B))"),
        ("A * A", "16"),
        ("7 / -2", "-3"),
        ("-7 % 3", "-1"),
        ("2 ** 3 ** 2", "512"),
        ("-2 ** 2", "4"),
        ("0x10 + 010", "24"),
        ("1 << A | 1", "17"),
        ("A > 3 ? A : 9", "4"),
        ("!0 && A != 5 || 0", "1"),
        ("A / 0", "?$((A/0))"),
        ("9 ** 9 ** 9", "?$((9**9**9))"),
        ("A = 5", "?$((A=5))"),
        ("$(nproc) * 2", "?$(($(...)*2))"),
        ("", "?$(())"),
    ],
)
def test_arithmetic_is_that_of_the_shell(expression: str, value: str) -> None:
    assert arguments(f"A=4\nrun $(({expression}))") == [value]


def test_a_word_stands_where_its_value_is_written() -> None:
    text = (
        "TP=8\n"
        'OPTIONS=" --layers 24 \\\n'
        '   --lr 1e-4 --name tp$TP"\n'
        "ARGS=(\n"
        "  --tp $TP  # comment\n"
        "  --cp ${CP:-2}\n"
        ")\n"
        "run ${ARGS[@]} $OPTIONS --size $((TP * 2)) --save $ROOT/x 'a b'\n"
    )
    words = {word.text: word for word in command(text).words}
    assert place(words["--tp"]) == (5, 3, 4, "--tp")
    assert place(words["8"]) == (1, 4, 1, "8")
    assert place(words["2"]) == (6, 14, 1, "2")
    assert place(words["24"]) == (2, 20, 2, "24")
    assert place(words["1e-4"]) == (3, 9, 4, "1e-4")
    assert place(words["tp8"]) == (3, 21, 5, "tp$TP")
    assert place(words["16"]) == (8, 32, 11, "$((TP * 2))")
    assert place(words["${ROOT}/x"]) == (8, 51, 7, "$ROOT/x")
    assert place(words["a b"]) == (8, 60, 3, "a b")


def test_assignments_are_listed_and_the_last_one_holds() -> None:
    script = parse_script(
        "A=1\n"
        'export B="x y" C=$A\n'
        "export A\n"
        "declare -x D=4\n"
        "export -n B\n"
        "setenv E 5\n"
        "set -a\n"
        "F=6\n"
        "set +a; G=7\n"
        "A=2\n"
    )
    assert [
        (item.name, item.value.text, item.exported, item.line)
        for item in script.assignments
        if item.name in "AB"
    ] == [
        ("A", "1", False, 1),
        ("B", "x y", True, 2),
        ("A", "1", True, 1),
        ("B", "x y", False, 2),
        ("A", "2", True, 10),
    ]
    exports = {name: item.value.text for name, item in script.exports.items()}
    assert exports == {"A": "2", "C": "1", "D": "4", "E": "5", "F": "6"}
    assert set(script.variables) == {"A", "B", "C", "D", "E", "F", "G"}
    assert (script.variables["C"].line, script.variables["C"].column) == (2, 16)
    assert script.commands == ()


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("A=1 B='x y' run", {"A": "1", "B": "x y"}),
        ("env -u Z A=1 B=2 run C=3", {"A": "1", "B": "2"}),
        ("srun -N 2 --export=ALL,A=1,B=eth0,eth1 run", {"A": "1", "B": "eth0,eth1"}),
        ("srun --export ALL,A=1 env B=2 run", {"A": "1", "B": "2"}),
        ("mpirun -np 4 -x A=1 -x PATH -x B=2 python t.py -x C=3", {"A": "1", "B": "2"}),
        ("docker run --gpus all -e A=1 --env=B=2 image run", {"A": "1", "B": "2"}),
        ("nohup env A=1 python t.py", {"A": "1"}),
        ("run A=1", {}),
    ],
)
def test_a_command_has_an_environment(text: str, environment: dict[str, str]) -> None:
    (found,) = parse_script(text).commands
    assert {item.name: item.value.text for item in found.environment} == environment
    assert all(item.exported for item in found.environment)
    for item in found.environment:
        written = text[item.value.column - 1 :]
        assert written.startswith(item.value.text)


def test_directives_stand_before_the_first_command() -> None:
    text = (
        "#!/bin/bash\n"
        "#SBATCH --nodes=4 --ntasks-per-node 8  # tasks\n"
        "##SBATCH --nodes=8\n"
        "\n"
        '#SBATCH -J "my job" -t01:00:00\n'
        "# SBATCH --mem=0\n"
        "#SBATCH --requeue\n"
        "#SBATCH --gres=gpu:8#all\n"
        "cd work\n"
        "#SBATCH --nodes=16\n"
    )
    found = parse_script(text).directives
    assert [(finding.name, finding.value) for finding in found] == [
        ("--nodes", "4"),
        ("--ntasks-per-node", "8"),
        ("--job-name", "my job"),
        ("--time", "01:00:00"),
        ("--requeue", ""),
        ("--gres", "gpu:8"),
    ]
    assert found[1][2:5] == (2, 19, 19)
    assert found[2][2:5] == (5, 9, 11)


def test_options_take_all_words_up_to_the_next_one() -> None:
    text = "run pos --a 1 --b=x=y -c --d m n -1 -5e-3 -.5 - --e='p q' -- last --f"
    found = options(command(text).words)
    assert [(flag, [value.text for value in values]) for flag, values, _ in found] == [
        ("--a", ["1"]),
        ("--b", ["x=y"]),
        ("-c", []),
        ("--d", ["m", "n", "-1", "-5e-3", "-.5", "-"]),
        ("--e", ["p q"]),
        ("--f", []),
    ]
    columns = [text.index(flag) + 1 for flag, _, _ in found]
    assert [word.column for _, _, word in found] == columns
    assert place(found[1][1][0]) == (1, 19, 3, "x=y")


def test_the_value_of_an_option_from_a_variable_keeps_its_place() -> None:
    ((flag, (value,), word),) = options(command("A=4\nrun --tp=$A").words)
    assert (flag, value.text, value.raw) == ("--tp", "4", "$A")
    assert (value.line, value.column, value.length) == (2, 10, 2)
    assert word.text == "--tp=4"


def test_carriage_returns_are_told_and_leave_places_as_they_are() -> None:
    script = parse_script("A=1\r\nrun $A \\\r\n  --b 2\r\n")
    (found,) = script.commands
    assert [word.text for word in found.words] == ["run", "1", "--b", "2"]
    assert place(found.words[3]) == (3, 7, 1, "2")
    (problem,) = script.problems
    assert "carriage return" in problem.message


def test_an_environment_file_is_a_script_of_assignments() -> None:
    script = parse_script(
        "# network\nNCCL_IB_HCA==mlx5_0:1\nNCCL_SOCKET_IFNAME=^lo,docker0\n"
        'NCCL_DEBUG="WARN" # level\nEMPTY=\n'
    )
    assert {name: item.value.text for name, item in script.variables.items()} == {
        "NCCL_IB_HCA": "=mlx5_0:1",
        "NCCL_SOCKET_IFNAME": "^lo,docker0",
        "NCCL_DEBUG": "WARN",
        "EMPTY": "",
    }
    assert script.commands == ()
    assert script.exports == {}


def test_an_empty_script_has_nothing() -> None:
    assert parse_script("") == Script((), (), (), {}, {}, ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "read -r -d '' A <<EOF\n-x 1 \\\n-y $B\nEOF\nrun $A",
            ["-x", "1", "-y", "?${B}"],
        ),
        ("IFS=',' read -r A B C <<< '2,4,1'\nrun $A $C $B", ["2", "1", "4"]),
        ("IFS=, read A B <<< 1,2,3\nrun $A $B", ["1", "2,3"]),
        ("IFS=, read A B <<< $C\nrun $A", ["?${A}"]),
        ("read A <<< 7\nrun $A", ["7"]),
        ("read A <<EOF\n1\n2\nEOF\nrun $A", ["?${A}"]),
        ("read A\nrun $A", ["?${A}"]),
        ("A='x\ny'\nrun $(echo \"$A\" | tr '\\n' ' ' | sed 's/  \\+/ /g')", ["x", "y"]),
        ('A=1\nrun "$(echo $A)"', ["1"]),
        ("A=1\nrun $(echo $A | wc -c)", ["?$(...)"]),
    ],
)
def test_what_is_read_and_printed(text: str, words: list[str]) -> None:
    assert arguments(text) == words


@pytest.mark.parametrize(
    ("condition", "code", "is_read"),
    [
        ('[ -z "$IMAGE" ]', "exit 1", True),
        ('[ -z "$IMAGE" ]', "exit 0", False),
        ('[ -z "$IMAGE" ]', "exit", False),
    ],
)
def test_a_check_for_what_is_filled_in_by_hand(
    condition: str,
    code: str,
    is_read: bool,  # noqa: FBT001 - a case of the table
) -> None:
    script = parse_script(f'IMAGE=""\nif {condition}; then\n {code}\nfi\nrun a\n')
    assert any(item.words[0].text == "run" for item in script.commands) == is_read


def test_an_empty_fallback_in_quotes_is_a_word_under_its_condition() -> None:
    assert arguments('run "${X:-}" b') == ["", "b"]
    text = (
        'if [ -n "${X:-}" ]; then\n A=1\nelse\n A=2\nfi\nrun $A\n'
        'if [[ -n "${Y-}" ]] && [[ "$B" -gt 1 ]]; then\n C=(1)\nelse\n C=(2)\nfi\n'
        "run ${C[@]}\n"
    )
    script = parse_script(text)
    words = [item.words[1] for item in script.commands if item.words[0].text == "run"]
    assert [(word.text, word.only_if) for word in words] == [
        ("2", "X is not set"),
        ("2", "Y is not set"),
    ]
