"""The page as a whole: self-contained, without scripts, within a size.

Its policy lets a browser load nothing and apply no style but the one in its head.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kschedpatch import __version__
from kschedpatch.model import exitcodes
from kschedpatch.report.checks import checks_summary
from kschedpatch.report.page.markup import NOTHING, Markup, element, preformatted
from kschedpatch.report.page.record import RunRecord
from kschedpatch.report.page.sections import Section, badge, sections
from kschedpatch.report.rollouts import conclusion, next_command
from kschedpatch.report.terminal import Paint

MAX_BYTES = 4 * 1024 * 1024
"""What a ticket takes as an attachment, and a browser opens at once."""
MAX_WORDS = 40
_PLAIN = Paint(enabled=False)
_CODES = {
    exitcodes.OK: ("good", "done"),
    exitcodes.DIFFERENCES: ("warn", "differences found"),
    exitcodes.INVALID: ("bad", "invalid input"),
    exitcodes.REFUSED: ("bad", "refused, nothing live was touched"),
    exitcodes.ROLLED_BACK: ("bad", "failed, rolled back"),
    exitcodes.NOT_RESTORED: ("bad", "failed, not restored"),
    exitcodes.INTERNAL: ("bad", "internal error"),
    exitcodes.INTERRUPTED: ("warn", "interrupted"),
}
_OPEN = (
    "This run has not ended. If it is not at work any more it was killed; kschedpatch status tells "
    "how the nodes stand, and what is not confirmed goes back by itself."
)


def page(record: RunRecord) -> str:
    parts = _within_bounds([*sections(record)])
    body = element(
        "body",
        element("main", _header(record), *(_section(part) for part in parts)),
        element("footer", element("p", f"Written by kschedpatch {__version__}. {_kept(record)}")),
    )
    return f'<!doctype html>\n<html lang="en">\n{_head(record).html}\n{body.html}\n</html>\n'


def _kept(record: RunRecord) -> str:
    return "" if record.ended is None else f"{record.ended:%Y-%m-%d %H:%M:%S} UTC."


@cache
def _style() -> str:
    return Path(__file__).with_name("page.css").read_text("utf-8")


def _head(record: RunRecord) -> Markup:
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    # Written as it is, not escaped: the browser compares its hash.
    style = Markup(f"<style>{_style()}</style>")
    policy = Markup(
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">"
    )
    title = f"kschedpatch {record.command}: {_status(record)[1]}"
    return element(
        "head",
        element("meta", charset="utf-8"),
        policy,
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        style,
    )


def _status(record: RunRecord) -> tuple[str, str]:
    if record.exit_code is None:
        return "warn", "not ended"
    class_, words = _CODES.get(record.exit_code, ("bad", "ended"))
    if class_ == "good" and record.command == "plan":
        return "good", "planned"
    if class_ == "good" and record.command == "verify":
        return "good", "as it should be"
    if record.exit_code == exitcodes.REFUSED and record.command in {"plan", "verify"}:
        return "bad", "refused, or a node was not reached"
    return class_, words


def told(record: RunRecord) -> str:
    """The end in a sentence: the words of the summary on the terminal."""
    if record.exit_code is None:
        return _OPEN
    if record.result is not None:
        return conclusion(record.result)
    if record.checks:
        return checks_summary(record.checks, _PLAIN).strip().capitalize() + "."
    if record.command == "plan" and record.is_planned:
        return _planned(record)
    words = record.words.strip()
    if "\n" not in words:
        return words
    return "Nothing could be checked." if record.command == "verify" else ""


def _planned(record: RunRecord) -> str:
    names = [node.label for node in record.plan.nodes if node.changed] if record.plan else []
    if names:
        return f"Would change {', '.join(names)}. Nothing was changed yet."
    if record.cluster.changed or record.persist.changed:
        return "Would change objects of the cluster, and no node. Nothing was changed yet."
    return "Nothing to change: everything is as the patch asks."


def _header(record: RunRecord) -> Markup:
    class_, status = _status(record)
    sentence = told(record)
    more = record.words.strip().splitlines()[:MAX_WORDS] if not sentence else []
    patch = f" · {record.patch}" if record.patch else ""
    command = next_command(record.result) if record.result is not None else ""
    next_step = (
        element("p", element("span", "What to do next"), element("code", command), class_="next")
        if command
        else NOTHING
    )
    return element(
        "header",
        element(
            "p", f"kschedpatch {record.command}{patch}", badge(class_, status), class_="eyebrow"
        ),
        element("h1", sentence or status.capitalize()),
        preformatted(more, "plain") if more else NOTHING,
        next_step,
        _facts(record),
        class_=class_,
    )


def _facts(record: RunRecord) -> Markup:
    code = "–" if record.exit_code is None else str(record.exit_code)
    facts = [
        ("Run", record.result.run if record.result is not None else ""),
        ("Patch", record.patch),
        ("Began", f"{record.began:%Y-%m-%d %H:%M:%S} UTC"),
        ("Took", f"{record.seconds:.1f} s" if record.ended is not None else ""),
        ("By", record.who),
        ("Reason", record.reason),
        ("Exit code", code),
    ]
    items = [
        element("div", element("dt", name), element("dd", value)) for name, value in facts if value
    ]
    return element("dl", *items, class_="facts")


def _section(part: Section) -> Markup:
    name = f"{part.anchor}-title"
    return element("section", element("h2", part.title, id=name), part.body, aria_labelledby=name)


def _within_bounds(parts: Sequence[Section]) -> list[Section]:
    """The largest parts are left out, and said to be, until the rest fits."""
    kept = list(parts)
    words = "Left out: the page would become too large. The command's -o json has all of it."
    while sum(len(part.body.html.encode()) for part in kept) > MAX_BYTES - 256 * 1024:
        at = max(range(len(kept)), key=lambda number: len(kept[number].body.html))
        kept[at] = kept[at]._replace(body=element("p", words, class_="note"))
    return kept
