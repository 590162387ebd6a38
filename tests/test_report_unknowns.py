"""What a report asks for is what the reader has not given yet."""

from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

DENSE = """\
model_name_or_path: meta-llama/Llama-3.1-8B
stage: sft
do_train: true
finetuning_type: full
dataset: identity
template: llama3
output_dir: out
per_device_train_batch_size: 1
bf16: true
"""


@pytest.mark.parametrize(
    ("words", "need"),
    [
        ((), "--gpu or --instance"),
        (("--gpu", "H100"), "--gpu by its full name (H100-SXM5-80GB) or --instance"),
        (("--gpu", "H100-SXM5-80GB"), ""),
    ],
)
def test_a_name_of_several_gpus_is_asked_for_in_full(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    need: str,
) -> None:
    path = tmp_path / "full.yaml"
    path.write_text(DENSE, encoding="utf-8")
    main([str(path), *words])
    shown = " ".join(capsys.readouterr().out.split())
    others = {"--gpu or --instance", "--gpu by its full name"} - {need[:22], need}
    assert need in shown
    assert not [other for other in others if other in shown]
