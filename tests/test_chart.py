"""Charts of Helm: templates read as they are rendered with their values."""

from pathlib import Path

import pytest

from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.run.run import read_plans, run
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.documents.go_template import Rendered, Renderer
from speccheck.validator.sources.documents.template_functions import (
    OpenValue,
    TemplateFault,
)
from speccheck.validator.sources.files import FileStatus

JOB = """\
{{- $perNode := min .Values.gpus 8 }}
{{- $nodes := div .Values.gpus 8 | max 1 -}}
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: {{ include "train.name" . }}
  {{- if .Values.labels }}
  labels:
    {{- toYaml .Values.labels | nindent 4 }}
  {{- end }}
spec:
  replicatedJobs:
  - name: workload
    replicas: 1
    template:
      spec:
        parallelism: {{ $nodes }}
        completions: {{ $nodes }}
        template:
          spec:
            containers:
            - name: workload
              image: {{ .Values.image | default "pytorch:2.8" | quote }}
              env:
              - name: NCCL_DEBUG
                value: {{ .Values.debug }}
              {{- range $index, $entry := .Values.envs }}
              - name: {{ $entry.name }}
                value: {{ $entry.value | quote }}
              {{- end }}
              command: [bash, -c]
              args:
              - bash /launch/train.sh
              resources:
                limits:
                  nvidia.com/gpu: {{ $perNode }}
"""
PARTIALS = '{{- define "train.name" -}}\n{{ .Release.Name }}-train\n{{- end -}}\n'
VALUES = """\
gpus: 32
labels:
  queue: large
debug: WARN
envs:
- name: NCCL_IB_HCA
  value: mlx5
"""
LAUNCHER = """\
body=$(cat <<- EOM
  if [ "\\$RANK" -eq "0" ]; then
    echo "first" ;
  fi ;
  numactl --cpunodebind=\\$((LOCAL_RANK/4)) \\
  python scripts/performance/setup_experiment.py \\
    --model_recipe_name llama3_70b -tp 4 -pp 2 -gb 256 -mb 1 -sl 8192
EOM
)
echo "$body" > body.sh
torchrun --nproc-per-node="8" --nnodes="4" --node_rank="${INDEX}" \\
  --master_addr="${MASTER_ADDR}" --no-python bash body.sh
"""


def chart(folder: Path, job: str = JOB, **more: str) -> Path:
    texts = {
        "Chart.yaml": "name: train\nversion: 1.0.0\n",
        "values.yaml": VALUES,
        "templates/_helpers.tpl": PARTIALS,
        "templates/job.yaml": job,
        **{name.replace("_", "."): text for name, text in more.items()},
    }
    for name, text in texts.items():
        path = folder / "recipe" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "recipe"


def plans(folder: Path) -> list[tuple[list[str], TrainingPlan]]:
    return [
        (
            [Path(file.status.path).name for file in group.files],
            assemble(group.files, Context()).plan,
        )
        for _, groups in read_plans(Request(arguments=(str(folder),)))
        for group in groups
    ]


def test_a_template_is_read_as_its_values_render_it(tmp_path: Path) -> None:
    ((names, plan),) = plans(chart(tmp_path))
    assert names == ["job.yaml"]
    assert plan.value("cluster.nodes").value == 4
    assert plan.value("cluster.gpus_per_node").value == 8
    assert plan.value("container.image").value == "pytorch:2.8"
    (line,) = (place.span for place in plan.value("cluster.nodes").places[:1])
    assert line is None or line.line == JOB.split("\n").index(
        "        parallelism: {{ $nodes }}"
    )


def test_a_chart_and_the_script_that_it_starts_are_one_plan(tmp_path: Path) -> None:
    ((names, plan),) = plans(chart(tmp_path, launcher_sh=LAUNCHER))
    assert names == ["launcher.sh", "job.yaml"]
    values = {
        leaf: plan.value(leaf).value
        for leaf in (
            "cluster.world_size",
            "parallelism.tensor_parallel_size",
            "parallelism.pipeline_parallel_size",
            "batch.global_batch_size",
            "batch.micro_batch_size",
            "batch.sequence_length",
        )
    }
    assert [*values.values()] == [32, 4, 2, 256, 1, 8192]


def test_a_finding_stands_on_the_line_of_the_template(tmp_path: Path) -> None:
    job = JOB.replace("NCCL_DEBUG", "NCCL_ALGO")
    result = run(Request(arguments=(str(chart(tmp_path, job)),)))
    lines = {
        job.split("\n")[location.line - 1].strip()
        for plan in result.plans
        for located in plan.findings
        for location in located.locations
        if located.finding.outcome == "fail"
        and "NCCL_ALGO" in located.finding.message
        and location.line
    }
    assert lines == {"value: {{ .Values.debug }}"}


def status(folder: Path, job: str) -> FileStatus:
    path = str(chart(folder, job) / "templates" / "job.yaml")
    return next(
        status
        for statuses, _ in read_plans(Request(arguments=(path,)))
        for status in statuses
        if status.path == path
    )


@pytest.mark.parametrize(
    "job",
    [
        "kind: {{ if .Values.gpus }}\n",
        "a: {{ .Values.gpus ? }}\n",
        (
            'a: {{ include "endless" . }}\n'
            '{{ define "endless" }}{{ include "endless" . }}{{ end }}\n'
        ),
        (
            "a: {{ range until 9999 }}{{ range until 9999 }}{{ range until 9999 }}x"
            "{{ end }}{{ end }}{{ end }}\n"
        ),
        "a: {{ div 1 0 }}\n",
    ],
    ids=["open", "sign", "recursion", "many", "zero"],
)
def test_what_cannot_be_rendered_is_a_template(tmp_path: Path, job: str) -> None:
    result = status(tmp_path, job)
    assert result.state == "template"
    assert "not rendered here" in result.message


def rendered(text: str, **values: object) -> str:
    return whole(text, **values).text


def whole(text: str, **values: object) -> Rendered:
    data = {"Values": values, "Release": OpenValue(".Release"), "Files": {}}
    return Renderer({"run.sh": "echo run\n"}).render(text, data)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: {{ .Values.a }}", "a: 3"),
        ("{{ .Values.b.c | quote }}", '"x"'),
        ("{{ .Values.none | default 7 }}", "7"),
        ("{{- /* a remark */ -}} x", "x"),
        ("{{ if eq .Values.a 3 }}y{{ else }}n{{ end }}", "y"),
        ("{{ if gt .Values.a 3 }}y{{ else if .Values.t }}t{{ else }}n{{ end }}", "t"),
        ("{{ range .Values.l }}[{{ . }}]{{ else }}none{{ end }}", "[p][q]"),
        ("{{ range $i, $v := .Values.l }}{{ $i }}{{ $v }}{{ end }}", "0p1q"),
        ("{{ range $k, $v := .Values.b }}{{ $k }}={{ $v }}{{ end }}", "c=x"),
        ("{{ with .Values.b }}{{ .c }}{{ $.Values.a }}{{ end }}", "x3"),
        ("{{ $x := 2 }}{{ $x = add $x 1 }}{{ mul $x (sub 5 1) }}", "12"),
        ('{{ printf "%s-%d" .Values.b.c .Values.a }}', "x-3"),
        ("m:{{ toYaml .Values.b | nindent 2 }}", "m:\n  c: x"),
        ('{{ .Files.Get "run.sh" | indent 2 }}', "  echo run\n  "),
        ('{{ not .Values.t | ternary "a" "b" }}', "b"),
        ("{{ (index .Values.l 1) | upper }}", "Q"),
        ("{{ and .Values.t .Values.a }}{{ or .Values.none 5 }}", "35"),
        ("{{ min .Values.none 8 }}", "${min  8}"),
        ("n: {{ .Release.Name }}-x", "n: ${.Release.Name}-x"),
        ("{{ randAlphaNum 4 | lower }}", "${lower randAlphaNum 4}"),
    ],
)
def test_the_subset_of_the_language(text: str, expected: str) -> None:
    values = {"a": 3, "b": {"c": "x"}, "l": ["p", "q"], "t": True}
    assert rendered(text, **values) == expected


def test_a_block_of_an_open_condition_is_named() -> None:
    result = whole("a: 1\n{{ if .Release.IsUpgrade }}\nb: 2\n{{ end }}c: 3\n")
    assert result.text == "a: 1\nc: 3\n"
    assert result.unseen == ((2, ".Release.IsUpgrade"),)


def test_lines_are_those_of_the_template() -> None:
    result = whole(
        "a: 1\n{{ range .Values.l }}\nx: {{ . }}\n{{- end }}\nb: 2\n", l=[1, 2]
    )
    assert dict(zip(result.text.split("\n"), result.lines, strict=False)) == {
        "a: 1": 1,
        "": 2,
        "x: 1": 3,
        "x: 2": 3,
        "b: 2": 5,
    }


def test_a_block_without_its_end_is_refused() -> None:
    with pytest.raises(TemplateFault, match="line 2: a block without its end"):
        rendered("a\n{{ if true }}")


@pytest.mark.parametrize(
    "text",
    [
        '{{ $x := "ab" }}{{ range until 9000 }}{{ $x = print $x $x }}{{ end }}',
        "{{ $x := list 1 }}{{ range until 9000 }}{{ $x = list $x $x }}{{ end }}",
        "{{ range until 9000 }}{{ range until 9000 }}{{ end }}{{ end }}",
    ],
    ids=["text", "list", "turns"],
)
def test_nothing_grows_without_bounds(text: str) -> None:
    with pytest.raises(TemplateFault):
        rendered(text)


def test_numbers_stay_those_of_go() -> None:
    text = "{{ $x := 9 }}{{ range until 900 }}{{ $x = mul $x $x }}{{ end }}{{ $x }}"
    assert rendered(text) == "9223372036854775807"


def test_brackets_that_open_only_cost_little() -> None:
    assert rendered("{{" * 200_000) == "{{" * 200_000
