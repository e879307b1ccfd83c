"""One cluster for the whole session, taken down whatever happens."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Generator, Iterator
from types import FrameType

import pytest

from .cluster.cluster import Cluster, attach, bring_up, refuse_beside_kept
from .cluster.console import RigError
from .cluster.node import SCHEDULER_MANIFEST
from .cluster.reaper import Reaper
from .cluster.settings import NODE_COUNTS, why_not_here
from .cluster.teardown import exclusive, take_down
from .cluster.versions import DEFAULT_MINOR, known_minors


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("e2e")
    group.addoption(
        "--kubernetes",
        choices=known_minors(),
        default=os.environ.get("KSCHEDPATCH_E2E_KUBERNETES", DEFAULT_MINOR),
        help="the minor of the cluster (default: %(default)s)",
    )
    group.addoption(
        "--nodes",
        type=int,
        choices=NODE_COUNTS,
        default=max(NODE_COUNTS),
        help="control-plane nodes (default: %(default)s); tests that need more are skipped",
    )
    group.addoption(
        "--running-cluster",
        action="store_true",
        help="use the cluster that `make cluster-up` started, and leave it running",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: takes minutes; only in `make e2e-full`")
    config.addinivalue_line("markers", "alone: boots clusters itself, so no other may be up")
    config.addinivalue_line("markers", "upgrades: leaves another version behind, so it comes last")
    config.addinivalue_line("markers", "three_nodes: needs more than one control-plane node")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("upgrades") is not None)


def pytest_sessionstart(session: pytest.Session) -> None:
    # Or a SIGTERM would end the process without any fixture's teardown.
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    reason = why_not_here()
    if reason:
        pytest.skip(reason)
    if request.config.getoption("--running-cluster"):
        yield attach()
        return
    run = uuid.uuid4().hex
    minor = str(request.config.getoption("--kubernetes"))
    nodes = int(request.config.getoption("--nodes"))
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with exclusive():
        refuse_beside_kept()
        reaper = Reaper(run)
        try:
            # Minutes of building are not to be spent in silence.
            with capture.global_and_fixture_disabled():
                up = bring_up(minor, nodes, run=run, keep=False)
            yield up
        finally:
            with capture.global_and_fixture_disabled():
                take_down()
            reaper.dismiss()


@pytest.fixture
def kubeadms_manifests(cluster: Cluster) -> Iterator[None]:
    """The test begins and ends with kubeadm's own manifests, whatever it does."""
    cluster.wait_schedulers()
    before = {node.name: node.read(SCHEDULER_MANIFEST) for node in cluster.nodes}
    yield
    for node in cluster.nodes:
        if node.read(SCHEDULER_MANIFEST) != before[node.name]:
            node.put_manifest(before[node.name])
    cluster.wait_schedulers(180)


@pytest.fixture
def _emptied(cluster: Cluster) -> Iterator[None]:
    yield
    for node in cluster.nodes:
        node.run("rm -rf /etc/kubernetes/kschedpatch /var/lib/kschedpatch")


@pytest.fixture
def untouched_nodes(cluster: Cluster, _emptied: None, kubeadms_manifests: None) -> Iterator[None]:
    """However a test ends, the nodes are as kubeadm left them, and their small disks empty: what
    was asked for last ends first."""
    yield
    for node in cluster.nodes:
        # A run that was cut off ends before what it needs for that is removed.
        node.run("sh /var/lib/kschedpatch/agent.sh restore", check=False, timeout=120)


@pytest.fixture(autouse=True)
def _enough_nodes(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("three_nodes"):
        up: Cluster = request.getfixturevalue("cluster")
        if len(up.nodes) < max(NODE_COUNTS):
            pytest.skip(f"the cluster has {len(up.nodes)} node")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The nodes' own words with a failure: after the teardown nobody can ask them."""
    report = yield
    up = getattr(item, "funcargs", {}).get("cluster")
    if report.when == "call" and report.failed and isinstance(up, Cluster):
        for node in up.nodes:
            try:
                said = node.output(
                    "crictl ps -a; journalctl -u kubelet -n 15 --no-pager -o cat | cut -c1-240"
                )
            except (RigError, OSError) as error:
                said = str(error)
            report.sections.append((f"node {node.name}", said))
    return report
