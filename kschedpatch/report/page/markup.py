"""HTML in which nothing that came from elsewhere can be a tag: text is escaped by its type."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import NamedTuple

from kschedpatch.model.printable import printable

MAX_LINE = 1000
"""Characters of a line that a node or a file gave; more is cut, and said to be."""
_VOID = frozenset({"meta", "rect", "line", "br"})


class Markup(NamedTuple):
    """No kind of str: what is not wrapped in this is text, and is escaped."""

    html: str


Child = str | Markup
NOTHING = Markup("")


def cut(text: str, limit: int = MAX_LINE) -> str:
    if len(text) <= limit:
        return text
    return f"{text[:limit]} … ({len(text) - limit} more characters)"


def text(value: str) -> Markup:
    """On one line, cut, with escapes for what is not meant for eyes."""
    return Markup(html.escape(printable(cut(value))))


def joined(children: Iterable[Child], between: str = "") -> Markup:
    parts = (child.html if isinstance(child, Markup) else text(child).html for child in children)
    return Markup(between.join(parts))


def element(name: str, /, *children: Child, **attributes: str | None) -> Markup:
    """Attributes: ``class_`` is class, ``aria_label`` is aria-label; None leaves one out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value).html}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>" if name in {"meta", "br"} else f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(children).html}</{name}>")


def preformatted(lines: Iterable[Child], class_: str | None = None) -> Markup:
    body = joined(lines, "\n")
    mark = f' class="{text(class_).html}"' if class_ else ""
    # A line break right behind the tag is swallowed, so that a first empty line would be.
    return Markup(f"<pre{mark}>\n{body.html}</pre>")
