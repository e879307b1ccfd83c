"""A Deployment's pod template: which container is the scheduler, and what it tells of itself."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from kschedpatch.core.manifest.document import scheduler_index
from kschedpatch.core.staging import Staged
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.kubeversion import KubeVersion, version_of_image
from kschedpatch.model.patch import SchedulerPatch

#: Of a ConfigMap.
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,200}", re.ASCII)


def named_as_seen(staged: Staged, patch: SchedulerPatch) -> Staged:
    """The ConfigMap's key is the name that the container sees, unless another file has it."""
    name = PurePosixPath(staged.mount_path).name
    others = {PurePosixPath(file.mount_path).name for file in patch.spec.files}
    fits = _KEY.fullmatch(name) is not None and name not in others
    return staged._replace(file=staged.file._replace(name=name)) if fits else staged


def container_index(template: dict[str, Any]) -> int | None:
    """A scheduler's image may have a program of its own, under any name."""
    index = scheduler_index(template)
    containers = (template.get("spec") or {}).get("containers") or []
    return 0 if index is None and len(containers) == 1 else index


def version_in(base: Object | None, patch: SchedulerPatch) -> KubeVersion | None:
    """Where nobody says it: by the tag of the image."""
    images = [patch.spec.scheduler.image or ""]
    template = ((base or {}).get("spec") or {}).get("template") or {}
    index = container_index(template)
    if index is not None:
        images.append(str(template["spec"]["containers"][index].get("image") or ""))
    return next(filter(None, (version_of_image(image) for image in images if image)), None)
