"""Reads a report's page as strictly as a browser would like it: every tag closed, in its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br"}


@dataclass
class Read:
    title: str = ""
    """The sentence on top."""
    headings: list[str] = field(default_factory=list)
    lanes: dict[str, set[str]] = field(default_factory=dict)
    """The phases that are drawn, by node."""
    tags: list[str] = field(default_factory=list)
    attributes: set[tuple[str, str]] = field(default_factory=set)
    """Of tag and name."""
    values: list[tuple[str, str]] = field(default_factory=list)
    text: str = ""
    """Without the style; words that stand in different cells are apart by a blank."""

    @property
    def flat(self) -> str:
        """On one line, with single blanks."""
        return " ".join(self.text.split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.read = Read()
        self.open: list[tuple[str, str]] = []
        self.lane = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag(tag, attrs)
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("class") or ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag(tag, attrs)

    def _tag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.read.tags.append(tag)
        for name, value in attrs:
            self.read.attributes.add((tag, name))
            self.read.values.append((name, value or ""))
            if name == "data-phase" and value:
                self.read.lanes.setdefault(self.lane, set()).add(value)
        self.read.text += " "

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop()[0] == tag, f"</{tag}> is not in its place"
        self.read.text += " "

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1][0] == "style":
            return
        tag, class_ = self.open[-1]
        self.read.text += data
        if tag == "h1":
            self.read.title += data
        elif tag == "h2":
            self.read.headings.append(data)
        elif class_ == "who":
            self.lane = data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")


def read(page: str) -> Read:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [], "not closed"
    return reader.read
