"""Charts of Helm: templates rendered with the values that stand beside them.

A template is a file below `templates/` of a folder with a `Chart.yaml`. It is rendered
as `helm template` does with the chart's own `values.yaml`; what the installation adds
by `--set` or `-f` is not here. Places stay those of the template.
"""

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache

from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.documents.document import (
    Document,
    Extent,
    LineTable,
    ReadError,
)
from speccheck.validator.sources.documents.go_template import Rendered, Renderer
from speccheck.validator.sources.documents.reading import load_documents, read_text
from speccheck.validator.sources.documents.template_functions import (
    OpenValue,
    TemplateFault,
)
from speccheck.validator.sources.reader import Source

CHART, VALUES, TEMPLATES = "Chart.yaml", "values.yaml", "templates"
_PARTIALS = ".tpl"
_MOST_PARTIALS = 50
_LARGEST_FILE = 200_000
_MOST_FILES = 200


def chart_of(path: str) -> str | None:
    """Return the folder of the chart that a template belongs to; None for no chart."""
    folder = os.path.dirname(path)
    while os.path.basename(folder) and os.path.basename(folder) != TEMPLATES:
        folder = os.path.dirname(folder)
    home = os.path.dirname(folder)
    is_template = os.path.basename(folder) == TEMPLATES
    return home if is_template and os.path.isfile(os.path.join(home, CHART)) else None


class ChartTemplate(Source):
    """A template of a chart: its own text and lines, its documents rendered."""

    __slots__ = ("_chart",)

    def __init__(self, name: str, text: str, chart: str) -> None:
        """Take a template and the folder of its chart."""
        super().__init__(name, text, "yaml")
        self._chart = chart

    @property
    def documents(self) -> list[Document]:
        """The rendered documents; raises ReadError for what cannot be rendered."""
        if self._documents is None:
            try:
                rendered = _rendered(self.text, self._chart)
            except TemplateFault as fault:
                problem = f"a template that is not rendered here: {fault}"
                remedy = "render it (helm template) and pass the result"
                raise ReadError(self.name, "template", problem, remedy) from fault
            self._documents = [
                _RenderedDocument(document, self.text, rendered)
                for document in load_documents(self.name, rendered.text, "yaml")
            ]
        return self._documents


def _rendered(text: str, chart: str) -> Rendered:
    data, partials, files = _chart(chart)
    renderer = Renderer(files)
    for partial in partials:
        renderer.define(partial)
    return renderer.render(text, data)


@lru_cache(maxsize=2)
def _chart(
    folder: str,
) -> tuple[dict[str, object], tuple[str, ...], Mapping[str, str]]:
    """Return what the templates of a chart see, its partials, and its other files."""
    release = OpenValue(".Release")
    data: dict[str, object] = {
        "Values": _data_of(os.path.join(folder, VALUES)),
        "Chart": {
            key[:1].upper() + key[1:]: value
            for key, value in _data_of(os.path.join(folder, CHART)).items()
        },
        "Release": release,
        "Capabilities": OpenValue(".Capabilities"),
        "Template": OpenValue(".Template"),
        "Files": {},
    }
    templates = os.path.join(folder, TEMPLATES)
    partials = (*_texts(templates, (_PARTIALS,), _MOST_PARTIALS),)
    files = dict(_files(folder))
    return data, partials, files


def _data_of(path: str) -> dict[str, object]:
    try:
        documents = load_documents(path, read_text(path), "yaml")
    except ReadError:
        return {}
    data = documents[0].data
    return {str(key): data[key] for key in data} if isinstance(data, dict) else {}


def _texts(folder: str, suffixes: tuple[str, ...], most: int) -> Iterator[str]:
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in [name for name in names if name.endswith(suffixes)][:most]:
        try:
            yield read_text(os.path.join(folder, name))
        except ReadError:
            continue


def _files(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the small files of a chart by the names that `.Files.Get` has for them."""
    count = 0
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name != TEMPLATES and name[0] != "."
        )
        for name in sorted(names):
            path = os.path.join(where, name)
            count += 1
            if count > _MOST_FILES:
                return
            if os.path.islink(path) or os.path.getsize(path) > _LARGEST_FILE:
                continue
            try:
                yield os.path.relpath(path, folder), read_text(path)
            except ReadError:
                continue


class _TemplateLines(LineTable):
    """Turns offsets of the rendered text into places of the template."""

    __slots__ = ("_of_line", "_own")

    def __init__(self, text: str, template: str, lines: tuple[int, ...]) -> None:
        super().__init__(text)
        self._own = LineTable(template)
        self._of_line = lines

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and column of the template."""
        line, column = super().place(offset)
        if line > len(self._of_line):
            return max(self._of_line, default=1), 1
        behind = self._of_line[line - 1]
        row = self._own.line(behind)
        if row.rstrip() == self.line(line).rstrip():
            return behind, column
        return behind, len(row) - len(row.lstrip()) + 1

    def span(self, extent: Extent) -> Span:
        """Return the line of the template that gave an extent."""
        line, column = self.place(extent[0])
        row = self._own.line(line).rstrip()
        rendered = super().place(extent[0])[0]
        if row == self.line(rendered).rstrip():
            end = min(extent[1] - extent[0], len(row) - column + 1)
            return Span(line, column, max(1, end))
        return Span(line, column, max(1, len(row) - column + 1))


class _RenderedDocument(Document):
    """A document of a rendered template, with its places in the template."""

    __slots__ = ("_rendered", "_template")

    def __init__(self, document: Document, template: str, rendered: Rendered) -> None:
        super().__init__(
            name=document.name,
            language="yaml",
            text=document.text,
            data=document.data,
            find_nodes=document.nodes,
            index=document.index,
        )
        self._template = template
        self._rendered = rendered

    @property
    def lines(self) -> LineTable:
        """The lines of the template behind those of its text."""
        return _TemplateLines(self.text, self._template, self._rendered.lines)

    @property
    def open_reason(self) -> str:
        """Why it may hold more keys than are seen; empty where it does not."""
        if not self._rendered.unseen:
            return ""
        line, expression = self._rendered.unseen[0]
        return (
            f"line {line}: {expression:.60} is known only when the chart is installed"
        )
