"""Whether a configuration has the shape that a conversion works on; all else is the rules'."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedpatch.core.kubeversions import CONFIG_KIND
from kschedpatch.core.schedconfig.args import decode_args
from kschedpatch.core.schedconfig.conversion.settings import Setting, was_stock_plugin
from kschedpatch.core.schedconfig.decode import Decoder
from kschedpatch.core.schedconfig.gotypes import types_of
from kschedpatch.core.schedconfig.read import ConfigText
from kschedpatch.core.yamltext.mismatch import mismatch
from kschedpatch.model.finding import Finding, Path

# The only version that has arguments for some plugins, which may stand in any text.
_OLDEST = Setting("v1beta1", 22)
_NAMED = ("enabled", "disabled", "pluginConfig")


def misshapen(config: ConfigText, source: Setting) -> Iterator[Finding]:
    """Each place where something of another kind stands than belongs there."""
    found: list[Finding] = []
    decoder, oldest = (
        Decoder(config, types_of(setting.version), *setting, found) for setting in (source, _OLDEST)
    )
    value = decoder.decode(CONFIG_KIND, config.value, ()) or {}
    for each in (decoder, oldest):
        decode_args(value.get("profiles") or [], each)
    yield from dict.fromkeys(finding for finding in found if finding.code == "C018")
    for key in ("profiles", "extenders"):
        for path, expected, value in _absent(config.value.get(key), (key,)):
            yield config.at("C018", path, *mismatch(expected, value))


def _absent(value: Any, path: Path) -> Iterator[tuple[Path, str, Any]]:
    """To the scheduler an item that is null is an empty one, and a name may be missing until it
    looks for the plugin. Nothing can be said about either."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key != "args" or was_stock_plugin(str(value.get("name"))):
                yield from _absent(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if item is None:
                yield (*path, index), "a value", item
            elif path[-1] in _NAMED and isinstance(item, dict) and item.get("name") is None:
                yield (*path, index, "name"), "a string", None
            yield from _absent(item, (*path, index))
