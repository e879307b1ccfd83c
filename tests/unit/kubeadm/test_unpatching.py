"""What lies below a manifest that kubeadm has rendered with a persisted patch in it."""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.core.kubeadm.persisting import persisted, writes_lists
from kschedpatch.core.kubeadm.unpatching import is_kept_by_kubeadm, says_the_same, unpatched
from kschedpatch.core.manifest.document import Manifest, read_manifest
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.planner import plan_static_pod
from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.inputs.loading import load_patch
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.inputs.recipes import recipe_text
from kschedpatch.model.kubeversion import KubeVersion, version_of_image
from tests.recipenames import OF_STATIC_PODS
from tests.unit.kubeadm.rendering import kubeadm_renders, meaning
from tests.unit.kubeadm.test_persisting import SPECS, base_of
from tests.unit.patches import patch_input


def read_text(text: str) -> Manifest:
    manifest = read_manifest(text.encode(), "kube-scheduler.yaml").manifest
    assert manifest is not None
    return manifest


def image_version(pod: dict[str, Any]) -> KubeVersion | None:
    return version_of_image(pod["spec"]["containers"][0]["image"])


def upgraded(given: PatchInput, minor: int) -> tuple[Manifest, Manifest, Manifest, Manifest]:
    """Base and result of the run; what kubeadm makes of the next minor with it, and without."""
    base, following = base_of(minor), base_of(minor + 1)
    after = read_text(plan_static_pod(given, base).after)
    kept = persisted(base.pod, after.pod, after.container_index, listed=writes_lists(minor))
    now = read_text(emit.document(kubeadm_renders(following.pod, kept)))
    return base, after, now, following


@pytest.mark.parametrize("minor", [27, 33, 35])
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_the_way_back_leads_to_the_new_base(spec: str, minor: int) -> None:
    given = patch_input(value_of(read(spec.encode()).documents[0]), name="trial")
    base, after, now, following = upgraded(given, minor)
    assert is_kept_by_kubeadm(now)
    below = unpatched(now, base, after, image_version(following.pod))
    assert below is not None
    if "null" in spec:  # the patch that takes a flag away replaces the whole list of flags
        return
    assert meaning(below.pod) == meaning(following.pod)


@pytest.mark.parametrize("name", OF_STATIC_PODS)
def test_so_does_that_of_the_recipes_and_the_patch_leads_there_again(name: str) -> None:
    given = load_patch(recipe_text(name), QuickFlags()).given
    assert given is not None
    base, after, now, following = upgraded(given, 34)
    below = unpatched(now, base, after, image_version(following.pod))
    assert below is not None
    assert meaning(below.pod) == meaning(following.pod)
    again = plan_static_pod(given, below, version=KubeVersion(35)).after
    assert says_the_same(now, again)
    assert not says_the_same(now, below.text)


def test_what_somebody_changed_since_stays() -> None:
    given = patch_input({"scheduler": {"args": {"v": "5", "profiling": "false"}}}, name="trial")
    base, after, now, _ = upgraded(given, 34)
    edited = read_text(now.text.replace("--v=5", "--v=7"))
    below = unpatched(edited, base, after, KubeVersion(35, 0))
    assert below is not None
    assert "--v=7" in below.text
    assert "profiling" not in below.text


def test_without_the_version_nobody_knows_the_image() -> None:
    given = patch_input({"scheduler": {"image": "registry.example.com/s:v9"}}, name="trial")
    base, after, now, _ = upgraded(given, 34)
    assert unpatched(now, base, after, None) is None
