"""What a scheduler said about a configuration, and which fields it blamed.

It names a field in several ways: by its whole path (validation), by a path without indexes (a value
of the wrong type), by a key alone (decoding up to 1.22, duplicate keys), or by a plugin.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Verdict(NamedTuple):
    accepted: bool
    text: str = ""
    """The scheduler's own words, where it refused."""


class Blame(NamedTuple):
    """What the scheduler holds against a configuration, as far as it says where."""

    way: str
    """path, end (the last steps of one), key, plugin, profile (by its name), or head (apiVersion or
    kind: a pair that is not registered may be wrong in either)."""
    what: str


_FAILED = re.compile(r'"command failed" err=(?:"((?:[^"\\]|\\.)*)"|<\n((?:\t.*(?:\n|$))*))')
_LOGGED = re.compile(r"[IWE]\d{4} \d\d:\d\d:\d\d\.")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


def refusal(stderr: str) -> str:
    """The reason in what a scheduler printed."""
    failed = _FAILED.search(stderr)
    if failed is not None:
        quoted, indented = failed.groups()
        if quoted is None:
            return "\n".join(line.removeprefix("\t") for line in indented.rstrip("\n").split("\n"))
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), quoted)
    crash = re.search(r"^panic: .*$", stderr, re.MULTILINE)
    if crash is not None:
        return crash[0]
    # Up to 1.22 it is printed as it is, between lines of the log.
    lines = [line for line in stderr.split("\n") if not _LOGGED.match(line)]
    return "\n".join(lines).strip().removeprefix("Error: ") or stderr.strip()


POLICY_REFUSALS = ("invalid policy:", "couldn't create scheduler from policy:")
_STEP = r"[A-Za-z_][\w-]*(?:\[\d+\])*"
_PATH = rf"{_STEP}(?:\.{_STEP})*"
_INVALID = re.compile(
    rf"(?<![\w.\]\"'/-])({_PATH}): "
    r"(?:Invalid value|Required value|Duplicate value|Unsupported value|Forbidden|Not found)"
)
_UNKNOWN = re.compile(r'unknown field "([^"]+)"')
_UNKNOWN_OLD = re.compile(r"found unknown field: ([^,\n]+)")
_TWICE = re.compile(r'key "([^"]+)" already set in map|duplicate field "([^"]+)"')
_TYPE = re.compile(
    r"cannot unmarshal .*? into Go (?:struct field \w+\.([\w.]+) of type|value of type)"
)
_IN_ARGUMENTS = re.compile(r"decoding \.(profiles\[\d+\]\.pluginConfig\[\d+\])")
# Its index is that of the list after merging, so the plugin's name is what it tells.
_REMOVED = re.compile(
    r'profiles\[\d+\]\.plugins\.\w+\.enabled\[\d+\]: Invalid value: "([^"]*)": '
    r"was (?:removed|invalid) in version"
)
_INITIALIZING = re.compile(r'initializing plugin "([^"]+)"')
_PLUGIN = re.compile(
    r'(?:plugin|Plugin) "([^"]+)" (?:does not exist|does not extend|already registered|is not)'
)
_REGISTERED_TWICE = re.compile(r'plugin "([^"]*)" already registered as')
_ABSENT = re.compile(r'[A-Z][A-Za-z]+Plugin "([^"]*)" does not exist')
_MISMATCH = "has to match plugin args"
_NO_TYPE = re.compile(r'(?:predicate|priority) type not found for "([^"]*)"')
_PROFILE = re.compile(
    r"(?:queue sort plugin required|bind plugin is needed) for profile with "
    r'scheduler name "([^"]*)"'
)
_HEAD = re.compile(
    r"no kind \"[^\"]*\" is registered for version|Object '(?:Kind|apiVersion)' is missing"
)


def blames(text: str) -> list[Blame]:
    """Every field that a refusal names; none where it names no field."""
    plugin = _INITIALIZING.search(text)
    if plugin is not None:
        # A Policy does not name the plugins that are made of it.
        return [] if text.startswith(POLICY_REFUSALS) else [Blame("plugin", plugin[1])]
    outside, *inside = _IN_ARGUMENTS.split(text)
    found = _outside(outside)
    # Paths within the arguments of a plugin start anew there.
    for place, words in zip(inside[::2], inside[1::2], strict=True):
        keys = _keys(words)
        found += [Blame("end", f"{place}.args.{key}") for key in keys] or [Blame("path", place)]
    if not found and _HEAD.search(text):
        found.append(Blame("head", "apiVersion"))
    return list(dict.fromkeys(found))


def _outside(text: str) -> list[Blame]:
    found = [Blame("path" if "." in key or "[" in key else "key", key) for key in _keys(text)]
    found += [Blame("key", m[1]) for m in _UNKNOWN_OLD.finditer(text)]
    # From 1.36 on with the names of embedded structs, which are no fields.
    types = [re.sub(r"\b[A-Z]\w*\.", "", m[1]) for m in _TYPE.finditer(text) if m[1]]
    found += [Blame("end", field) for field in types]
    found += [Blame("plugin", m[1]) for m in _REMOVED.finditer(text)]
    # Arguments that differ between profiles are told without their index.
    paths = [m[1].removesuffix(".pluginConfig.args") for m in _INVALID.finditer(text)]
    if _MISMATCH in text:
        # The name is at fault as much as they are.
        paths = [path.removesuffix(".args") for path in paths]
    removed = {m[0].partition(":")[0] for m in _REMOVED.finditer(text)}
    found += [Blame("path", path) for path in paths if path not in removed]
    for pattern in (_PLUGIN, _REGISTERED_TWICE, _ABSENT, _NO_TYPE):
        found += [Blame("plugin", m[1]) for m in pattern.finditer(text)]
    return found + [Blame("profile", m[1]) for m in _PROFILE.finditer(text)]


def _keys(text: str) -> list[str]:
    unknown = [m[1] for m in _UNKNOWN.finditer(text)]
    named = unknown + [m[1] or m[2] for m in _TWICE.finditer(text)]
    return [re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), key) for key in named]
