"""The reference page of all error messages, made from where they are built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kschedpatch.report.failures import ADVICE, REASONS
from tests.errors import nodewords
from tests.errors.families import AREAS
from tests.errors.sites import sites

NAME = "errors.md"

_HEAD = """\
# Errors

Every message of `kschedpatch` that ends a command early, by the part of it that says so. Each says
what is wrong and where; the head of a part says what was not changed and which
[exit code](commands.md#exit-codes) it is, and what to do where the message does not say so itself.
What has a code, such as `M013`, is a [finding](findings.md).

‹Angles› stand for what is filled in, [brackets] for words that are not always there, and a slash
between words for one or the other.
"""

_REASONS = """
## Reasons of a failure

A roll-out or rollback that fails says «Failed on ‹node› while ‹step›:» and one of these. With
`-o json` it is `failure.reason`.

| reason | in words | what to do |
|---|---|---|
"""


def page() -> str:
    parts = [_HEAD]
    for area in AREAS:
        found = {(site.message, site.hint) for site in sites() if site.area == area.title}
        parts += _section(area.title, area.head, found)
        if area.title == "A roll-out that fails":
            said = {(said.message, "") for said in nodewords.node_words()}
            parts += _section(nodewords.TITLE, nodewords.HEAD, said)
            parts.append(_REASONS)
            parts += (
                f"| `{reason}` | {words} | {_cell(ADVICE[reason])} |\n"
                for reason, words in REASONS.items()
            )
    return "".join(parts)


def _section(title: str, head: str, found: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"\n## {title}\n\n{head}\n\n"
    listed = sorted(found, key=lambda row: (row[0].lstrip("‹[-").lower(), row))
    if any(hint for _, hint in listed):
        yield "| message | what to do |\n|---|---|\n"
        yield from (f"| {_cell(message)} | {_cell(hint)} |\n" for message, hint in listed)
    else:
        yield from (f"- {_escaped(message)}\n" for message, _ in listed)


def _escaped(text: str) -> str:
    for sign in ("\\", "*", "_", "<", "["):
        text = text.replace(sign, f"\\{sign}")
    return text


def _cell(text: str) -> str:
    return _escaped(text).replace("|", "\\|")
