"""XML that a tool has written, as elements that know their lines.

Only what tools write of a machine is read so. Entities of a file's own and documents
that it names are refused, size and depth are limited: the text may be anybody's.
"""

from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat

from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.documents.document import MAXIMUM_DEPTH, ReadError

# The capture of 8 GPUs has 4,300; that of a large topology 400.
MAXIMUM_ELEMENTS = 1_000_000
_KNOWN = "give what nvidia-smi -q -x prints, or a topology file of NCCL"

# What the parser says of a text that is cut off.
_ENDS = frozenset(
    {
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
    }
)


class Element:
    """One element: its text is what stands before its first child."""

    __slots__ = ("attributes", "children", "span", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], span: Span) -> None:
        """Start without children; the span is that of the opening tag."""
        self.tag = tag
        self.attributes = attributes
        self.span = span
        self.text = ""
        self.children: list[Element] = []

    def each(self, tag: str) -> Iterator["Element"]:
        """Return the children of that name."""
        return (child for child in self.children if child.tag == tag)

    def find(self, path: str) -> "Element | None":
        """Return the first element at a path of names such as `pci/pci_bus_id`."""
        element: Element | None = self
        for tag in path.split("/"):
            if element is None:
                return None
            element = next(element.each(tag), None)
        return element


class _Builder:
    """Takes the events of the parser."""

    def __init__(self, name: str, parser: expat.XMLParserType, blank: int) -> None:
        self.root: Element | None = None
        self.open: list[Element] = []
        self._blank = blank  # lines before the first of the parser
        self._name = name
        self._parser = parser
        self._count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        line, column = self._at()
        self._count += 1
        if len(self.open) >= MAXIMUM_DEPTH:
            problem = f"elements nest deeper than {MAXIMUM_DEPTH} levels"
            raise ReadError(self._name, "too_deep", problem, _KNOWN, (line, column))
        if self._count > MAXIMUM_ELEMENTS:
            problem = f"more than {MAXIMUM_ELEMENTS:,} elements"
            raise ReadError(self._name, "too_large", problem, _KNOWN, (line, column))
        element = Element(tag, attributes, Span(line, column, len(tag) + 2))
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, _tag: str) -> None:
        element = self.open.pop()
        element.text = element.text.strip()

    def data(self, text: str) -> None:
        if self.open and not self.open[-1].children:
            self.open[-1].text += text

    def refuse(self, *_: object) -> NoReturn:
        """Refuse an entity of the file's own: none of the tools declares any."""
        problem = "declares an entity, as no tool does"
        raise ReadError(self._name, "syntax", problem, _KNOWN, self._at())

    def _at(self) -> tuple[int, int]:
        parser = self._parser
        return parser.CurrentLineNumber + self._blank, parser.CurrentColumnNumber + 1


def load_xml(name: str, text: str) -> Element:
    """Return the root of an XML text.

    Raises:
        ReadError: it is no XML or ends early, declares entities, nests too deep or has
            too many elements.
    """
    parser = expat.ParserCreate()
    begun = text.lstrip()
    blank = text[: len(text) - len(begun)].count("\n")
    builder = _Builder(name, parser, blank)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = builder.refuse
    parser.ExternalEntityRefHandler = builder.refuse
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        parser.Parse(begun, True)  # noqa: FBT003 - of the library
    except expat.ExpatError as error:
        at = error.lineno + blank, error.offset + 1
        raise _broken(name, at, error.code, builder.open) from None
    if builder.root is None:
        raise ReadError(name, "syntax", "no XML: it has no element", _KNOWN, (1, 1))
    return builder.root


def _broken(
    name: str, at: tuple[int, int], code: int, still_open: list[Element]
) -> ReadError:
    problem = expat.errors.messages[code]
    if still_open and problem in _ENDS:
        inner = still_open[-1]
        problem = (
            f"the XML ends in the middle: <{inner.tag}> of line {inner.span.line} "
            "is not closed"
        )
        remedy = "capture it anew, the whole of it"
        return ReadError(name, "syntax", problem, remedy, at)
    return ReadError(name, "syntax", f"no XML: {problem}", _KNOWN, at)


def foreign_xml(name: str, text: str) -> ReadError:
    """Return an error for XML that no reader knows; raises that of broken XML."""
    root = load_xml(name, text)
    problem = f"XML of <{root.tag}>, which speccheck does not know"
    at = root.span.line, root.span.column
    return ReadError(name, "syntax", problem, _KNOWN, at)
