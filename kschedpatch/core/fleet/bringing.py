"""How the planned image and binary come to a node, and what stands against it: facts in, findings
out. The node is asked again when it comes to that; here it is told beforehand."""

from __future__ import annotations

from collections.abc import Iterator

from kschedpatch.core.architectures import of_machine
from kschedpatch.core.fleet.questions import located
from kschedpatch.core.imagenames import full_name
from kschedpatch.model.codes import found
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding
from kschedpatch.model.fleetplan import NodePlan
from kschedpatch.model.images import ImageArchive, Supply

#: Room for backups, journal and the new manifest, beside what is brought.
SPARE_KIB = 1024
#: What imports an archive, by the runtime; podman shares the images of CRI-O.
IMPORTERS = {"containerd": "ctr", "cri-o": "podman", "docker": "docker"}
#: containerd's ctr decompresses these; the others know them all.
_READ_BY_CTR = frozenset({"", "gzip"})
#: The minor from which the kubelet keeps records of what it pulled under which name.
_PULL_RECORDS = 35
STATE = "/var/lib"


def archive_for(archive: ImageArchive | None, facts: NodeFacts) -> ImageArchive | None:
    """With the variant for this node alone, where there is one."""
    if archive is None:
        return None
    wanted = of_machine(facts.machine)
    fitting = tuple(one for one in archive.variants if one.architecture == wanted)
    return archive._replace(variants=fitting[:1]) if fitting else archive


def supply_of(facts: NodeFacts, image: str, archive: ImageArchive | None) -> Supply:
    there = facts.images.get(image)
    if archive is not None:
        return Supply.THERE if facts.image_ids.get(image) in archive.ids else Supply.ARCHIVE
    if there is None:
        return Supply.UNKNOWN
    return Supply.THERE if there else Supply.PULL


def bringing_findings(facts: NodeFacts, plan: NodePlan) -> Iterator[Finding]:
    yield from _binary(facts, plan)
    if plan.archive is not None:
        yield from _archive(facts, plan, plan.archive)
    elif plan.preflight.image != plan.image_before:
        yield from _pulled(facts, plan)
    yield from space_findings(facts, plan)


def _about(facts: NodeFacts, code: str, message: str, hint: str = "", path: str = "") -> Finding:
    return found(code, message, file=located(facts, path), hint=hint)


def _binary(facts: NodeFacts, plan: NodePlan) -> Iterator[Finding]:
    here = of_machine(facts.machine)
    for item in plan.generation.files if plan.generation is not None else ():
        made_for = item.file.architecture
        if here and made_for and made_for != here:
            message = f"{item.file.name} is made for {made_for}, the node is {here}"
            yield _about(facts, "N043", message, f"build it with GOARCH={here}")


def _pulled(facts: NodeFacts, plan: NodePlan) -> Iterator[Finding]:
    image = plan.preflight.image
    if plan.supply is Supply.UNKNOWN:
        yield _about(facts, "N041", f"whether {image} is there can't be told")
    elif plan.supply is Supply.PULL and "crictl" not in facts.tools:
        message = f"{image} is not on the node, and there is no crictl to pull it with"
        yield _about(facts, "N040", message, "bring it as imageArchive, or install crictl")
    elif plan.supply is Supply.PULL:
        yield _about(facts, "N014", f"{image} has to be pulled")


def _archive(facts: NodeFacts, plan: NodePlan, archive: ImageArchive) -> Iterator[Finding]:
    if plan.always_pulls:
        message = f"imagePullPolicy is Always, and {archive.image} comes as an archive"
        yield _about(facts, "N048", message)
    if plan.supply is Supply.THERE:
        return
    here = of_machine(facts.machine)
    held = {one.architecture for one in archive.variants}
    if here and here not in held:
        message = f"{archive.file.name} holds {', '.join(sorted(held))}, the node is {here}"
        yield _about(facts, "N042", message)
        return
    yield from _import_problems(facts, archive)
    yield from _name_problems(facts, plan, archive)
    size = mib(archive.file.size - _arrived(facts, archive))
    message = f"{archive.image} has to be uploaded ({size}) and imported"
    if _arrived(facts, archive):
        message += f"; {mib(_arrived(facts, archive))} have arrived before"
    yield _about(facts, "N014", message)


def _import_problems(facts: NodeFacts, archive: ImageArchive) -> Iterator[Finding]:
    tool = IMPORTERS.get(facts.runtime, "ctr")
    if tool not in facts.tools:
        message = f"the runtime is {facts.runtime}, and there is no {tool} to import it with"
        yield _about(facts, "N046", message)
    elif not facts.tools & {"crictl", "docker"}:
        message = "there is no crictl to see what was imported"
        yield _about(facts, "N046", message, "install crictl")
    if tool == "ctr" and archive.compression not in _READ_BY_CTR:
        message = f"ctr does not read archives packed with {archive.compression}"
        yield _about(facts, "N046", message, "unpack it, or pack it with gzip")


def _name_problems(facts: NodeFacts, plan: NodePlan, archive: ImageArchive) -> Iterator[Finding]:
    name = archive.image
    if full_name(name) == full_name(plan.image_before):
        message = f"the {name} that runs now is another image than the one in {archive.file.name}"
        yield _about(facts, "N044", message, "give the new image a tag of its own")
    elif facts.images.get(name):
        yield _about(facts, "N045", f"{name} is there already, and is another image")
    elif _keeps_records(facts) and any(facts.images.get(one.image_id) for one in archive.variants):
        message = f"the image of {archive.file.name} is there already, not as {name}"
        yield _about(facts, "N047", message)


def _keeps_records(facts: NodeFacts) -> bool:
    return facts.kubelet is None or facts.kubelet.minor >= _PULL_RECORDS


def _arrived(facts: NodeFacts, archive: ImageArchive) -> int:
    arrived = facts.uploads.get(archive.file.sha256, 0)
    return arrived if 0 <= arrived <= archive.file.size else 0


def space_findings(facts: NodeFacts, plan: NodePlan) -> Iterator[Finding]:
    """Directories on one file system share its room."""
    needs: dict[str, dict[str, int]] = {}
    for directory in facts.free_kib:
        system = facts.filesystems.get(directory, directory)
        needs.setdefault(system, {})[directory] = _needed_kib(facts, plan, directory)
    for directories in needs.values():
        needed = sum(directories.values())
        free = min(facts.free_kib[directory] for directory in directories)
        if needed and free < needed:
            most = max(directories, key=lambda directory: directories[directory])
            message = f"{free} KiB are free, {needed} KiB are needed"
            yield _about(facts, "N011", message, _what_for(facts, plan), most)


def _needed_kib(facts: NodeFacts, plan: NodePlan, directory: str) -> int:
    upload, store = _for_archive(facts, plan)
    if directory == facts.image_store:
        return store
    if directory == STATE:
        return SPARE_KIB + upload
    files = plan.generation.files if plan.generation is not None else ()
    return SPARE_KIB + (sum(item.file.size for item in files) // 1024 + 1 if files else 0)


def _for_archive(facts: NodeFacts, plan: NodePlan) -> tuple[int, int]:
    """KiB for the upload, and for what the runtime makes of it: the layers as they came, and
    unpacked."""
    archive = plan.archive
    if archive is None or plan.supply is not Supply.ARCHIVE:
        return 0, 0
    upload = archive.file.size - _arrived(facts, archive)
    store = max((one.stored + one.unpacked for one in archive.variants), default=0)
    return upload // 1024 + 1, store // 1024 + 1


def _what_for(facts: NodeFacts, plan: NodePlan) -> str:
    upload, store = _for_archive(facts, plan)
    if not upload:
        return ""
    return f"{upload} KiB for the upload of the archive, {store} KiB for the image unpacked"


def mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"
