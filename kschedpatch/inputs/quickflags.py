"""A patch from flags on the command line, alone or on top of a patch file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kschedpatch.core.volumenames import volume_name
from kschedpatch.core.yamltext.places import COMMAND_LINE, Places
from kschedpatch.inputs.patchfile import check_patch
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.patch import API_VERSION, KIND, SchedulerPatch

_FLAG_NAMES = {"mounts": "mount", "args": "arg"}
DEVICE_PLUGINS = {
    "name": "device-plugin-sock",
    "hostPath": "/var/lib/kubelet/device-plugins",
    "type": "Directory",
}


class QuickFlags(NamedTuple):
    image: str | None = None
    image_archive: str | None = None
    binary: str | None = None
    config: str | None = None
    mounts: tuple[str, ...] = ()
    device_plugins: bool = False
    args: tuple[str, ...] = ()
    rbac: tuple[str, ...] = ()

    @property
    def given(self) -> bool:
        return self != QuickFlags()


def patch_from_flags(flags: QuickFlags) -> tuple[SchedulerPatch | None, tuple[Finding, ...]]:
    """The same value as a file gives. Paths are made absolute: they start where the user is."""
    findings = [*_unreadable(flags)]
    if findings:
        return None, tuple(findings)
    scheduler: dict[str, Any] = {}
    if flags.image is not None:
        scheduler["image"] = flags.image
    for key, path in (("imageArchive", flags.image_archive), ("binary", flags.binary)):
        if path is not None:
            scheduler[key] = _absolute(path)
    if flags.args:
        scheduler["args"] = dict(_arg(text, findings) for text in flags.args)
    spec: dict[str, Any] = {"scheduler": scheduler} if scheduler else {}
    if flags.config is not None:
        spec["config"] = {"file": _absolute(flags.config)}
    names: set[str] = set()
    mounts = [_mount(text, names, findings) for text in flags.mounts]
    if flags.device_plugins:
        mounts.insert(0, dict(DEVICE_PLUGINS))
    if mounts:
        spec["mounts"] = mounts
    if flags.rbac:
        spec["rbac"] = {"manifests": [_absolute(path) for path in flags.rbac]}
    value = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": "command-line"},
        "spec": spec,
    }
    patch, problems = check_patch(value, Places(COMMAND_LINE, None))
    return (None if findings else patch), (*findings, *problems)


def _unreadable(flags: QuickFlags) -> Iterator[Finding]:
    """Flags that are empty (an unset variable in a script), or no text at all."""
    for name, value in flags._asdict().items():
        flag = "--" + _FLAG_NAMES.get(name, name.replace("_", "-"))
        for text in value if isinstance(value, tuple) else (value,):
            if text == "":
                yield found("P004", f"{flag} is empty", file=COMMAND_LINE)
            elif isinstance(text, str) and not _is_unicode(text):
                yield found("P004", f"{flag} {text!a} is not UTF-8 text", file=COMMAND_LINE)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _absolute(path: str) -> str:
    try:
        return str(Path.cwd() / path)
    except OSError:  # the current directory is gone
        return path


def _arg(text: str, findings: list[Finding]) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        hint = "--arg v=5"
        message = f"--arg {text!r} has no value"
        findings.append(found("P004", message, file=COMMAND_LINE, hint=hint))
    return name.lstrip("-"), value


def _mount(text: str, names: set[str], findings: list[Finding]) -> dict[str, Any]:
    """HOST[:CONTAINER][:ro|rw]"""
    parts = text.split(":")
    read_only = True
    if len(parts) > 1 and parts[-1] in {"ro", "rw"}:
        read_only = parts.pop() == "ro"
    if len(parts) > 2 or not all(part.startswith("/") for part in parts):
        message = f"--mount {text!r} is not HOST[:CONTAINER][:ro|rw] with absolute paths"
        hint = "--mount /etc/localtime, or --mount /opt/data:/data:rw"
        findings.append(found("P004", message, file=COMMAND_LINE, hint=hint))
        parts = ["/unreadable"]
    mount = {"name": volume_name(parts[-1], names), "hostPath": parts[0], "readOnly": read_only}
    if len(parts) == 2:
        mount["mountPath"] = parts[1]
    return mount


def override(patch: SchedulerPatch, flags: SchedulerPatch) -> SchedulerPatch:
    """The file's patch with what the flags say: they replace single values and add to lists."""
    mine, theirs = patch.spec, flags.spec
    update: dict[str, Any] = {}
    chosen = theirs.scheduler
    scheduler: dict[str, Any] = {"args": {**mine.scheduler.args, **chosen.args}}
    if chosen.image or chosen.image_archive or chosen.binary:
        # Another image, archive or binary takes the place of whichever the file has.
        names = ("image", "image_archive", "binary")
        scheduler |= {name: getattr(chosen, name) for name in names}
    update["scheduler"] = mine.scheduler.model_copy(update=scheduler)
    if theirs.config is not None:
        where: dict[str, str | None] = {"mount_path": None, "name": None}
        if mine.config is not None:
            where = {"mount_path": mine.config.mount_path, "name": mine.config.name}
        update["config"] = theirs.config.model_copy(update=where)
    new = {(m.mount_path or m.host_path): m for m in theirs.mounts}
    kept = tuple(m for m in mine.mounts if (m.mount_path or m.host_path) not in new)
    update["mounts"] = (*kept, *theirs.mounts)
    manifests = (*mine.rbac.manifests, *theirs.rbac.manifests)
    update["rbac"] = mine.rbac.model_copy(update={"manifests": manifests})
    return patch.model_copy(update={"spec": mine.model_copy(update=update)})
