"""What the cluster keeps for kubeadm, with a patch's part added to it."""

from __future__ import annotations

import pytest

from kschedpatch.core.kubeadm.clusterconfig import UnreadableConfiguration, with_scheduler
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read

V1BETA4 = """\
apiServer: {}
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.34.4
proxy: {}
scheduler: {}
"""
V = {"extraArgs": [{"name": "v", "value": "5"}]}


def test_only_the_schedulers_lines_change() -> None:
    after = with_scheduler(V1BETA4, V)
    assert after.startswith(V1BETA4.removesuffix("scheduler: {}\n"))
    assert value_of(read(after.encode()).documents[0])["scheduler"] == V
    assert with_scheduler(after, V) == after


def test_of_the_same_name_ours_counts_and_others_stay() -> None:
    kept = V1BETA4.replace(
        "scheduler: {}",
        "scheduler:\n"
        "  extraArgs:\n"
        '  - name: v\n    value: "2"\n'
        '  - name: profiling\n    value: "false"\n'
        "  extraVolumes:\n"
        "  - name: tz\n    hostPath: /etc/localtime\n    mountPath: /etc/localtime",
    )
    volume = {"name": "d", "hostPath": "/d", "mountPath": "/d", "readOnly": True}
    after = with_scheduler(kept, {**V, "extraVolumes": [volume]})
    assert after.count("name: v\n") == 1
    assert 'value: "2"' not in after
    for line in ("name: profiling", "name: tz", "name: d"):
        assert line in after


def test_where_arguments_are_a_map_they_stay_one() -> None:
    old = V1BETA4.replace("v1beta4", "v1beta3").replace(
        "scheduler: {}", 'scheduler:\n  extraArgs:\n    profiling: "false"'
    )
    after = with_scheduler(old, V)
    assert 'extraArgs:\n    profiling: "false"\n    v: "5"\n' in after


@pytest.mark.parametrize("text", ["", "a: [", "kind: Pod\n", "[]", f"{V1BETA4}---\n{V1BETA4}"])
def test_anything_else_is_left_alone(text: str) -> None:
    with pytest.raises(UnreadableConfiguration):
        with_scheduler(text, V)
