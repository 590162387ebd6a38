"""Changes of scripts and environment files: exact texts, or why there is no change."""

import pytest

from fixed_texts import Case, outcome, word_at
from speccheck.validator.evidence.finding import (
    Change,
    Scalar,
    to_add,
    to_remove,
    to_rename,
    to_set,
)

JOB = """\
#!/bin/bash
#SBATCH --nodes=4 --time=01:00:00
#SBATCH -J train   # name
# talk
export NCCL_DEBUG=WARN   # less
export A=1 B="two words"
NCCL_IB_HCA=mlx5 srun \\
  torchrun --nnodes 4 \\
  --tee=3 \\
  --nproc-per-node 8 --verbose \\
  train.py --lr 1e-4 \\
  --seed 7
"""
ARRAY = """\
ARGS=(
  --seed 7   # lucky
  --bf16 --lr "$LR"
  --steps 100
)
python pretrain_gpt.py "${ARGS[@]}"
"""
TEXT = """\
ARGS="
  --seed 7 \\
  --steps 100
"
MORE="--lr 1 --decay 0.1"
bash -c 'NCCL_DEBUG=INFO python train.py --seed 9'
sbatch <<EOF
#!/bin/bash
export NCCL_ALGO=Ring
srun --export=ALL,A=1,NCCL_PROTO=Simple mpirun -x NCCL_NET=IB -x B=2 python train.py
EOF
"""
BRANCH = """\
if [ -n "$X" ]; then
  export NCCL_DEBUG=INFO
fi
for i in 1 2; do
  export A=1
  export NCCL_ALGO=Ring
done
true && export NCCL_NET=IB
export B=$C D='x'"y"; export E=1
export F=1
echo $F
TP=4
P='2'
python train.py --tp $TP --pp ${P} --cp $TWICE --dp $TWICE
TWICE=2
"""
DOTENV = "# net\nNCCL_DEBUG=INFO   # loud\nexport A='x y'\nB=a b\nC=$A\nD=\n"


def set_word(text: str, marked: str, key: str, value: Scalar) -> Change:
    return to_set(word_at(text, marked, key), value)


def removed(text: str, marked: str, key: str) -> Change:
    return to_remove(word_at(text, marked, key))


def renamed(text: str, marked: str, key: str, name: str) -> Change:
    return to_rename(word_at(text, marked, key), name)


def added(text: str, marked: str, key: str, name: str, value: Scalar) -> Change:
    return to_add(word_at(text, marked, key), name, value)


WARN, HCA = "NCCL_DEBUG=[WARN]", "NCCL_IB_HCA=[mlx5]"
CASES = (
    Case("set variable", JOB, set_word(JOB, WARN, "NCCL_DEBUG", "INFO"),
         JOB.replace("WARN", "INFO")),
    Case("set to words", JOB, set_word(JOB, WARN, "NCCL_DEBUG", "a b"),
         JOB.replace("WARN", "'a b'")),
    Case("set to a dollar", JOB, set_word(JOB, WARN, "NCCL_DEBUG", "$X"),
         JOB.replace("WARN", "'$X'")),
    Case("set quoted", JOB, set_word(JOB, '"[two words]"', "B", 'x"$'),
         JOB.replace("two words", 'x\\"\\$')),
    Case("set prefix", JOB, set_word(JOB, HCA, "NCCL_IB_HCA", "x"),
         JOB.replace("mlx5", "x")),
    Case("set option", JOB, set_word(JOB, "--nnodes [4]", "--nnodes", 8),
         JOB.replace("--nnodes 4", "--nnodes 8")),
    Case("set joined option", JOB, set_word(JOB, "--tee=[3]", "--tee", 1),
         JOB.replace("--tee=3", "--tee=1")),
    Case("set directive", JOB, set_word(JOB, "[--nodes=4]", "--nodes", 8),
         JOB.replace("--nodes=4", "--nodes=8")),
    Case("set short directive", JOB, set_word(JOB, "[-J train]", "--job-name", "x"),
         JOB.replace("-J train", "-J x")),
    Case("underscores", JOB, set_word(JOB, "node [8]", "--nproc_per_node", 4),
         JOB.replace("node 8", "node 4")),
    Case("remove statement", JOB, removed(JOB, WARN, "NCCL_DEBUG"),
         JOB.replace("export NCCL_DEBUG=WARN   # less\n", "")),
    Case("remove one of two", JOB, removed(JOB, "A=[1]", "A"),
         JOB.replace("A=1 ", "")),
    Case("remove prefix", JOB, removed(JOB, HCA, "NCCL_IB_HCA"),
         JOB.replace("NCCL_IB_HCA=mlx5 ", "")),
    Case("remove line of a command", JOB, removed(JOB, "--tee=[3]", "--tee"),
         JOB.replace("  --tee=3 \\\n", "")),
    Case("remove last line of it", JOB, removed(JOB, "--seed [7]", "--seed"),
         JOB.replace(" \\\n  --seed 7", "")),
    Case("remove in a line", JOB, removed(JOB, "--nnodes [4]", "--nnodes"),
         JOB.replace(" --nnodes 4", "")),
    Case("remove first of a line", JOB, removed(JOB, "node [8]", "--nproc-per-node"),
         JOB.replace("--nproc-per-node 8 ", "")),
    Case("remove switch", JOB, removed(JOB, "[--verbose]", "--verbose"),
         JOB.replace(" --verbose", "")),
    Case("remove directive", JOB, removed(JOB, "[--time=01:00:00]", "--time"),
         JOB.replace(" --time=01:00:00", "")),
    Case("remove its line", JOB, removed(JOB, "[-J train]", "--job-name"),
         JOB.replace("#SBATCH -J train   # name\n", "")),
    Case("rename variable", JOB, renamed(JOB, WARN, "NCCL_DEBUG", "N"),
         JOB.replace("NCCL_DEBUG", "N")),
    Case("rename option", JOB, renamed(JOB, "--lr [1e-4]", "--lr", "--rate"),
         JOB.replace("--lr", "--rate")),
    Case("rename joined option", JOB, renamed(JOB, "--tee=[3]", "--tee", "-t"),
         JOB.replace("--tee=3", "-t=3")),
    Case("add variable", JOB, added(JOB, WARN, "NCCL_DEBUG", "N", 1),
         JOB.replace("# less\n", "# less\nexport N=1\n")),
    Case("add prefix", JOB, added(JOB, HCA, "NCCL_IB_HCA", "N", "x y"),
         JOB.replace("mlx5 ", "mlx5 N='x y' ")),
    Case("add option", JOB, added(JOB, "--nnodes [4]", "--nnodes", "--n", 1),
         JOB.replace("--nnodes 4", "--nnodes 4 --n 1")),
    Case("add line of a command", JOB, added(JOB, "--tee=[3]", "--tee", "--n", 1),
         JOB.replace("--tee=3 \\\n", "--tee=3 \\\n  --n=1 \\\n")),
    Case("add last line of it", JOB, added(JOB, "--seed [7]", "--seed", "--n", 1),
         JOB.replace("--seed 7", "--seed 7 \\\n  --n 1")),
    Case("add switch", JOB, added(JOB, "--seed [7]", "--seed", "--n", None),
         JOB.replace("--seed 7", "--seed 7 \\\n  --n")),
    Case("add directive", JOB, added(JOB, "[-J train]", "-J", "--requeue", None),
         JOB.replace("# name\n", "# name\n#SBATCH --requeue\n")),
    Case("CR LF", "export A=1\r\nexport B=2\r\n",
         added("export A=1", "A=[1]", "A", "N", 1),
         "export A=1\r\nexport N=1\r\nexport B=2\r\n"),
    Case("array: set", ARRAY, set_word(ARRAY, "--seed [7]", "--seed", 8),
         ARRAY.replace("7", "8")),
    Case("array: remove line", ARRAY, removed(ARRAY, "--seed [7]", "--seed"),
         ARRAY.replace("  --seed 7   # lucky\n", "")),
    Case("array: remove switch", ARRAY, removed(ARRAY, "[--bf16]", "--bf16"),
         ARRAY.replace("--bf16 ", "")),
    Case("array: remove last", ARRAY, removed(ARRAY, "--steps [100]", "--steps"),
         ARRAY.replace("  --steps 100\n", "")),
    Case("array: add", ARRAY, added(ARRAY, "--seed [7]", "--seed", "--n", 1),
         ARRAY.replace("lucky\n", "lucky\n  --n 1\n")),
    Case("array: worked out", ARRAY, set_word(ARRAY, '"[$LR]"', "--lr", 1),
         refused="the shell works the value out"),
    Case("text: set", TEXT, set_word(TEXT, "--steps [100]", "--steps", 9),
         TEXT.replace("100", "9")),
    Case("text: remove line", TEXT, removed(TEXT, "--seed [7]", "--seed"),
         TEXT.replace("  --seed 7 \\\n", "")),
    Case("text: remove in line", TEXT, removed(TEXT, "--lr [1]", "--lr"),
         TEXT.replace("--lr 1 ", "")),
    Case("script in a word: set", TEXT, set_word(TEXT, "--seed [9]", "--seed", 1),
         TEXT.replace("--seed 9", "--seed 1")),
    Case("script in a word: remove", TEXT, removed(TEXT, "DEBUG=[INFO]", "NCCL_DEBUG"),
         TEXT.replace("NCCL_DEBUG=INFO ", "")),
    Case("here-document", TEXT, removed(TEXT, "ALGO=[Ring]", "NCCL_ALGO"),
         TEXT.replace("export NCCL_ALGO=Ring\n", "")),
    Case("mpirun -x: rename", TEXT, renamed(TEXT, "NET=[IB]", "NCCL_NET", "N"),
         TEXT.replace("NCCL_NET", "N")),
    Case("mpirun -x: remove", TEXT, removed(TEXT, "NET=[IB]", "NCCL_NET"),
         TEXT.replace(" -x NCCL_NET=IB", "")),
    Case("mpirun -x: add", TEXT, added(TEXT, "NET=[IB]", "NCCL_NET", "N", 1),
         TEXT.replace("NET=IB", "NET=IB -x N=1")),
    Case("--export: set", TEXT, set_word(TEXT, "PROTO=[Simple]", "NCCL_PROTO", "LL"),
         TEXT.replace("Simple", "LL")),
    Case("--export: remove", TEXT, removed(TEXT, "PROTO=[Simple]", "NCCL_PROTO"),
         TEXT.replace(",NCCL_PROTO=Simple", "")),
    Case("--export: add", TEXT, added(TEXT, "PROTO=[Simple]", "NCCL_PROTO", "N", 1),
         TEXT.replace("Simple", "Simple,N=1")),
    Case("in a loop", BRANCH, removed(BRANCH, "ALGO=[Ring]", "NCCL_ALGO"),
         BRANCH.replace("  export NCCL_ALGO=Ring\n", "")),
    Case("all of a branch", BRANCH, removed(BRANCH, "DEBUG=[INFO]", "NCCL_DEBUG"),
         refused="nothing else stands in its branch"),
    Case("behind &&", BRANCH, removed(BRANCH, "NET=[IB]", "NCCL_NET"),
         refused="nothing else stands in its branch"),
    Case("of several parts", BRANCH, set_word(BRANCH, "D=['x'\"y\"]", "D", 1),
         refused="from several quoted parts"),
    Case("from another place", BRANCH, set_word(BRANCH, "B=[$C]", "X", 1),
         refused="comes from another place"),
    Case("worked out", BRANCH, set_word(BRANCH, "B=[$C]", "B", 1),
         refused="the shell works the value out"),
    Case("through a variable", BRANCH, set_word(BRANCH, "TP=[4]", "--tp", 8),
         BRANCH.replace("TP=4", "TP=8")),
    Case("through a quoted one", BRANCH, set_word(BRANCH, "P='[2]'", "--pp", 8),
         BRANCH.replace("P='2'", "P='8'")),
    Case("of two uses", BRANCH, set_word(BRANCH, "TWICE=[2]", "--cp", 8),
         refused="comes from another place"),
    Case("not removed there", BRANCH, removed(BRANCH, "TP=[4]", "--tp"),
         refused="comes from another place"),
    Case("behind ;", BRANCH, removed(BRANCH, "E=[1]", "E"),
         refused="another command stands on its line"),
    Case("used elsewhere", BRANCH, removed(BRANCH, "F=[1]", "F"),
         refused="is used or set at another place"),
    Case("renamed, used elsewhere", BRANCH, renamed(BRANCH, "F=[1]", "F", "G"),
         refused="is used or set at another place"),
)  # fmt: skip
LINES = (
    Case("set", DOTENV, set_word(DOTENV, "=[INFO]", "NCCL_DEBUG", "WARN"),
         DOTENV.replace("INFO", "WARN")),
    Case("set quoted", DOTENV, set_word(DOTENV, "[x y]", "A", "z"),
         DOTENV.replace("x y", "z")),
    Case("set words", DOTENV, set_word(DOTENV, "[a b]", "B", "z"),
         DOTENV.replace("a b", "z")),
    Case("set empty", DOTENV, set_word(DOTENV, "D[=]", "D", "z"), DOTENV[:-1] + "z\n"),
    Case("rename", DOTENV, renamed(DOTENV, "=[INFO]", "NCCL_DEBUG", "N"),
         DOTENV.replace("NCCL_DEBUG", "N")),
    Case("remove", DOTENV, removed(DOTENV, "=[INFO]", "NCCL_DEBUG"),
         DOTENV.replace("NCCL_DEBUG=INFO   # loud\n", "")),
    Case("add", DOTENV, added(DOTENV, "=[INFO]", "NCCL_DEBUG", "N", "x y"),
         DOTENV.replace("# loud\n", "# loud\nN='x y'\n")),
    Case("add export", DOTENV, added(DOTENV, "[x y]", "A", "N", 1),
         DOTENV.replace("'x y'\n", "'x y'\nexport N='1'\n")),
    Case("used elsewhere", DOTENV, removed(DOTENV, "[x y]", "A"),
         refused="on another line as well"),
    Case("worked out", DOTENV, set_word(DOTENV, "[$A]", "C", 1),
         refused="the shell works the value out"),
    Case("another variable", DOTENV, set_word(DOTENV, "[$A]", "X", 1),
         refused="its line sets no X"),
)  # fmt: skip
NCCL_CONF = "# c\nNCCL_DEBUG=WARN \n NCCL_ALGO=Ring"
CONF = (
    Case("set", NCCL_CONF, set_word(NCCL_CONF, "[NCCL_DEBUG]", "NCCL_DEBUG", "INFO"),
         NCCL_CONF.replace("WARN ", "INFO")),
    Case("remove", NCCL_CONF, removed(NCCL_CONF, "[NCCL_DEBUG]", "NCCL_DEBUG"),
         NCCL_CONF.replace("NCCL_DEBUG=WARN \n", "")),
    Case("add", NCCL_CONF, added(NCCL_CONF, "[NCCL_ALGO]", "NCCL_ALGO", "N", "a b"),
         NCCL_CONF + "\n N=a b"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("file", "case"),
    [
        pytest.param(file, case, id=f"{file} {case.name}")
        for file, cases in (("run.sh", CASES), ("a.env", LINES), ("nccl.conf", CONF))
        for case in cases
    ],
)
def test_a_change_of_a_script(file: str, case: Case) -> None:
    found = outcome(file, case.before, case.change)
    if case.refused:
        assert found.startswith("refused: "), found
        assert case.refused in found
    else:
        assert found == case.after


def test_changes_of_one_fix_may_touch_the_same_line() -> None:
    text = "python train.py \\\n  --seed 7 \\\n  --bf16 --lr 1\n"
    found = outcome(
        "run.sh",
        text,
        removed(text, "[--bf16]", "--bf16"),
        removed(text, "--lr [1]", "--lr"),
    )
    assert found == "python train.py \\\n  --seed 7\n"


def test_one_change_that_cannot_be_made_refuses_all() -> None:
    text = "export A=1\nexport B=$C\n"
    found = outcome(
        "run.sh",
        text,
        set_word(text, "A=[1]", "A", 2),
        set_word(text, "B=[$C]", "B", 2),
    )
    assert found == "refused: the shell works the value out"
