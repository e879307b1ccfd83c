"""Plugin sets merged, multiPoint expanded, profiles built as the scheduler builds them."""

from __future__ import annotations

import pytest

from kschedpatch.core.kubeversions.plugins import default_plugins, plugin_points

from .judging import errors, judged, profile


def enabled(point: str, *names: str) -> str:
    return f"{point}: {{enabled: [{', '.join(f'{{name: {name}}}' for name in names)}]}}"


def disabled(point: str, *names: str) -> str:
    return f"{point}: {{disabled: [{', '.join(f'{{name: {name!r}}}' for name in names)}]}}"


ONLY_TWO = (
    "multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}"
)


@pytest.mark.parametrize(
    ("plugins", "code", "path"),
    [(enabled("score", "NodeName"), "C023", "plugins.score.enabled[0].name"),
     (enabled("filter", "Nope"), "C005", "plugins.filter.enabled[0].name"),
     (enabled("multiPoint", "Nope"), "C005", "plugins.multiPoint.enabled[0].name"),
     (enabled("score", "ImageLocality", "ImageLocality"), "C024", "plugins.score.enabled[1].name"),
     (enabled("filter", "CinderLimits"), "C027", "plugins.filter.enabled[0].name"),
     (enabled("queueSort", "NodeName"), "C023", "plugins.queueSort.enabled[0].name"),
     (disabled("queueSort", "*"), "C025", "plugins.queueSort"),
     (disabled("multiPoint", "PrioritySort"), "C025", "plugins.queueSort"),
     (disabled("bind", "DefaultBinder"), "C026", "plugins.bind"),
     ("score: {enabled: [{name: ImageLocality, weight: -5}]}", "C028",
      "plugins.score.enabled[0].weight")],
)  # fmt: skip
def test_a_profile_that_can_not_be_built(plugins: str, code: str, path: str) -> None:
    found = [pair for pair in errors(profile(plugins)) if pair[0] != "C005" or code == "C005"]
    assert found == [(code, f"profiles[0].{path}")]


@pytest.mark.parametrize(
    "plugins",
    [enabled("score", "ImageLocality"),
     enabled("queueSort", "PrioritySort"),
     enabled("multiPoint", "NodeName"),
     ONLY_TWO,
     "bind: {disabled: [{name: '*'}], enabled: [{name: DefaultBinder}]}",
     disabled("multiPoint", "PrioritySort") + ", " + enabled("queueSort", "PrioritySort"),
     disabled("score", "Nope"),
     # Twice in multiPoint, but its only point has it already by itself.
     enabled("multiPoint", "ImageLocality", "ImageLocality") + ", "
     + enabled("score", "ImageLocality")],
)  # fmt: skip
def test_a_profile_that_can(plugins: str) -> None:
    assert errors(profile(plugins)) == []


def test_twice_in_multi_point() -> None:
    found = errors(profile(enabled("multiPoint", "ImageLocality", "ImageLocality")))
    assert [code for code, _ in found] == ["C024"]


def test_v1beta1_appends_what_others_replace() -> None:
    twice = profile(enabled("score", "ImageLocality"))
    assert [code for code, _ in errors(twice, 22, version="v1beta1")] == ["C024"]
    assert errors(twice, 22, version="v1beta2") == []
    both = profile(enabled("score", "NodeResourcesFit"))
    assert [code for code, _ in errors(both, 22, version="v1beta1")] == ["C027"]


@pytest.mark.parametrize(
    ("version", "point", "forgotten"),
    [("v1beta2", "multiPoint", True), ("v1beta2", "preEnqueue", True),
     ("v1beta3", "preEnqueue", True), ("v1beta3", "multiPoint", False),
     ("v1", "preEnqueue", False)],
)  # fmt: skip
def test_sets_that_old_versions_have_and_forget(version: str, point: str, forgotten: bool) -> None:
    """kube-scheduler 1.28 takes a plugin that does not exist there without a word."""
    found = judged(profile(enabled(point, "Nope")), 27, version=version)
    codes = [finding.code for finding in found]
    assert ("C005" in codes) is not forgotten
    assert ("C034" in codes) is forgotten


@pytest.mark.parametrize(
    ("name", "minor", "version", "code"),
    [("NodeLabel", 22, "v1beta1", None), ("NodeLabel", 22, "v1beta2", "C027"),
     ("NodeLabel", 23, "v1beta2", "C005"), ("SelectorSpread", 28, "v1beta3", None),
     ("SelectorSpread", 28, "v1", "C027"), ("SelectorSpread", 29, "v1", "C005")],
)  # fmt: skip
def test_plugins_come_and_go(name: str, minor: int, version: str, code: str | None) -> None:
    found = errors(profile(enabled("score", name)), minor, version=version)
    assert (found[0][0] if found else None) == code


def test_refused_names_pass_in_multi_point_while_they_exist() -> None:
    body = profile(enabled("multiPoint", "SelectorSpread"))
    assert errors(body, 28, version="v1") == []
    assert [code for code, _ in errors(body, 29)] == ["C005"]


SORTED = "{schedulerName: a, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}"
ALSO_SORTED = SORTED.replace("a,", "e,")
PLAIN = "{schedulerName: b}"
WITH_ARGS = "{schedulerName: c, pluginConfig: [{name: PrioritySort, args: {a: 1, b: 2}}]}"
SAME_ARGS = "{schedulerName: d, pluginConfig: [{name: PrioritySort, args: {b: 2, a: 1}}]}"


@pytest.mark.parametrize(
    ("profiles", "refused"),
    [((SORTED, PLAIN), True), ((PLAIN, SORTED), True), ((SORTED, ALSO_SORTED), False),
     ((PLAIN, WITH_ARGS), True), ((WITH_ARGS, SAME_ARGS), False)],
)  # fmt: skip
def test_one_queue_for_all_profiles(profiles: tuple[str, ...], refused: bool) -> None:
    found = errors(f"profiles: [{', '.join(profiles)}]")
    assert [code for code, _ in found] == (["C009"] if refused else [])


def test_a_plugin_of_ones_own_is_a_note_until_somebody_knows() -> None:
    body = profile(enabled("score", "Mine"))

    def codes(**around: object) -> list[str]:
        return [f.code for f in judged(body, **around) if f.code in {"C005", "C035"}]  # type: ignore[arg-type]

    assert codes(stock=True) == ["C005"]
    assert codes(stock=False) == ["C035"]
    assert codes(stock=False, known_plugins=("Mine",)) == []
    assert codes(stock=False, known_plugins=("Yours",)) == ["C005"]
    assert codes(stock=True, known_plugins=("Mine",)) == []


def test_what_an_unknown_plugin_extends_is_not_guessed() -> None:
    body = profile("multiPoint: {disabled: [{name: '*'}], enabled: [{name: Mine}]}")
    assert errors(body, stock=False) == []
    assert errors(body, stock=True) != []


def test_without_a_minor_only_what_all_of_them_refuse_is_an_error() -> None:
    assert errors("delayCacheUntilActive: true", None) == []
    assert errors("leaderElection: {LeaseDuration: 1s}", None) != []
    assert errors(profile(enabled("score", "Mine")), None) != []
    assert errors(profile(enabled("score", "SelectorSpread")), None, version="v1beta3") == []


@pytest.mark.parametrize(
    ("body", "code"),
    [(profile(disabled("score", "ImageLocalityPriority")), "C034"),
     ("profiles: [{pluginConfig: [{name: Nope, args: {}}]}]", "C034"),
     (profile(disabled("multiPoint", "VolumeZone"), "{name: VolumeZone}"), "C034"),
     (profile(disabled("preFilter", "*")), "C038"),
     ("profiles: [{schedulerName: other}]", "C015"),
     ("delayCacheUntilActive: true", "C036"),
     ("extenders: [{urlPrefix: 'https://x', filterVerb: f, enableHTTPS: true}]", "C039"),
     ("extenders: [{urlPrefix: 'http://x', filterVerb: f}]", "C010"),
     ("extenders: [{urlPrefix: 'http://x'}]", "C011")],
)  # fmt: skip
def test_what_the_scheduler_takes_without_a_word(body: str, code: str) -> None:
    found = judged(body)
    assert code in [finding.code for finding in found]
    assert [finding for finding in found if finding.is_error] == []


def test_delayed_caches_matter_to_a_standby_only() -> None:
    alone = "delayCacheUntilActive: true\nleaderElection: {leaderElect: false}"
    assert "C036" not in [finding.code for finding in judged(alone)]


@pytest.mark.parametrize("minor", range(22, 37))
def test_default_plugins_exist_and_extend_their_points(minor: int) -> None:
    """Every default set builds a profile in every minor that reads its version."""
    from kschedpatch.core.kubeversions import config_versions
    from kschedpatch.core.kubeversions.gates import enabled_gates

    for flags in ({}, {"feature-gates": "AllAlpha=true,AllBeta=true"}):
        gates = enabled_gates(minor, flags)
        for version in config_versions(minor):
            assert errors("", minor, version=version, flags=flags) == []
            for point, plugins in default_plugins(version, minor, gates).items():
                for name, _ in plugins:
                    points = plugin_points(minor)[name]
                    assert point == "multiPoint" or point in points
