"""Changes of scripts and words that stand in documents."""

import pytest

from fixed_texts import Case, outcome, word_at
from speccheck.validator.evidence.finding import to_add, to_remove, to_rename, to_set
from speccheck.validator.evidence.value import Place

JOB = """\
setup: |  # first
  export NCCL_DEBUG=INFO   # loud
  export A="x y"
run: |
  set -e

  NCCL_IB_HCA=mlx5 torchrun --nnodes 2 \\
    --tee 3 \\
    train.py
name: job  # of mine
one: export NCCL_NET=IB && python train.py --seed 7
quoted: 'python train.py --lr 1'
folded: >
  python train.py
  --wd 0.1
pods:
- command: ["torchrun", "--nnodes", "2"]
  args:
  - --steps=100   # few
  - --tee
  - "3"
"""
CONFIG = '{"cmd": "python train.py --seed 7", "env": "A=1 \\"x\\"", "b": 1}\n'


def word(marked: str, key: str, text: str = JOB) -> Place:
    return word_at(text, marked, key)


CASES = (
    Case("set", JOB, to_set(word("DEBUG=[INFO]", "NCCL_DEBUG"), "WARN"),
         JOB.replace("INFO", "WARN")),
    Case("remove", JOB, to_remove(word("DEBUG=[INFO]", "NCCL_DEBUG")),
         JOB.replace("  export NCCL_DEBUG=INFO   # loud\n", "")),
    Case("rename", JOB, to_rename(word('A="[x y]', "A"), "B"),
         JOB.replace("export A", "export B")),
    Case("add", JOB, to_add(word("DEBUG=[INFO]", "NCCL_DEBUG"), "N", 1),
         JOB.replace("# loud\n", "# loud\n  export N=1\n")),
    Case("remove a prefix", JOB, to_remove(word("HCA=[mlx5]", "NCCL_IB_HCA")),
         JOB.replace("NCCL_IB_HCA=mlx5 ", "")),
    Case("remove a line", JOB, to_remove(word("  --tee [3]", "--tee")),
         JOB.replace("    --tee 3 \\\n", "")),
    Case("add a line", JOB, to_add(word("  --tee [3]", "--tee"), "--n", 1),
         JOB.replace("--tee 3 \\\n", "--tee 3 \\\n    --n 1 \\\n")),
    Case("in one line", JOB, to_set(word("--seed [7]", "--seed"), 8),
         JOB.replace("--seed 7", "--seed 8")),
    Case("in quotes", JOB, to_set(word("--lr [1]", "--lr"), 2),
         JOB.replace("--lr 1", "--lr 2")),
    Case("in quotes, quotes", JOB, to_set(word("--lr [1]", "--lr"), "a b"),
         refused="could not be read"),
    Case("needs a colon", JOB, to_set(word("--seed [7]", "--seed"), "a: b"),
         refused="could not be read"),
    Case("folded", JOB, to_set(word("--wd [0.1]", "--wd"), 1), refused="loader joins"),
    Case("word", JOB, to_set(word('", "[2]"', "--nnodes"), 4),
         JOB.replace('"2"', '"4"')),
    Case("rename a word", JOB, to_rename(word('", "[2]"', "--nnodes"), "--n"),
         JOB.replace('"--nnodes"', '"--n"')),
    Case("joined word", JOB, to_set(word("steps=[100]", "--steps"), 9),
         JOB.replace("=100 ", "=9 ")),
    Case("remove a word", JOB, to_remove(word('- "[3]"', "--tee")),
         refused="a word of a list"),
    Case("not there", JOB, to_set(word("[job]", "X"), 1), refused="another place"),
)  # fmt: skip
OF_JSON = (
    Case("set", CONFIG, to_set(word("--seed [7]", "--seed", CONFIG), 8),
         CONFIG.replace("--seed 7", "--seed 8")),
    Case("add", CONFIG, to_add(word("--seed [7]", "--seed", CONFIG), "--n", 8),
         CONFIG.replace("--seed 7", "--seed 7 --n 8")),
    Case("escapes", CONFIG, to_set(word("A=[1]", "A", CONFIG), 8),
         refused="a text with escapes"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("file", "case"),
    [
        pytest.param(file, case, id=f"{file} {case.name}")
        for file, cases in (("job.yaml", CASES), ("job.json", OF_JSON))
        for case in cases
    ],
)
def test_a_change_of_a_script_in_a_document(file: str, case: Case) -> None:
    found = outcome(file, case.before, case.change)
    if case.refused:
        assert found.startswith("refused: "), found
        assert case.refused in found
    else:
        assert found == case.after
