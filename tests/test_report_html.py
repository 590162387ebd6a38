"""The HTML report: one page, whole, escaped, the same for the same run."""

import re
from pathlib import Path

import pytest

from hostile_files import HARMFUL, Writer, write_hostile, write_hostile_environment
from html_reading import Page
from speccheck.validator.cli.main import main
from speccheck.validator.report.forms import html
from told_runs import text_of, told, with_findings

EXAMPLES = Path(__file__).resolve().parents[1] / "fixtures" / "examples"
STYLE = Path(html.__file__).with_suffix(".css")
BROKEN_BATCH = """{
  "train_batch_size": 500,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 8
}
"""


def page_of(*words: str) -> Page:
    return Page(text_of("html", told(*words)))


@pytest.mark.parametrize(
    "words",
    [
        ("several-files", "--gpu", "H100-80GB", "--role", "sft"),
        ("llama-3-70b", "--gpu", "H100-SXM5-80GB", "--hours", "100"),
        ("faulty-node",),
        ("slow-all-reduce/all_reduce.log", "--instance", "p5.48xlarge"),
        ("conflict",),
        ("native",),
        pytest.param((".", "--full"), marks=pytest.mark.slow),
    ],
    ids=lambda words: words[0],
)
def test_the_page_is_whole_and_asks_nobody_for_anything(words: tuple[str, ...]) -> None:
    page = page_of(str(EXAMPLES / words[0]), *words[1:])
    assert {"main", "nav", "header", "table", "title"} <= page.tags
    page.demand_alone()


def test_the_policy_allows_this_style_sheet_alone() -> None:
    text = text_of("html", told(str(EXAMPLES / "native")))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert "; script-src 'sha256-" in policy[1]
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]
    assert text.count("<style") == 1
    assert text.count("<script") == 1
    for sheet in STYLE.parent.glob("*.css"):
        assert "url(" not in sheet.read_text("utf-8")
        assert "@import" not in sheet.read_text("utf-8")
    assert '<html lang="en">' in text


def test_it_says_what_the_text_report_says() -> None:
    words = [str(EXAMPLES / "several-files"), "--gpu", "H100-80GB", "--role", "sft"]
    page = page_of(*words)
    for part in (
        "2 errors, 2 warnings 13 of 14 required checks could run",
        "Exit code 1",
        "deepspeed + slurm + axolotl: 64 GPUs",
        "required 11 2 1 93% 19",
        "BATCH-001 global_batch_differs_from_product",
        "512 is not micro-batch 2 x accumulation 8 x 64 data-parallel ranks = 1,024",
        'ds_zero2.json:2:23 2 | "train_batch_size": 512, | ^^^ stated here',
        "11 | gradient_accumulation_steps: 8 | ^ and here",
        "cost DeepSpeed stops at start-up; others train with another batch than stated",
        "fix Set the global batch to 1,024, or leave one of the three out.",
        "try gradient_accumulation_steps 8 -> 4: verified, 2 x 4 x 64 ranks = 512",
        "(all 64 GPUs are data-parallel)",
        "--step-seconds CKPT-002, CKPT-030",
        "one plan: job.sbatch names sft.yaml; sft.yaml names ds_zero2.json",
        "world_size 64 derived job.sbatch:3,14,4,15 8 nodes x 8 GPUs = 64",
        "48 rules that passed",
        "3 judged",
    ):
        assert part in page.text, part


def test_machines_are_told_by_their_parts() -> None:
    page = page_of(str(EXAMPLES / "faulty-node"))
    for part in (
        "RESET_GPU GPU 3: memory_fault_pending",
        "job: 1 error, 1 warning",
        "error HW-002 memory_fault_pending GPU 3",
        "do RESET_GPU",
        "fix Reset the GPU when it is idle: nvidia-smi --gpu-reset -i 3.",
        "node.json gpus[3].remap_is_pending",
    ):
        assert part in page.text, part


def test_forecasts_and_curves_are_drawn_and_named() -> None:
    words = (str(EXAMPLES / "llama-3-70b"), "--gpu", "H100-SXM5-80GB", "--hours", "100")
    text = text_of("html", told(*words))
    assert 'class="bar" role="img" aria-label="memory: 1,155 GB of 85.5 GB' in text
    assert ">limit</text>" in text
    log = str(EXAMPLES / "slow-all-reduce" / "all_reduce.log")
    text = text_of("html", told(log, "--instance", "p5.48xlarge"))
    assert "<h3>all_reduce · 16 ranks on 2 nodes" in text
    for line in ("ceiling", "warning below", "failure below", "measured out of place"):
        assert f"</svg> {line}</li>" in text


def test_an_unreadable_file_and_nothing_to_judge_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    Path("broken.json").write_text('{"train_batch_size": ')
    page = page_of(".")
    assert (
        "1 file could not be judged 1 error; 9 of 14 required checks could run"
        in page.text
    )
    assert "1 could not be read; 1 judged" in page.text
    Path("empty").mkdir()
    page = page_of("empty")
    assert "nothing was judged: no file is a training configuration" in page.text
    assert "Nothing wrong was found" not in page.text


@pytest.mark.parametrize("write", [write_hostile, write_hostile_environment])
def test_nothing_of_a_hostile_file_becomes_markup(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = write(tmp_path).name
    text = text_of("html", told(name, "--nodes", "64", "--gpus-per-node", "8"))
    page = Page(text)
    assert "img" not in page.tags
    assert text.count("<script") == 1  # that of the page, which the policy allows
    body = text[text.index("<body>") : text.index("<script")]
    for harm in HARMFUL:
        assert harm not in body, harm
    assert "&lt;script&gt;" in body


def test_the_same_run_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    Path("ds.json").write_text(BROKEN_BATCH)
    assert main(["ds.json", "--output", "html=one.html"]) == 1
    assert main(["ds.json", "--output", "html=two.html"]) == 1
    text = Path("one.html").read_text("utf-8")
    assert text == Path("two.html").read_text("utf-8")
    assert "<time" not in text
    assert str(tmp_path) not in text
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert main(["ds.json", "--output", "html=one.html"]) == 1
    stamped = Path("one.html").read_text("utf-8")
    assert '<time datetime="2023-11-14T22:13:20Z">' in stamped
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert main(["ds.json", "--output", "html=one.html"]) == 1
    assert Path("one.html").read_text("utf-8") == text


@pytest.mark.slow
def test_ten_thousand_findings_stay_a_page_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    item = told("ds.json", "--select", "BATCH-001")
    (failed,) = (
        at.finding for at in item.run.plans[0].findings if at.finding.outcome == "fail"
    )
    many = with_findings(
        item,
        (
            failed._replace(message=f"failure {number}", rule=f"rule_{number % 40}")
            for number in range(10_000)
        ),
    )
    text = text_of("html", many)
    assert len(text) < 2_000_000
    assert "10,000 errors" in text
    assert text.count("225 more findings of this rule not shown here") == 40
    Page(text)


def test_secrets_do_not_reach_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    token = "hf_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWx"
    Path("job.env").write_text(f"HF_TOKEN={token}\nNCCL_ALGO=Rng\n")
    for form in ("html", "markdown", "jsonl", "csv"):
        text = text_of(form, told("job.env", "--full"))
        assert "SEC-002" in text
        assert token not in text


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(item: str, other: str) -> float:
    light, dark = sorted((_luminance(item), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_text_has_the_contrast_of_wcag_aa() -> None:
    style = STYLE.read_text("utf-8")
    blocks = re.findall(r":root \{([^}]*)\}", style)
    assert len(blocks) == 2  # light, and what is otherwise in the dark
    colours: dict[str, str] = {}
    texts = ("text", "muted", "link", "error", "warning", "info", "good", "unknown")
    for block in blocks:
        colours |= dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", block))
        for name in texts:
            for ground in ("background", "sunken"):
                found = _contrast(colours[name], colours[ground])
                assert found >= 4.5, (name, ground, round(found, 2))
        assert _contrast(colours["text"], colours["mark"]) >= 4.5
        for part in range(6):
            found = _contrast(colours["in-part"], colours[f"part{part}"])
            assert found >= 4.5, (part, round(found, 2))


def test_what_settings_switch_off_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    words = ["ds.json", "--ignore", "BATCH-001"]
    main([*words, "--output", "text"])
    told_in_text = [
        line for line in capsys.readouterr().out.splitlines() if "switched off" in line
    ]
    (line,) = told_in_text
    for form in ("html", "markdown"):
        main([*words, "--output", form])
        out = capsys.readouterr().out
        for part in line.partition(" switched off by ")[::2]:
            assert part.partition(" (")[0].strip("`") in out.replace("`", ""), form
        assert "switched off" in out


def test_a_named_file_that_settings_exclude_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    words = ["ds.json", "--exclude", "ds.json", "--force-exclude"]
    assert main([*words, "--output", "html"]) == 3
    out = capsys.readouterr().out
    assert "excluded by settings" in out
    Page(out)
