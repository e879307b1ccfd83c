"""A patch with everything that it names, ready to be planned."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.images import ImageArchive
from kschedpatch.model.patch import SchedulerPatch
from kschedpatch.model.sources import SourceFile


class PatchInput(NamedTuple):
    patch: SchedulerPatch
    places: Places
    """Where each value of the patch stands in the user's file."""
    sources: Mapping[str, SourceFile] = MappingProxyType({})
    """The local files that the patch names, by the path that it writes."""
    archive: ImageArchive | None = None
    """What its image archive holds."""
