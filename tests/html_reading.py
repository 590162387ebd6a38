"""A page as a strict reader sees it: nothing open, nothing from elsewhere."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "wbr", "img", "hr", "input"}
INLINE = {"mark", "span", "wbr", "b", "a", "code", "small"}


class Page(HTMLParser):
    """Refuses what is not closed, keeps what a page asks for and which anchors it has.

    A browser would mend such a page; that would be chance.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.anchors: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.headings: list[int] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._part(tag)
        self.tags.add(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert name != "style", "the policy would refuse it"
            if name in {"href", "src", "action", "data"}:
                self.addresses.append(value or "")
            if name == "id":
                self.anchors.append(value or "")
        if tag not in VOID and not (self.open and self._is_drawn(tag)):
            self.open.append(tag)

    def _is_drawn(self, tag: str) -> bool:
        return tag in {"rect", "path", "circle", "line"}

    def _part(self, tag: str) -> None:
        if tag not in INLINE:
            self.texts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._part(tag)
        if tag in VOID or self._is_drawn(tag):
            return
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())

    def demand_alone(self) -> None:
        """Assert that nothing comes from elsewhere, and each link leads somewhere."""
        assert {"img", "iframe", "object", "form", "base"}.isdisjoint(self.tags)
        for address in self.addresses:
            assert address == "data:," or address.startswith("#"), address
            if address.startswith("#"):
                assert address[1:] in self.anchors, address
        assert len(self.anchors) == len(set(self.anchors))
        assert self.headings[0] == 1
        assert self.headings.count(1) == 1
        steps = zip(self.headings, self.headings[1:], strict=False)
        assert all(after <= before + 1 for before, after in steps)
