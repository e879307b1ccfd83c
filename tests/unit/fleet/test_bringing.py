"""What is told of images and binaries before anything is sent to a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedpatch.core.fleet.differences import renewed
from kschedpatch.core.fleet.planning import plan_fleet
from kschedpatch.core.fleet.questions import about_patch, still_open
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.images import ArchiveVariant, ImageArchive, Supply
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.sources import SourceFile
from kschedpatch.report.fleetplans import fleet_plan_data, fleet_plan_text
from kschedpatch.report.terminal import Paint
from tests.artefacts import NAME
from tests.printed import check_data
from tests.unit.fleet.nodes import TOOLS, Node, kubeadm_manifest, node
from tests.unit.patches import patch_input

MIB = 1 << 20
STORE = "/var/lib/containerd"
ID, ARM_ID = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
STOCK = "registry.k8s.io/kube-scheduler:v1.34.11"
FILE = SourceFile("own.tar", "own.tar", "c" * 64, 80 * MIB)
AMD = ArchiveVariant("amd64", ID, (f"sha256:{'d' * 64}",), 70 * MIB, 140 * MIB)
ARM = ArchiveVariant("arm64", ARM_ID, (), 70 * MIB, 140 * MIB)
ARCHIVE = ImageArchive(FILE, NAME, "", (AMD,))


def clean(label: str = "cp1") -> Node:
    return (
        node(label)
        .but(machine="x86_64", image_store=STORE)
        .but(images={**node(label).facts.images, NAME: False, ID: False})
        .but(free_kib={"/etc/kubernetes/manifests": 1 << 20, "/var/lib": 1 << 20, STORE: 1 << 20})
    )


def planned(archive: ImageArchive | None, *nodes: Node, image: str = NAME) -> FleetPlan:
    given = patch_input({"scheduler": {"image": image}}, name="mine")
    return plan_fleet(
        given._replace(archive=archive), [item.facts for item in nodes], partial=False
    )


def told(archive: ImageArchive | None, *nodes: Node, image: str = NAME) -> dict[str, str]:
    return {f.code: f.message for f in planned(archive, *nodes, image=image).findings}


# Pulled.


@pytest.mark.parametrize(
    "change, code, words",
    [
        (lambda n: n, "N014", f"{NAME} has to be pulled"),
        (lambda n: n.but(tools=TOOLS - {"crictl"}), "N040", "no crictl"),
        (lambda n: n.but(images={STOCK: True}), "N041", "can't be told"),
    ],
)
def test_an_image_that_is_not_there(change: Callable[[Node], Node], code: str, words: str) -> None:
    assert words in told(None, change(clean()))[code]


def test_an_image_that_is_there_needs_nothing() -> None:
    there = clean().but(images={STOCK: True, NAME: True})
    plan = planned(None, there)
    assert plan.findings == ()
    assert plan.nodes[0].supply is Supply.THERE


# Out of an archive.


def test_an_archive_is_asked_about_by_name_and_id() -> None:
    given = patch_input({"scheduler": {"image": NAME}}, name="mine")._replace(archive=ARCHIVE)
    assert about_patch(given).images == (NAME, ID)


def test_a_second_look_asks_the_same_and_about_the_image_that_runs() -> None:
    """What it tells is told instead of the first: nothing of that may be missing then."""
    asked = about_patch(patch_input({"scheduler": {"image": NAME}}, name="mine"))
    assert asked.room
    assert still_open(asked, [clean().facts]) is None
    again = still_open(asked, [clean().facts, clean().but(images={}).facts])
    assert again == asked._replace(images=(NAME, STOCK), running=False)


def test_the_plan_says_what_is_sent_where() -> None:
    plan = planned(ARCHIVE, clean("cp1"), clean("cp2").but(image_ids={NAME: ID}))
    assert [(f.code, f.file) for f in plan.findings] == [("N014", "cp1")]
    assert "uploaded (80.0 MiB) and imported" in plan.findings[0].message
    assert {n.label: n.supply for n in plan.nodes} == {
        "cp1": Supply.ARCHIVE,
        "cp2": Supply.THERE,
    }
    text = fleet_plan_text(plan, Paint(enabled=False))
    assert f"  - {NAME} is uploaded to cp1 (80.0 MiB each), and\n" in text
    check_data("PlanResult", fleet_plan_data(plan))
    first = fleet_plan_data(plan)["nodes"][0]["image"]
    assert (first["supply"], first["archive"]["imageId"]) == ("archive", ID)


def test_a_plan_says_what_is_pulled_where() -> None:
    plan = planned(None, clean("cp1"), clean("cp2").but(images={STOCK: True, NAME: True}))
    text = fleet_plan_text(plan, Paint(enabled=False))
    assert f"  - {NAME} is pulled\n    on cp1, through the node's runtime\n" in text


def test_what_has_arrived_before_is_not_sent_again() -> None:
    cut = clean().but(uploads={FILE.sha256: 50 * MIB})
    message = told(ARCHIVE, cut)["N014"]
    assert "uploaded (30.0 MiB)" in message
    assert "50.0 MiB have arrived before" in message


@pytest.mark.parametrize("known_as", [ID, f"sha256:{'d' * 64}"])
def test_the_very_image_is_there(known_as: str) -> None:
    """Dockers of today call the manifest's digest the ID."""
    plan = planned(ARCHIVE, clean().but(image_ids={NAME: known_as}))
    assert plan.findings == ()
    assert plan.nodes[0].supply is Supply.THERE


Change = Callable[[Node], Node]
WRONG: dict[str, tuple[str, str, ImageArchive, Change]] = {
    "processor": ("N042", "own.tar holds amd64, the node is arm64", ARCHIVE,
                  lambda n: n.but(machine="aarch64")),
    "no ctr": ("N046", "no ctr", ARCHIVE, lambda n: n.but(tools=TOOLS - {"ctr"})),
    "no podman": ("N046", "runtime is cri-o, and there is no podman", ARCHIVE,
                  lambda n: n.but(runtime="cri-o")),
    "no crictl": ("N046", "no crictl to see", ARCHIVE, lambda n: n.but(tools=TOOLS - {"crictl"})),
    "xz": ("N046", "packed with xz", ARCHIVE._replace(compression="xz"), lambda n: n),
    "other of that name": ("N045", "is there already, and is another image", ARCHIVE,
                           lambda n: n.but(images={STOCK: True, NAME: True},
                                           image_ids={NAME: ARM_ID})),
    "same under another name": ("N047", f"not as {NAME}", ARCHIVE,
                                lambda n: n.at("1.36.4").but(images={ID: True, NAME: False})),
    "always pulled": ("N048", "imagePullPolicy is Always", ARCHIVE,
                      lambda n: n.with_manifest(kubeadm_manifest(34).replace(
                          b"IfNotPresent", b"Always"))),
    "space for the upload": ("N011", "are free", ARCHIVE,
                             lambda n: n.but(free_kib={"/var/lib": 80 * 1024})),
    "space for the image": ("N011", "are free", ARCHIVE,
                            lambda n: n.but(free_kib={STORE: 200 * 1024})),
}  # fmt: skip


@pytest.mark.parametrize("code, words, archive, change", WRONG.values(), ids=WRONG)
def test_what_stands_against_an_archive(
    code: str, words: str, archive: ImageArchive, change: Change
) -> None:
    assert words in told(archive, change(clean()))[code]


def test_records_of_pulls_are_kept_from_1_35_on() -> None:
    known = clean().but(images={STOCK: True, ID: True, NAME: False})
    assert "N047" not in told(ARCHIVE, known)
    assert "N047" in told(ARCHIVE, known.but(kubelet=KubeVersion(35)))


def test_the_running_images_name_is_not_taken() -> None:
    """The old manifest would run the new image: no way back."""
    archive = ARCHIVE._replace(image=STOCK)
    taken = clean().but(image_ids={STOCK: ARM_ID})
    assert "that runs now is another image" in told(archive, taken, image=STOCK)["N044"]
    assert "N044" not in told(archive, taken.but(image_ids={STOCK: ID}), image=STOCK)


def test_each_node_gets_the_variant_for_its_processor() -> None:
    both = ARCHIVE._replace(variants=(AMD, ARM))
    plan = planned(both, clean("cp1"), clean("cp2").but(machine="aarch64"))
    chosen = {n.label: n.archive.variants for n in plan.nodes if n.archive}
    assert chosen == {"cp1": (AMD,), "cp2": (ARM,)}
    # Of the other processor's image under that name nobody thinks that it is this one.
    (wrong,) = planned(both, clean().but(image_ids={NAME: ARM_ID})).nodes
    assert wrong.supply is Supply.ARCHIVE


def test_directories_of_one_file_system_share_its_room() -> None:
    """80 MiB for the upload, 210 for the image: each alone would fit into 250."""
    places = ("/etc/kubernetes/manifests", "/var/lib", STORE)
    tight = clean().but(free_kib=dict.fromkeys(places, 250 * 1024))
    assert "N011" not in told(ARCHIVE, tight)
    shared = tight.but(filesystems=dict.fromkeys(places, "/"))
    (finding,) = [f for f in planned(ARCHIVE, shared).findings if f.code == "N011"]
    assert finding.file == f"cp1:{STORE}"
    assert "for the upload of the archive" in finding.hint
    arrived = shared.but(uploads={FILE.sha256: 70 * MIB})
    assert "N011" not in told(ARCHIVE, arrived)


def test_a_plan_that_is_carried_out_later_asks_anew() -> None:
    nodes = (clean("cp1"), clean("cp2"))
    plan = planned(ARCHIVE, *nodes)
    now = tuple(item.but(image_ids={NAME: ID}).facts for item in nodes)
    later = renewed(plan, now, partial=False)
    assert {item.supply for item in later.nodes} == {Supply.THERE}
    assert later.findings == ()


# Binaries.


def with_binary(architecture: str, machine: str) -> list[Any]:
    given = patch_input({"scheduler": {"binary": "./own"}}, name="mine")
    file = SourceFile("./own", "/own", "e" * 64, 70 * MIB, architecture=architecture)
    plan = plan_fleet(
        given._replace(sources={"./own": file}),
        [clean().but(machine=machine).facts],
        partial=False,
    )
    return [(finding.code, finding.message) for finding in plan.findings]


def test_a_binary_for_another_processor() -> None:
    assert with_binary("arm64", "x86_64") == [
        ("N043", "./own is made for arm64, the node is amd64")
    ]
    assert with_binary("amd64", "x86_64") == []
    assert with_binary("amd64", "loongarch64") == []  # nobody knows, nobody judges
