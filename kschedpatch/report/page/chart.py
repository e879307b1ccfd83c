"""The time line as a drawing: a row a node, a bar a phase. The same stands below it as tables.

SVG with percentages: it is as wide as the page, and needs no style attribute, which the page's
policy would forbid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kschedpatch.model.events import Phase, State
from kschedpatch.report.page.markup import NOTHING, Markup, element, joined
from kschedpatch.report.page.timelines import Bar, Lane, ticks
from kschedpatch.report.progress import WORDS

MAX_LANES = 100
MAX_BARS = 200
"""Of a lane."""
_HEIGHT = 26
_LEAST = 0.4
"""Of the width, in percent: what is over at once is seen all the same."""
#: Pixels that the drawing has on a wide screen, and that a character of a bar's name takes.
_WIDE, _CHARACTER, _MARGIN = 860, 6.4, 10

_KINDS: dict[str, tuple[str, frozenset[Phase]]] = {
    "look": (
        "looking",
        frozenset({Phase.CONNECT, Phase.FACTS, Phase.INSPECT, Phase.RIGHTS, Phase.PLAN}),
    ),
    "prepare": (
        "preparing: nothing live is touched",
        frozenset({Phase.LOCK, Phase.IMAGE, Phase.STAGE, Phase.PREFLIGHT, Phase.OBJECTS,
                   Phase.ARM, Phase.PERSIST}),
    ),
    "canary": ("canary beside the live scheduler", frozenset({Phase.CANARY})),
    "switch": ("switch: the manifest is exchanged", frozenset({Phase.SWITCH})),
    "watch": ("watched until proven", frozenset({Phase.WATCH, Phase.PROBE})),
    "end": ("confirmed and cleaned up", frozenset({Phase.CONFIRM, Phase.FINISH})),
    "restore": ("former scheduler put back", frozenset({Phase.RESTORE})),
}  # fmt: skip
_SIGNS = {State.FAILED: "✗ ", State.SKIPPED: "– ", State.STARTED: "… "}


def kind_of(phase: Phase) -> str:
    return next(name for name, (_, phases) in _KINDS.items() if phase in phases)


def bar_told(bar: Bar) -> str:
    doing, done = WORDS[bar.phase]
    match bar.state:
        case State.DONE:
            return done
        case State.FAILED:
            return f"{doing} failed"
        case State.SKIPPED:
            return f"{doing}: left out"
    return f"{doing}: broken off"


def chart(lanes: Sequence[Lane], pauses: Sequence[float], end: float) -> Markup:
    marks = ticks(end)
    rows = [_row(lane, marks, pauses, end) for lane in lanes[:MAX_LANES]]
    more = len(lanes) - len(rows)
    note = element("p", f"… and {more} more nodes.", class_="note") if more > 0 else NOTHING
    body = joined([*rows, _axis(marks, end)])
    return joined([element("div", body, class_="chart"), note, _legend(lanes, pauses)])


def _percent(seconds: float, end: float) -> float:
    return 100 * min(max(seconds / end, 0.0), 1.0) if end > 0 else 0.0


def _row(lane: Lane, marks: Iterable[float], pauses: Iterable[float], end: float) -> Markup:
    name = lane.node or "cluster"
    drawn = [_line(mark, end, "grid") for mark in marks]
    drawn += [_line(pause, end, "pause") for pause in pauses]
    drawn += [_bar(bar, end) for bar in lane.bars[:MAX_BARS]]
    track = element(
        "svg",
        *drawn,
        class_="track",
        role="img",
        aria_label=f"Time line of {name}; the table of its steps says the same.",
        width="100%",
        height=str(_HEIGHT),
    )
    return element("div", element("div", name, class_="who"), track, class_="lane")


def _line(seconds: float, end: float, class_: str) -> Markup:
    x = f"{_percent(seconds, end):.3f}%"
    return element("line", x1=x, x2=x, y1="0", y2=str(_HEIGHT), class_=class_)


def _bar(bar: Bar, end: float) -> Markup:
    wide = max(_percent(bar.seconds, end), _LEAST)
    left = min(_percent(bar.begin, end), 100 - wide)
    state = {State.FAILED: " failed", State.SKIPPED: " skipped", State.STARTED: " broken"}
    told = f"{bar_told(bar)}, {bar.begin:.1f} s to {bar.end:.1f} s"
    word = _SIGNS.get(bar.state, "") + str(bar.phase)
    fits = wide / 100 * _WIDE >= len(word) * _CHARACTER + _MARGIN
    return element(
        "svg",
        element("title", told),
        element("rect", width="100%", height="100%", rx="3"),
        element("text", word, x="5", y="14") if fits else NOTHING,
        class_=f"bar {kind_of(bar.phase)}{state.get(bar.state, '')}",
        data_phase=str(bar.phase),
        x=f"{left:.3f}%",
        y="3",
        width=f"{wide:.3f}%",
        height=str(_HEIGHT - 6),
    )


def _axis(marks: Sequence[float], end: float) -> Markup:
    texts = []
    for mark in marks:
        x = _percent(mark, end)
        # The last one would stick out of the drawing.
        anchor = "start" if x < 4 else "end" if x > 96 else "middle"
        told = f"{mark:g} s"
        texts.append(
            element("text", told, x=f"{x:.3f}%", y="13", class_="tick", text_anchor=anchor)
        )
    track = element("svg", *texts, class_="track", aria_hidden="true", width="100%", height="18")
    return element("div", element("div", class_="who"), track, class_="lane axis")


def _legend(lanes: Sequence[Lane], pauses: Sequence[float]) -> Markup:
    bars = [bar for lane in lanes[:MAX_LANES] for bar in lane.bars[:MAX_BARS]]
    there = {kind_of(bar.phase) for bar in bars if bar.state is not State.SKIPPED}
    items = [_item(f"bar {name}", words) for name, (words, _) in _KINDS.items() if name in there]
    states = {bar.state for bar in bars}
    if State.FAILED in states:
        items.append(_item("bar failed", "✗ failed"))
    if State.STARTED in states:
        items.append(_item("bar broken", "… broken off"))
    if State.SKIPPED in states:
        items.append(_item("bar skipped", "– left out"))
    if pauses:
        items.append(element("li", _pause_sign(), "asked, and went on (the wait is not drawn)"))
    return element("ul", *items, class_="legend")


def _item(class_: str, words: str) -> Markup:
    box = element("rect", width="100%", height="100%", rx="3")
    sign = element("svg", box, class_=class_, aria_hidden="true", width="14", height="14")
    return element("li", sign, words)


def _pause_sign() -> Markup:
    line = element("line", x1="7", x2="7", y1="0", y2="14", class_="pause")
    return element("svg", line, aria_hidden="true", width="14", height="14")
