"""Comments in YAML, distinguished from strings by the graph of the nodes."""

from bisect import bisect_right

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from speccheck.validator.run.waivers.comment_scan import (
    MARK,
    MOST_COMMENTS,
    Lines,
    Scan,
)
from speccheck.validator.sources.documents.document import Extent, LineTable
from speccheck.validator.sources.documents.yaml_document import compose


def scan_yaml(name: str, text: str) -> Scan:
    """Find the comments of a text that was read before; and what follows a line."""
    graph = _Graph(text)
    for root in compose(name, text):
        graph.visit(root)
    graph.sort()
    return Scan(graph.comments(), graph.block)


class _Graph:
    """Texts and blocks of all documents of a file."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = LineTable(text)
        self._strings: list[Extent] = []
        self._blocks: dict[int, int] = {}  # last line by the first one
        self._firsts: list[int] = []

    def visit(self, node: Node) -> int:
        """Note what lies in a node; returns the offset at which it ends."""
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(node, ScalarNode):
            if node.style in {"'", '"'}:
                self._strings.append((start, end))
            elif node.style:  # a block scalar: its first line may end in a comment
                header = self._text.find("\n", start)
                self._strings.append((end if header < 0 else header, end))
            return start + len(self._text[start:end].rstrip())
        last = start if not _is_flow(node) else end
        if isinstance(node, MappingNode):
            for key, value in node.value:
                last = max(last, self._pair(key, value, start))
        elif isinstance(node, SequenceNode):
            for item in node.value:
                last = max(last, self._item(item, node))
        return last

    def _pair(self, key: Node, value: Node, since: int) -> int:
        """Note a key with its value; an alias stands elsewhere."""
        start = key.start_mark.index
        if start < since:
            return since
        end = self.visit(key)
        if value.start_mark.index >= start:
            end = max(end, self.visit(value))
        self._add(start, end)
        return end

    def _item(self, item: Node, whole: Node) -> int:
        start = item.start_mark.index
        if start < whole.start_mark.index:
            return whole.start_mark.index
        end = self.visit(item)
        line = self._lines.place(start)[0]
        before = self._text[self._lines.offset(line) : start]
        if _is_flow(whole) or "-" in before:
            self._add(start, end)
        return end

    def _add(self, start: int, end: int) -> None:
        first = self._lines.place(start)[0]
        last = self._lines.place(max(start, end - 1))[0]
        self._blocks[first] = max(last, self._blocks.get(first, 0))

    def sort(self) -> None:
        """Put in order what was visited."""
        self._strings.sort()
        self._firsts = sorted(self._blocks)

    def block(self, line: int) -> Lines | None:
        """Return the next key or item of a list below a line, with all below it."""
        index = bisect_right(self._firsts, line)
        if index == len(self._firsts):
            return None
        first = self._firsts[index]
        return first, self._blocks[first]

    def comments(self) -> list[Extent]:
        """Return the comments that hold the mark: each goes to the end of its line."""
        number_lists: list[Extent] = []
        done = -1  # the end of the last line that was looked at
        for match in MARK.finditer(self._text):
            if match.start() < done:
                continue
            end = self._text.find("\n", match.end())
            done = len(self._text) if end < 0 else end
            start = self._comment_start(match.start(), done)
            if start is not None and MARK.search(self._text, start, done):
                number_lists.append((start, done))
                if len(number_lists) > MOST_COMMENTS:
                    break
        return number_lists

    def _comment_start(self, position: int, end: int) -> int | None:
        """Return where the comment of a line begins; None for a line without one."""
        start = self._lines.offset(self._lines.place(position)[0])
        at = self._text.find("#", start, end)
        while at >= 0 and not self._is_comment(at):
            at = self._text.find("#", at + 1, end)
        return None if at < 0 else at

    def _is_comment(self, position: int) -> bool:
        if position and not self._text[position - 1].isspace():
            return False
        index = bisect_right(self._strings, (position, len(self._text))) - 1
        return index < 0 or self._strings[index][1] <= position


def _is_flow(node: Node) -> bool:
    return bool(getattr(node, "flow_style", False))
