"""What a template will be once it is rendered: told by its keys, never judged."""

import re

from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import load_documents
from speccheck.validator.sources.registry import Detection, Readers
from speccheck.validator.sources.source import Source

_STATEMENT_LINE = re.compile(
    r"^\s*(\{%.*%\}|\{\{-?\s*(if|else|end|range|with)\b.*)\s*$"
)
_EXPRESSION = re.compile(r"\{\{.*?\}\}|\$\{[^}\n]*\}")
# A value of JSON that is neither quoted nor a literal: a word left for `sed`.
_BARE_WORD = re.compile(r"(?<=[:\[,])(\s*)(?!(?:true|false|null)\b)[A-Za-z_$][\w.$-]*")
_STAND_IN = "rendered"
_LESS_SURE = 0.8


def template_format(source: Source, readers: Readers) -> Detection | None:
    """The format of a template with every open place filled by a word, or None."""
    kept = [row for row in source.text.splitlines() if not _STATEMENT_LINE.match(row)]
    text = _EXPRESSION.sub(_STAND_IN, "\n".join(kept))
    if source.language == "json":
        text = _BARE_WORD.sub(rf'\1"{_STAND_IN}"', text)
    language = None if source.language == "shell" else source.language
    try:
        documents = load_documents(source.name, text, language)
    except ReadError:
        return None
    for document in documents:
        found = readers.detect_document(document)
        if found is not None:
            return found._replace(confidence=found.confidence * _LESS_SURE)
    return None
