"""Which paths a pattern of settings or waivers means."""

import pytest

from speccheck.validator.engine.paths import matches


@pytest.mark.parametrize(
    ("pattern", "path", "is_meant"),
    [
        ("configs/sft.yaml", "configs/sft.yaml", True),
        ("configs/sft.yaml", "old/configs/sft.yaml", False),
        ("./configs/*.yaml", "configs/sft.yaml", True),
        ("configs/*.yaml", "configs/old/sft.yaml", False),
        ("configs/**/*.yaml", "configs/sft.yaml", True),
        ("configs/**/*.yaml", "configs/a/b/sft.yaml", True),
        ("configs/**", "configs/a/b/sft.yaml", True),
        ("configs/", "configs/a/b/sft.yaml", True),
        ("configs/", "configs2/sft.yaml", False),
        ("*.sbatch", "jobs/train.sbatch", True),
        ("train.*", "jobs/deep/train.sbatch", True),
        ("/train.yaml", "train.yaml", True),
        ("**/legacy/**", "a/legacy/b.yaml", True),
        ("**/legacy/**", "legacy/b.yaml", True),
        ("job?.env", "job1.env", True),
        ("job?.env", "job12.env", False),
        ("a[1].yaml", "a[1].yaml", True),
        ("a.yaml", "aXyaml", False),
    ],
)
def test_matches(pattern: str, path: str, *, is_meant: bool) -> None:
    assert matches(pattern, path) is is_meant


def test_a_pattern_of_many_stars_ends() -> None:
    """A pattern is a file's, and files are hostile."""
    assert not matches("**/" * 200 + "x", "a/" * 200 + "y")
    assert not matches("*a" * 12 + "b", "a" * 60)
