"""The report as a browser shows it: bars where they belong, nothing cut off, readable by day and
by night."""

from __future__ import annotations

import re

import pytest

from kschedpatch.report.page.page import page
from tests.integration.report.browser import Browser, installed
from tests.unit.report.runs import failed_run

PAGE = page(failed_run("w" * 200))
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"

LAYOUT = """(() => {
  const box = node => node.getBoundingClientRect();
  const bars = [...document.querySelectorAll('.chart .bar')].map(bar => {
    const own = box(bar.querySelector('rect')), track = box(bar.closest('.track'));
    return {phase: bar.dataset.phase, left: own.left - track.left, right: own.right - track.left,
            width: own.width, height: own.height, room: track.width};
  });
  const out = [...document.querySelectorAll('body *')].filter(
    node => box(node).right > innerWidth + 0.5 || box(node).left < -0.5);
  return {width: innerWidth, scroll: document.documentElement.scrollWidth, bars,
          out: out.map(node => node.tagName + '.' + node.className),
          columns: getComputedStyle(document.querySelector('tbody td')).display};
})()"""

COLOURS = """(() => {
  const parsed = text => text.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(
    v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
  ).reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const worst = {};
  const note = (name, value) => { worst[name] = Math.min(worst[name] ?? 99, value); };
  for (const node of document.querySelectorAll('main *, footer *')) {
    const said = [...node.childNodes].some(c => c.nodeType === 3 && c.textContent.trim());
    if (!said || node.closest('svg')) continue;
    note(node.tagName + '.' + node.className,
         contrast(parsed(getComputedStyle(node).color), behind(node)));
  }
  for (const bar of document.querySelectorAll('.chart .bar')) {
    const fill = parsed(getComputedStyle(bar.querySelector('rect')).fill);
    const text = bar.querySelector('text');
    if (!text) continue;
    note('label.' + bar.dataset.phase, contrast(parsed(getComputedStyle(text).fill), fill));
  }
  return {page: light(parsed(getComputedStyle(document.body).backgroundColor)), worst};
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    return Browser(installed(), tmp_path_factory.mktemp("browser"))


@pytest.mark.parametrize("width", [400, 1280])
def test_bars_lie_in_their_track_and_nothing_sticks_out(browser: Browser, width: int) -> None:
    seen = browser.measures(PAGE, LAYOUT, width=width)
    assert seen["width"] == width
    assert seen["scroll"] <= width
    assert seen["out"] == []
    assert len(seen["bars"]) == 11
    for bar in seen["bars"]:
        assert bar["width"] > 1, bar
        assert bar["height"] > 10, bar
        assert -0.5 <= bar["left"] < bar["right"] <= bar["room"] + 0.5, bar
    assert seen["columns"] == ("block" if width == 400 else "table-cell")


def test_a_bar_is_as_long_as_its_phase(browser: Browser) -> None:
    seen = browser.measures(PAGE, LAYOUT)
    by_phase = {bar["phase"]: bar for bar in seen["bars"]}
    switch, watch = by_phase["switch"], by_phase["watch"]  # the failing node's: 3 s and 2 s
    assert switch["width"] / watch["width"] == pytest.approx(1.5, rel=0.05)
    assert switch["right"] == pytest.approx(watch["left"], abs=1)


@pytest.mark.parametrize("dark", [False, True])
def test_readable_by_day_and_by_night(browser: Browser, dark: bool) -> None:
    seen = browser.measures(PAGE, COLOURS, dark=dark)
    assert (seen["page"] < 0.1) is dark
    assert len(seen["worst"]) > 15
    pale = {name: value for name, value in seen["worst"].items() if value < 4.5}
    assert pale == {}


def test_its_policy_lets_its_own_style_through_and_no_other(browser: Browser) -> None:
    width = "({width: getComputedStyle(document.querySelector('main')).maxWidth})"
    assert browser.measures(PAGE, width)["width"].endswith("px")
    other = re.sub("<style>", "<style> ", PAGE)
    assert browser.measures(other, width) == {"width": "none"}


def test_what_a_node_says_does_nothing(browser: Browser) -> None:
    counts = "({scripts: document.scripts.length, images: document.images.length})"
    seen = browser.measures(page(failed_run(HOSTILE)), counts)
    assert seen == {"scripts": 0, "images": 0}
