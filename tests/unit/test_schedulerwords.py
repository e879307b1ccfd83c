"""The last words of schedulers, and what people should make of them."""

from __future__ import annotations

import pytest

from kschedpatch.core.schedulerwords import MAX_LINE, meanings

_FAILED = 'E1118 05:20:55.000000       1 run.go:72] "command failed" err="'
SAYINGS = {
    'no kind \\"NameScoreArgs\\" is registered for version '
    '\\"kubescheduler.config.k8s.io/v1beta3\\" in scheme \\"pkg/runtime/scheme.go:110\\""': (
        "apiVersion or kind in the plugin's arguments is wrong",
        "does not register NameScoreArgs",
    ),
    'no kind \\"KubeSchedulerConfiguration\\" is registered for version '
    '\\"kubescheduler.config.k8s.io/v1beta1\\" in scheme \\"pkg/runtime/scheme.go:100\\""': (
        "does not read kubescheduler.config.k8s.io/v1beta1",
        "kschedpatch migrate",
    ),
    'no kind \\"NameScoreArgs\\" is registered for the internal version of group '
    '\\"kubescheduler.config.k8s.io\\" in scheme \\"pkg/runtime/scheme.go:110\\""': (
        "does not register NameScoreArgs everywhere",
    ),
    'no kind is registered for the type main.NameScoreArgs in scheme \\"pkg/runtime/x.go:1\\""': (
        "does not register main.NameScoreArgs everywhere",
    ),
    "initializing profiles: creating profile for scheduler name default-scheduler: "
    'ScorePlugin \\"StickyScore\\" does not exist"': ("no plugin StickyScore",),
    'initializing plugin \\"T\\": the client\'s kubeconfig: stat /etc/kubernetes/own.conf: '
    'no such file or directory"': ("there is no /etc/kubernetes/own.conf", "`mounts`"),
    "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
    'KUBERNETES_SERVICE_PORT must be defined"': ("no service account", "scheduler.conf"),
    'pods \\"p\\" is forbidden: User \\"system:kube-scheduler\\" cannot patch resource '
    '\\"pods\\" in API group \\"\\" in the namespace \\"default\\""': ("may not patch pods:",),
    'stickyjobs.example.com is forbidden: User "system:kube-scheduler" cannot list resource '
    '"stickyjobs" in API group "example.com" at the cluster scope': (
        "may not list stickyjobs.example.com",
        "rbac.rules",
    ),
    "exec /usr/local/bin/kube-scheduler: exec format error": ("another processor",),
}


@pytest.mark.parametrize(("words", "told"), SAYINGS.items())
def test_what_it_means_is_said(words: str, told: tuple[str, ...]) -> None:
    [meaning] = meanings([_FAILED + words])
    for part in told:
        assert part in meaning


def test_what_is_clear_by_itself_or_said_twice_adds_nothing() -> None:
    clear = f'{_FAILED}parallelism: Invalid value: -1: should be greater than zero"'
    assert meanings([clear, "", "I1118 Serving securely"]) == []
    lost = f"{_FAILED}exec format error"
    assert len(meanings([lost, lost])) == 1


def test_a_line_without_end_is_cut() -> None:
    assert meanings(["x" * MAX_LINE + "exec format error"]) == []
    assert meanings(['plugin "' * 200_000]) == []
