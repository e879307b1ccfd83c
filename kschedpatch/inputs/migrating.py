"""migrate: takes a patch, a configuration or a Policy, and gives the texts that say the same to
another minor. A text that came is spliced; a Policy becomes a new one."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions import CONFIG_GROUP, CONFIG_KIND, POLICY_KIND
from kschedpatch.core.offline import lint_config
from kschedpatch.core.patchmigration import ARGS, change_flags, named_policy
from kschedpatch.core.schedconfig.conversion.configuration import Choices, convert
from kschedpatch.core.schedconfig.conversion.journal import Journal
from kschedpatch.core.schedconfig.conversion.settings import (
    Setting,
    is_known_version,
    source_setting,
    target_setting,
)
from kschedpatch.core.schedconfig.conversion.shapes import misshapen
from kschedpatch.core.schedconfig.policy.convert import convert_policy, mended
from kschedpatch.core.schedconfig.policy.judge import policy_findings
from kschedpatch.core.schedconfig.policy.read import read_policy
from kschedpatch.core.schedconfig.read import ConfigText, read_config
from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.splice import SpliceError, respell
from kschedpatch.inputs.files import NamedText, Unreadable, read_bytes, read_named
from kschedpatch.inputs.linting import kind_of, unknown_kind
from kschedpatch.inputs.patchfile import read_patch
from kschedpatch.model.finding import Finding, has_errors, in_reading_order
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.patch import KIND as PATCH_KIND


class Rewritten(NamedTuple):
    """A file as it was and as it should be."""

    name: str
    path: Path | None
    """None for standard input."""
    before: str
    after: str

    @property
    def changed(self) -> bool:
        return self.before != self.after


class Migration(NamedTuple):
    files: tuple[Rewritten, ...]
    findings: tuple[Finding, ...]


class Wish(NamedTuple):
    """Where to, and from where if it is known."""

    target: Setting
    source_minor: int | None
    choices: Choices


def migrate_path(
    name: str, target: KubeVersion, source: KubeVersion | None, choices: Choices
) -> Migration:
    """Texts are there only where there is no error."""
    try:
        text = read_named(name)
    except Unreadable as error:
        return Migration((), (error.finding(name or "-f"),))
    path = None if name == "-" else Path(name)
    wish = Wish(target_setting(target.minor), source.minor if source else None, choices)
    kind = kind_of(text.data)
    try:
        if kind == PATCH_KIND:
            result = _patch(text, path, wish)
        elif kind == CONFIG_KIND:
            result = _config(text, path, wish)
        elif kind == POLICY_KIND:
            result = _policy(text, path, wish)
        else:
            return Migration((), unknown_kind(text, kind))
    except SpliceError as error:
        place = Places(text.name, None)
        message = f"its text can't be changed in place: {error}"
        return Migration((), (place.at("U005", (), message),))
    findings = in_reading_order(result.findings)
    return Migration(() if has_errors(findings) else result.files, findings)


def _config(text: NamedText, path: Path | None, wish: Wish) -> Migration:
    reading = read_config(text.data, text.name)
    findings = list(reading.findings)
    config = reading.config
    if config is None or config.text is None or config.places.root is None or has_errors(findings):
        return Migration((), tuple(findings))
    value, problems = _converted(config, wish)
    findings += problems
    if has_errors(findings):
        return Migration((), tuple(findings))
    after = respell(config.text, config.places.root, value).text
    findings += _refusals(after, text.name, wish.target)
    return Migration((Rewritten(text.name, path, config.text, after),), tuple(findings))


def _converted(config: ConfigText, wish: Wish) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    version = config.value.get("apiVersion")
    if version is not None and not is_known_version(str(version)):
        wrong = config.at("C002", ("apiVersion",), f"apiVersion is {version!r}")
        return config.value, (wrong,)
    source = source_setting(config.value, wish.source_minor, wish.target)
    if misfits := tuple(misshapen(config, source)):
        return config.value, misfits
    result = convert(config, source, wish.target, wish.choices)
    findings = list(result.findings)
    if config.value.get("apiVersion") is None and wish.source_minor is None:
        message = f"no apiVersion: taken for what 1.{wish.target.minor} reads"
        findings.append(config.at("U006", (), message, "--from says what it was written for"))
    return result.value, tuple(findings)


def _refusals(after: str, name: str, target: Setting) -> list[Finding]:
    """What the target would still refuse: told with the lines of the new text."""
    judged = lint_config(after.encode(), f"{name} (migrated)", None, KubeVersion(target.minor))
    return [finding for finding in judged if finding.is_error]


def _policy(text: NamedText, path: Path | None, wish: Wish) -> Migration:
    value, before, findings = _policy_value(text, wish)
    if has_errors(findings):
        return Migration((), findings)
    is_json = before.lstrip().startswith("{")
    after = json.dumps(value, indent=2) + "\n" if is_json else emit.document(value)
    found = (*findings, *_refusals(after, text.name, wish.target))
    return Migration((Rewritten(text.name, path, before, after),), found)


def _policy_value(text: NamedText, wish: Wish) -> tuple[dict[str, Any], str, tuple[Finding, ...]]:
    """The configuration that a Policy comes to."""
    reading = read_policy(text.data, text.name)
    if reading.policy is None or has_errors(reading.findings):
        return {}, "", reading.findings
    journal = Journal(reading.policy.places.at, accept=wish.choices.accept_changes)
    policy = mended(reading.policy, journal)
    findings = (*reading.findings, *journal.findings, *policy_findings(policy))
    if has_errors(findings):
        return {}, "", findings
    result = convert_policy(policy, wish.target, wish.choices)
    return result.value, policy.text, (*findings, *result.findings)


def _patch(text: NamedText, path: Path | None, wish: Wish) -> Migration:
    reading = read_patch(text.data, text.name)
    root = reading.places.root
    if reading.patch is None or root is None or has_errors(reading.findings):
        return Migration((), reading.findings)
    before = text.data.decode()
    value = value_of(root)
    work = _PatchWork(text, path, wish, reading.places, copy.deepcopy(value))
    work.findings += reading.findings
    work.policy()
    work.config()
    work.flags()
    if has_errors(work.findings):
        return Migration((), tuple(work.findings))
    after = respell(before, root, work.value).text
    return Migration((Rewritten(text.name, path, before, after), *work.files), tuple(work.findings))


class _PatchWork:
    """One patch under way: its value, and the configuration file that it names."""

    def __init__(
        self, text: NamedText, path: Path | None, wish: Wish, places: Places, value: dict[str, Any]
    ) -> None:
        self.text, self.path, self.wish = text, path, wish
        self.places = places
        self.value = value
        self.spec: dict[str, Any] = value.get("spec") or {}
        self.files: list[Rewritten] = []
        self.findings: list[Finding] = []
        self.chosen: dict[str, Any] = {}
        """Profiles and extenders of a Policy, which beat those of the configuration."""

    def policy(self) -> None:
        named = named_policy(self.spec, self.wish.target.minor)
        if named is None:
            return
        if named.file_index < 0:
            message = f"{named.source} is not one of the patch's files"
            hint = "fetch it from a node and migrate it; give the result as config.file"
            here = (*ARGS, "policy-config-file")
            self.findings.append(self.places.at("U005", here, message, hint))
            return
        try:
            data = read_bytes(self.text.directory / named.source)
        except Unreadable as error:
            here = ("spec", "files", named.file_index, "source")
            message = f"{named.source}: {error.reason}"
            self.findings.append(self.places.at("P006", here, message))
            return
        source = NamedText(named.source, data, self.text.directory)
        value, _, findings = _policy_value(source, self.wish)
        self.findings += findings
        self.chosen = {key: value[key] for key in ("profiles", "extenders") if key in value}
        here = ("spec", "files", named.file_index)
        message = f"{named.source} is part of spec.config now; its file is left where it lies"
        self.findings.append(self.places.at("U001", here, message))
        del self.spec["files"][named.file_index]
        if not self.spec["files"]:
            del self.spec["files"]

    def config(self) -> None:
        section = self.spec.get("config")
        if section is None:
            if self.chosen:
                self._insert_config()
        elif section.get("inline") is not None:
            inside = ("spec", "config", "inline")
            config = ConfigText(section["inline"], self.places, inside)
            value, problems = _converted(config, self.wish)
            self.findings += problems
            section["inline"] = self._with_policy(value)
            self._judge(section["inline"])
        else:
            self._config_file(section["file"])

    def flags(self) -> None:
        journal = Journal(self.places.at, accept=self.wish.choices.accept_changes)
        change_flags(self.spec, self.wish.target.minor, journal)
        self.findings += journal.findings

    def _with_policy(self, value: dict[str, Any]) -> dict[str, Any]:
        # In 1.22 a Policy beats the profiles and extenders of the configuration beside it.
        if not self.chosen:
            return value
        return {**{k: v for k, v in value.items() if k not in ("profiles", "extenders")},
                **self.chosen}  # fmt: skip

    def _insert_config(self) -> None:
        """Behind the scheduler, where the recipes have it."""
        spec: dict[str, Any] = {}
        for key, item in self.spec.items():
            spec[key] = item
            if key == "scheduler":
                spec["config"] = {"inline": self.chosen}
        spec.setdefault("config", {"inline": self.chosen})
        self.spec = self.value["spec"] = spec
        self._judge(self.chosen)

    def _judge(self, value: dict[str, Any]) -> None:
        head = {"apiVersion": f"{CONFIG_GROUP}/{self.wish.target.version}", "kind": CONFIG_KIND}
        whole = emit.document({**head, **value})
        if not has_errors(self.findings):
            self.findings += _refusals(whole, f"config of {self.text.name}", self.wish.target)

    def _config_file(self, name: str) -> None:
        place = self.text.directory / name
        try:
            data = read_bytes(place)
        except Unreadable as error:
            here = ("spec", "config", "file")
            self.findings.append(self.places.at("P006", here, f"{name}: {error.reason}"))
            return
        reading = read_config(data, name)
        self.findings += reading.findings
        config = reading.config
        if config is None or config.text is None or config.places.root is None:
            return
        value, problems = _converted(config, self.wish)
        self.findings += problems
        if has_errors(self.findings):
            return
        value = self._with_policy(value)
        after = respell(config.text, config.places.root, value).text
        self.findings += _refusals(after, name, self.wish.target)
        self.files.append(Rewritten(name, place, config.text, after))
