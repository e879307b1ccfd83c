"""What holds for every patch, whoever writes it, on every manifest."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kschedpatch.core.manifest.base import choose_base
from kschedpatch.core.manifest.document import Manifest, read_manifest
from kschedpatch.core.manifest.flags import effective
from kschedpatch.core.manifest.validate import validate
from kschedpatch.core.planner import plan_static_pod
from kschedpatch.model.finding import has_errors
from kschedpatch.model.plan import Plan
from tests.unit.patches import patch_input

FIXTURES = Path(__file__).parents[3] / "fixtures" / "manifests"
SETTINGS = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


@cache
def manifest(name: str) -> Manifest:
    reading = read_manifest((FIXTURES / name).read_bytes(), name)
    assert reading.manifest is not None
    return reading.manifest


def good(name: str) -> bool:
    return not has_errors(validate(read_manifest((FIXTURES / name).read_bytes(), name)))


GOOD = [
    name
    for path in sorted((*FIXTURES.glob("kubeadm/*.yaml"), *FIXTURES.glob("byhand/*.yaml")))
    if good(name := str(path.relative_to(FIXTURES)))
]

NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12
)
PATHS = st.from_regex(r"/[a-z]{1,6}(/[a-z]{1,6}){0,2}", fullmatch=True)
FLAGS = st.dictionaries(
    st.sampled_from(["v", "profiling", "feature-gates", "kube-api-qps", "tls-min-version"]),
    st.one_of(st.none(), WORDS),
    max_size=3,
)


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """Specs as a user could write them: valid by themselves, whatever they mean."""
    spec: dict[str, Any] = {"scheduler": {"args": draw(FLAGS)}}
    if draw(st.booleans()):
        tag = draw(st.sampled_from(["latest", "v2", "0.1"]))
        spec["scheduler"]["image"] = f"registry.internal/{draw(NAMES)}:{tag}"
    if draw(st.booleans()):
        spec["scheduler"]["env"] = [{"name": "TZ", "value": draw(WORDS)}]
    taken = {"/etc/kubernetes/scheduler.conf"}
    mounts = []
    for name in draw(st.lists(NAMES, unique=True, max_size=3)):
        where = draw(PATHS.filter(lambda path: path not in taken))
        taken.add(where)
        mounts.append({"name": f"my-{name}", "hostPath": where, "type": "Directory"})
    spec["mounts"] = mounts
    if draw(st.booleans()):
        profile = {"schedulerName": "default-scheduler"}
        inline = {"profiles": [profile], "parallelism": draw(st.integers(1, 64))}
        spec["config"] = {"inline": inline}
    if draw(st.booleans()):
        spec["files"] = [{"source": "a", "mountPath": f"/files/{draw(NAMES)}"}]
    return spec


def planned(spec: dict[str, Any], base: Manifest) -> Plan:
    return plan_static_pod(patch_input(spec, name="property", files={"a": "content"}), base)


def reread(text: str) -> Manifest:
    reading = read_manifest(text.encode(), "patched")
    assert reading.manifest is not None, reading.findings
    return reading.manifest


def test_an_empty_patch_returns_the_same_bytes() -> None:
    for name in GOOD:
        base = manifest(name)
        plan = planned({}, base)
        assert plan.ok, (name, plan.findings)
        assert plan.after == base.text
        assert not plan.changed


@SETTINGS
@given(st.sampled_from(GOOD), specs())
def test_no_patch_yields_a_manifest_that_the_validator_refuses(
    name: str, spec: dict[str, Any]
) -> None:
    plan = planned(spec, manifest(name))
    assert plan.ok, plan.findings
    assert not has_errors(validate(read_manifest(plan.after.encode(), "patched")))


@SETTINGS
@given(st.sampled_from(GOOD), specs())
def test_applying_twice_is_applying_once(name: str, spec: dict[str, Any]) -> None:
    base = manifest(name)
    once = planned(spec, base)
    assert planned(spec, base).after == once.after
    if once.after != base.text:
        chosen = choose_base(reread(once.after), base)
        assert chosen.base is not None
        assert planned(spec, chosen.base).after == once.after


@SETTINGS
@given(st.sampled_from(GOOD), specs(), specs())
def test_a_changed_patch_leaves_nothing_of_the_old_one(
    name: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    base = manifest(name)
    before = planned(first, base)
    if before.after == base.text:
        return
    chosen = choose_base(reread(before.after), base)
    assert chosen.base is not None
    assert planned(second, chosen.base).after == planned(second, base).after


@SETTINGS
@given(st.sampled_from(GOOD), specs())
def test_unpatching_restores_the_bytes(name: str, spec: dict[str, Any]) -> None:
    base = manifest(name)
    patched = reread(planned(spec, base).after)
    chosen = choose_base(patched, base if patched.is_patched else None)
    assert chosen.base is not None
    nothing = patch_input({}, name="property")
    assert plan_static_pod(nothing, chosen.base, current=patched).after == base.text


@SETTINGS
@given(st.sampled_from(GOOD), specs())
def test_the_patched_manifest_says_what_was_asked(name: str, spec: dict[str, Any]) -> None:
    after = reread(planned(spec, manifest(name)).after)
    container = after.pod["spec"]["containers"][after.container_index]
    flags = effective(container)
    for flag, value in spec["scheduler"]["args"].items():
        assert flags.get(flag) == value
    if "image" in spec["scheduler"]:
        assert container["image"] == spec["scheduler"]["image"]
    for variable in spec["scheduler"].get("env", ()):
        assert variable in container["env"]
    volumes = {volume["name"]: volume for volume in after.pod["spec"]["volumes"]}
    for mount in spec["mounts"]:
        assert volumes[mount["name"]]["hostPath"]["path"] == mount["hostPath"]
        assert any(m["mountPath"] == mount["hostPath"] for m in container["volumeMounts"])
    base = manifest(name)
    before = effective(base.pod["spec"]["containers"][base.container_index])
    assert ("config" in flags) == ("config" in spec or "config" in before)
