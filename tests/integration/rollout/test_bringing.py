"""An image comes to the nodes before anything else: pulled, or uploaded and imported. Whatever goes
wrong with it has touched nothing that runs."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count, pairwise
from pathlib import Path

import pytest

from kschedpatch.core.fleet.planning import plan_fleet
from kschedpatch.core.fleet.questions import about_patch
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.inputs.files import NamedText
from kschedpatch.inputs.loading import load_patch
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, Listener, Phase, nobody
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.rollout import Failure, FailureReason, RolloutResult, RolloutSettings
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.rollout import roll_out
from kschedpatch.sandbox.node import SandboxNode
from kschedpatch.sandbox.sandbox import Sandbox
from tests.artefacts import config, docker_archive, program, sha256
from tests.integration.rollout.rig import (
    CONFIG,
    RBAC,
    SETTINGS,
    SPEED,
    Rig,
    assert_clean,
    lives,
    patch,
    shell,
)
from tests.integration.rollout.test_over_ssh import SshLab
from tests.integration.sshd import needs_sshd

TRIED = SETTINGS._replace(preflight=True)
UPLOADS = "/var/lib/kschedpatch/uploads"


#: Nodes that tests share know the images of the former tests.
_NUMBERS = count(1)


class Heard:
    """Events, in their order."""

    def __init__(self, then: Listener = nobody) -> None:
        self.events: list[Event] = []
        self.then = then

    def __call__(self, event: Event, /) -> None:
        self.events.append(event)
        self.then(event)

    def texts(self, phase: Phase) -> list[str]:
        return [event.text for event in self.events if event.phase is phase and event.text]

    def phases(self) -> list[Phase]:
        return list(dict.fromkeys(event.phase for event in self.events))


def image_patch(rig: Rig, image: str) -> bytes:
    return patch(rig.fresh_v(), scheduler=f"image: {image}", rest=RBAC)


def refused(rig: Rig, result: RolloutResult, before: tuple[object, ...]) -> Failure:
    """Exit code 3, and everything as it was."""
    assert result.exit_code == exitcodes.REFUSED, result
    assert result.failure is not None
    assert result.failure.phase is Phase.IMAGE
    assert standing(rig) == before
    assert_clean(rig)
    return result.failure


def standing(rig: Rig) -> tuple[object, ...]:
    return (rig.manifests(), rig.rights(), *(lives(node) for node in rig.nodes))


# Pulled.


def test_an_image_is_pulled_on_all_nodes_before_anything_else(three: Rig) -> None:
    image = "example.org/pulled/slow-pull-5:v1"
    three.sandbox.registry.add(image)
    three.nodes[0].add_image(image)
    heard = Heard()
    result = three.apply(image_patch(three, image), TRIED, listener=heard)
    assert result.exit_code == exitcodes.OK, result
    assert all(image in node.runtime.images for node in three.nodes)
    order = heard.phases()
    for later in (Phase.STAGE, Phase.PREFLIGHT, Phase.OBJECTS, Phase.ARM, Phase.SWITCH):
        assert order.index(Phase.IMAGE) < order.index(later)
    steps = heard.texts(Phase.IMAGE)
    assert any(re.search(rf"pulling {image} \(\d s of at most 300\)", step) for step in steps)
    assert f"{image} is pulled" in steps
    # Only where it was not there.
    assert {e.node for e in heard.events if e.text.startswith("pulling")} == {"cp2", "cp3"}
    assert three.rollback().exit_code == exitcodes.OK
    assert_clean(three)


PULLS = {
    "example.org/nothing:v1": "has no such image",
    "example.org/needs-login/own:v1": "does not let the node in",
    "no-such-registry.example.org/own:v1": "does not resolve on the node",
    "example.org/bad-certificate/own:v1": "certificate is not trusted",
    "example.org/silent-registry/own:v1": "does not answer",
}


@pytest.mark.parametrize("image, words", PULLS.items())
def test_an_image_that_can_not_be_pulled(one: Rig, image: str, words: str) -> None:
    before = standing(one)
    failure = refused(one, one.apply(image_patch(one, image), TRIED), before)
    assert failure.reason is FailureReason.IMAGE
    assert failure.detail.startswith(f"{image} can't be pulled: ")
    assert words in failure.detail
    assert "failed to resolve reference" in failure.detail
    assert "rpc error" not in failure.detail


def test_a_pull_ends_when_its_time_is_over(one: Rig) -> None:
    image = "example.org/slow-pull-600:v1"
    one.sandbox.registry.add(image)
    before = standing(one)
    settings = TRIED._replace(pull_timeout=6)
    failure = refused(one, one.apply(image_patch(one, image), settings), before)
    assert failure.detail == f"{image} was not pulled within 6 s"
    assert image not in one.node.runtime.images


def test_a_pull_is_given_up_on_request_and_does_not_go_on(one: Rig) -> None:
    image = "example.org/slow-pull-240:v1"
    one.sandbox.registry.add(image)
    before, cancel = standing(one), Cancel()

    def listener(event: Event) -> None:
        if event.text.startswith(f"pulling {image} (") and not cancel.requested:
            cancel.ask()

    began = time.monotonic()
    result = one.apply(image_patch(one, image), TRIED, cancel=cancel, listener=listener)
    assert result.exit_code == exitcodes.INTERRUPTED
    assert time.monotonic() - began < 240 / SPEED / 2
    assert standing(one) == before
    assert one.node.wait(lambda: not processes(one.node, "crictl pull"), 30)
    assert image not in one.node.runtime.images
    assert_clean(one)


def processes(node: SandboxNode, words: str) -> list[str]:
    """Commands that run on the node."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(node.root) in line and words in line:
            found.append(line)
    return found


def test_an_image_by_its_digest_is_seen_to_have_it(one: Rig) -> None:
    image = f"example.org/own@sha256:{'a' * 64}"
    one.sandbox.registry.add(image)
    assert one.apply(image_patch(one, image), TRIED).exit_code == exitcodes.OK
    assert one.rollback().exit_code == exitcodes.OK
    # The same name, and the runtime says that it is something else.
    one.node.remove_image(image)
    before = standing(one)
    one.node.runtime.images.digests[image] = f"example.org/own@sha256:{'b' * 64}"
    failure = refused(one, one.apply(image_patch(one, image), TRIED), before)
    assert f"has another digest: sha256:{'b' * 64}" in failure.detail


# Out of an archive.


class Archives:
    """A sandbox of its own, and archives to bring there."""

    def __init__(self, rig: Rig, directory: Path) -> None:
        self.rig = rig
        self.directory = directory
        self.path = directory

    def make(self, *, architecture: str = "amd64", size: int = 300_000) -> str:
        """A new image in a new archive; returns its name."""
        number = next(_NUMBERS)
        name = f"example.org/own:v{number}"
        self.path = self.directory / f"own-{number}.tar"
        image = config(architecture, note=name)
        docker_archive(self.path, name, image=image, layer=os.urandom(size))
        self.image_id = f"sha256:{sha256(image)}"
        return name

    def plan(self, text: bytes | None = None, listener: Listener = nobody) -> FleetPlan:
        with self.rig.fleet(listener) as fleet:
            given = self._given(text)
            return plan_fleet(given, fleet.look(*about_patch(given)), partial=False)

    def _given(self, text: bytes | None) -> PatchInput:
        text = text or patch(self.rig.fresh_v(), scheduler=f"imageArchive: {self.path}", rest=RBAC)
        given, findings = load_patch(NamedText("patch.yaml", text, Path()), QuickFlags())
        assert given is not None, findings
        return given

    def apply(
        self,
        settings: RolloutSettings = TRIED,
        *,
        listener: Listener = nobody,
        cancel: Cancel | None = None,
    ) -> RolloutResult:
        with self.rig.fleet(listener) as fleet:
            given = self._given(None)
            plan = plan_fleet(given, fleet.look(*about_patch(given)), partial=False)
            assert plan.ok, plan.findings
            return roll_out(fleet, plan, settings, cancel or Cancel())

    def there(self, name: str) -> list[str]:
        return [node.runtime.images.id_of(name) for node in self.rig.nodes]

    def uploads(self) -> list[int]:
        """Sizes of what lies on the nodes of archives."""
        return [
            path.stat().st_size
            for node in self.rig.nodes
            if node.path(UPLOADS).is_dir()
            for path in node.path(UPLOADS).iterdir()
        ]


@pytest.fixture
def archives(one: Rig, tmp_path: Path) -> Iterator[Archives]:
    yield Archives(one, tmp_path)
    one.rollback("original")
    assert_clean(one)


def test_an_archive_is_uploaded_imported_and_verified(three: Rig, tmp_path: Path) -> None:
    archives = Archives(three, tmp_path)
    name = archives.make(size=3_000_000)
    heard = Heard()
    result = archives.apply(listener=heard)
    assert result.exit_code == exitcodes.OK, result
    assert archives.there(name) == [archives.image_id] * 3
    assert all(name.encode() in (text or b"") for text in three.manifests())
    assert archives.uploads() == []
    sent = [e for e in heard.events if e.fraction is not None and e.node == "cp2"]
    assert sent[-1].fraction == 1
    assert re.fullmatch(r"own-\d+\.tar: 2.9 of 2.9 MiB, [0-9.]+ MiB/s", sent[-1].text)
    assert f"{name} is imported, its ID as in the archive" in heard.texts(Phase.IMAGE)

    # Not a second time.
    heard = Heard()
    assert archives.apply(listener=heard).exit_code == exitcodes.OK
    assert not [e for e in heard.events if e.fraction is not None]
    assert f"{name} was there" in heard.texts(Phase.IMAGE)
    assert three.rollback("original").exit_code == exitcodes.OK
    assert_clean(three)


def test_another_image_than_the_archives_is_refused(archives: Archives) -> None:
    rig, name = archives.rig, archives.make()
    before = standing(rig)
    rig.node.runtime.images.garbles_imports = True
    try:
        failure = refused(rig, archives.apply(), before)
    finally:
        rig.node.runtime.images.garbles_imports = False
        rig.node.remove_image(name)
    assert failure.reason is FailureReason.IMAGE
    assert archives.image_id in failure.detail
    assert "0" * 64 in failure.detail


def test_an_archive_that_the_runtime_does_not_take(archives: Archives) -> None:
    rig, _ = archives.rig, archives.make()
    before = standing(rig)
    (rig.node.root / "bin/ctr").rename(rig.node.root / "bin/.ctr")
    tool = rig.node.root / "bin/ctr"
    tool.write_text("#!/bin/sh\necho 'ctr: unrecognized image format' >&2\nexit 1\n")
    tool.chmod(0o755)
    try:
        failure = refused(rig, archives.apply(), before)
    finally:
        (rig.node.root / "bin/.ctr").rename(tool)
    assert "ctr could not import" in failure.detail
    assert "unrecognized image format" in failure.detail


def test_a_damaged_part_is_sent_anew(archives: Archives) -> None:
    name = archives.make()
    part = archives.rig.node.path(UPLOADS) / f"{sha256(archives.path.read_bytes())}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(b"\0" * 100_000)
    heard = Heard()
    assert archives.apply(listener=heard).exit_code == exitcodes.OK
    assert "what arrived is damaged: sending it once more" in heard.texts(Phase.IMAGE)
    assert archives.there(name) == [archives.image_id]


def test_a_part_goes_on_where_it_was_and_others_go(archives: Archives) -> None:
    name = archives.make()
    data = archives.path.read_bytes()
    directory = archives.rig.node.path(UPLOADS)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{sha256(data)}.part").write_bytes(data[:200_001])
    (directory / f"{'0' * 64}.part").write_bytes(b"of something that nobody brings any more")
    message = next(f.message for f in archives.plan().findings if f.code == "N014")
    assert "0.2 MiB have arrived before" in message
    heard = Heard()
    assert archives.apply(listener=heard).exit_code == exitcodes.OK
    first = next(e for e in heard.events if e.fraction is not None)
    assert first.fraction is not None
    assert first.fraction > 200_001 / len(data)
    assert archives.there(name) == [archives.image_id]
    assert archives.uploads() == []


def test_a_file_that_changes_after_the_plan_is_never_imported(archives: Archives) -> None:
    name = archives.make()
    rig, changed = archives.rig, archives.path.read_bytes()[:-1] + b"\1"
    before = standing(rig)

    def listener(event: Event) -> None:
        if event.phase is Phase.LOCK:
            archives.path.write_bytes(changed)

    failure = refused(rig, archives.apply(listener=listener), before)
    assert "is not what it was when it was planned" in failure.detail
    assert archives.there(name) == [""]


def test_an_archive_for_another_processor_is_not_sent(archives: Archives) -> None:
    archives.make(architecture="arm64")
    codes = [finding.code for finding in archives.plan().findings]
    assert "N042" in codes
    archives.rig.node.set_machine("aarch64")
    try:
        assert "N042" not in [finding.code for finding in archives.plan().findings]
    finally:
        archives.rig.node.set_machine("x86_64")


def test_without_space_nothing_is_sent(archives: Archives) -> None:
    archives.make()
    tool = archives.rig.node.root / "bin/df"
    tool.write_text("#!/bin/sh\necho head\necho '/dev/vda1 100000 98700 1300 99% /'\n")
    tool.chmod(0o755)
    try:
        found = [f for f in archives.plan().findings if f.code == "N011"]
    finally:
        tool.unlink()
    assert found
    assert "1300 KiB are free" in found[0].message
    assert "for the upload of the archive" in found[0].hint


def test_a_disk_that_fills_up_meanwhile_is_given_back(tmp_path: Path) -> None:
    with Sandbox(tmp_path / "nodes", nodes=1, speed=SPEED, breakable_disks=True) as sandbox:
        if not sandbox.nodes[0].can_break_disks:
            pytest.skip("needs root on Linux")
        rig = Rig(sandbox)
        archives = Archives(rig, tmp_path)
        archives.make(size=6_000_000)  # the disk has 4 MB
        before = standing(rig)
        plan = archives.plan()
        assert "N011" in [finding.code for finding in plan.findings]
        with rig.fleet() as fleet:
            fleet.look()
            result = roll_out(fleet, plan._replace(findings=()), TRIED, Cancel())
        failure = refused(rig, result, before)
        assert failure.reason is FailureReason.DISK
        assert archives.uploads() == []


@pytest.mark.parametrize("tool, runtime", [("podman", "crio/crio.sock"), ("docker", "cri-dockerd")])
def test_other_runtimes_import_with_their_own_tool(tmp_path: Path, tool: str, runtime: str) -> None:
    with Sandbox(tmp_path / "nodes", nodes=1, speed=SPEED) as sandbox:
        rig = Rig(sandbox)
        archives = Archives(rig, tmp_path)
        name = archives.make()
        node = rig.node
        node.path("/var/lib/kubelet/kubeadm-flags.env").write_text(
            f'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/{runtime}"\n'
        )
        said = tmp_path / "said"
        script = f'echo "$@" >>{said}; [ "$1" = load ] || exit 1; exec ctr images import "$3"'
        (node.root / "bin" / tool).write_text(f"#!/bin/sh\n{script}\n")
        (node.root / "bin" / tool).chmod(0o755)
        assert archives.apply(SETTINGS).exit_code == exitcodes.OK
        assert archives.there(name) == [archives.image_id]
        assert said.read_text().startswith(f"load -i {node.root}{UPLOADS}/")


# The way back.


def test_the_old_image_is_pinned_as_long_as_a_kept_run_needs_it(tmp_path: Path) -> None:
    with Sandbox(tmp_path, nodes=1, speed=SPEED) as sandbox:
        rig, images = Rig(sandbox), sandbox.nodes[0].runtime.images
        (stock,) = images
        for name in ("example.org/own:v1", "example.org/own:v2"):
            rig.node.add_image(name)
        assert rig.apply(image_patch(rig, "example.org/own:v1")).exit_code == exitcodes.OK
        assert images.pinned == {stock}
        assert rig.apply(image_patch(rig, "example.org/own:v2")).exit_code == exitcodes.OK
        assert images.pinned == {stock, "example.org/own:v1"}
        # Kept runs go, and with them what only they have needed.
        kept = rig.node.path("/var/lib/kschedpatch/revisions")
        for revision in kept.glob("2*"):
            shutil.rmtree(revision)
        assert rig.apply(patch(rig.fresh_v(), rest=RBAC)).exit_code == exitcodes.OK
        assert images.pinned == {stock, "example.org/own:v2"}
        assert_clean(rig)


def test_a_pin_of_somebody_else_is_not_ours(tmp_path: Path) -> None:
    with Sandbox(tmp_path, nodes=1, speed=SPEED) as sandbox:
        rig, images = Rig(sandbox), sandbox.nodes[0].runtime.images
        (stock,) = images
        images.pinned.add(stock)
        rig.node.add_image("example.org/own:v1")
        assert rig.apply(image_patch(rig, "example.org/own:v1")).exit_code == exitcodes.OK
        assert not rig.node.path("/var/lib/kschedpatch/pins").exists()
        assert images.pinned == {stock}


def test_a_runtime_that_makes_nothing_of_pins_is_told(tmp_path: Path) -> None:
    with Sandbox(tmp_path, nodes=1, speed=SPEED) as sandbox:
        rig, images = Rig(sandbox), sandbox.nodes[0].runtime.images
        images.honours_pins = False
        rig.node.add_image("example.org/own:v1")
        heard = Heard()
        text = image_patch(rig, "example.org/own:v1")
        assert rig.apply(text, listener=heard).exit_code == exitcodes.OK
        assert any("can't be pinned" in step for step in heard.texts(Phase.IMAGE))
        assert images.pinned == set()
        assert not rig.node.path("/var/lib/kschedpatch/pins").exists()


# Cut off.


def test_who_dies_while_sending_leaves_a_part_and_nothing_else(archives: Archives) -> None:
    name = archives.make(size=4_000_000)
    rig, cancel = archives.rig, Cancel()
    before = standing(rig)

    def listener(event: Event) -> None:
        if event.fraction is not None and not cancel.requested:
            cancel.ask()

    result = archives.apply(cancel=cancel, listener=listener)
    assert result.exit_code == exitcodes.INTERRUPTED
    assert standing(rig) == before
    assert_clean(rig)
    assert archives.there(name) == [""]
    assert all(0 < size < archives.path.stat().st_size for size in archives.uploads())
    assert archives.apply().exit_code == exitcodes.OK
    assert archives.there(name) == [archives.image_id]
    assert archives.uploads() == []


@needs_sshd
def test_a_cut_upload_goes_on_in_the_same_run_and_in_the_next(tmp_path: Path) -> None:
    with ExitStack() as stack:
        lab = SshLab(tmp_path / "lab", 1, stack)
        archives = Archives(lab.rig(), tmp_path)
        proxy = lab.proxies["cp1"]
        name = archives.make(size=12_000_000)
        cuts = iter([0.2, 0.5])
        following = next(cuts, 2.0)

        def cut(event: Event) -> None:
            nonlocal following
            if event.fraction is not None and event.fraction > following:
                following = next(cuts, 2.0)
                proxy.reset()

        heard = Heard(cut)
        result = archives.apply(listener=heard)
        assert result.exit_code == exitcodes.OK, result
        assert archives.there(name) == [archives.image_id]
        texts = heard.texts(Phase.IMAGE)
        assert sum(text.startswith("going on over a new connection") for text in texts) == 2
        shares = [e.fraction for e in heard.events if e.fraction is not None]
        starts = [b for a, b in pairwise(shares) if b < a]
        assert all(share > 0.02 for share in starts)  # never from its beginning
        assert_clean(archives.rig)

        # The operator dies in the middle of it; the next run takes up what has arrived.
        name = archives.make(size=12_000_000)
        cancel = Cancel()

        def lost(event: Event) -> None:
            if event.fraction is not None and event.fraction > 0.3 and not cancel.requested:
                cancel.ask()
                proxy.reset()

        result = archives.apply(listener=lost, cancel=cancel)
        assert result.exit_code == exitcodes.INTERRUPTED
        (arrived,) = archives.uploads()
        assert arrived > 1_000_000
        heard = Heard()
        assert archives.apply(listener=heard).exit_code == exitcodes.OK
        shares = [e.fraction for e in heard.events if e.fraction is not None]
        assert shares[0] >= arrived / archives.path.stat().st_size
        assert archives.there(name) == [archives.image_id]
        assert_clean(archives.rig)


# Binaries.


def test_a_binary_is_sent_with_progress_mounted_and_run(one: Rig, tmp_path: Path) -> None:
    path = tmp_path / "kube-scheduler"
    path.write_bytes(program() + os.urandom(5_000_000))
    heard = Heard()
    text = patch(one.fresh_v(), scheduler=f"binary: {path}", rest=CONFIG)
    result = one.apply(text, TRIED, listener=heard)
    assert result.exit_code == exitcodes.OK, result
    sent = [e for e in heard.events if e.phase is Phase.STAGE and e.fraction is not None]
    assert sent[-1].fraction == 1
    assert b"/usr/local/bin/kube-scheduler" in (one.node.manifest_bytes() or b"")
    staged = shell(
        one.node, f"find {one.node.root}/etc/kubernetes/kschedpatch -name kube-scheduler"
    )
    assert Path(staged.stdout.strip()).read_bytes() == path.read_bytes()
    assert one.rollback("original").exit_code == exitcodes.OK
    assert_clean(one)


def test_a_binary_for_another_processor_is_told_before(one: Rig, tmp_path: Path) -> None:
    path = tmp_path / "kube-scheduler"
    path.write_bytes(program(machine=183))
    with one.fleet() as fleet:
        plan = one.plan(fleet, patch(3, scheduler=f"binary: {path}"))
    assert "N043" in [finding.code for finding in plan.findings]
