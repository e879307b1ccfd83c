"""The versions that the rig builds are those that the project promises to be tried with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.cluster.versions import (
    DEFAULT_MINOR,
    known_minors,
    kubernetes_version,
    scheduler_minors,
    scheduler_version,
)

ROOT = Path(__file__).parents[3]


def test_the_promised_minors_are_pinned() -> None:
    assert {"1.28", "1.31", "1.34"} <= set(known_minors())
    newest = known_minors()[-1]
    assert int(newest.split(".")[1]) > 34
    assert DEFAULT_MINOR == "1.34"


def test_there_are_schedulers_for_the_whole_range() -> None:
    assert {"1.22", "1.23", "1.25", *known_minors()} == set(scheduler_minors())


@pytest.mark.parametrize("minor", scheduler_minors())
def test_staging_modules_are_of_the_same_release(minor: str) -> None:
    version = scheduler_version(minor)
    assert version.release.startswith(f"{minor}.")
    text = (version.modules / "go.mod").read_text()
    replaced = [line.split(" => ")[1].split() for line in text.splitlines() if " => " in line]
    assert len(replaced) > 20
    staging = {release for name, release in replaced}
    assert staging == {f"v0.{version.release.removeprefix('1.')}"}


def test_the_full_run_has_every_pinned_minor() -> None:
    shown = subprocess.run(
        ["make", "--no-print-directory", "-n", "e2e-full"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"for minor in {' '.join(known_minors())};" in shown


def test_an_unknown_minor_names_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"no Kubernetes 1\.2 here; there are 1\.28, "):
        kubernetes_version("1.2")
    with pytest.raises(ValueError, match=r"no scheduler 1\.2 here; there are 1\.22, "):
        scheduler_version("1.2")


def test_a_scheduler_is_built_from_the_pins_of_its_cluster_where_there_are_any() -> None:
    assert scheduler_version("1.34") == kubernetes_version("1.34")
    assert scheduler_version("1.22").modules.name == "scheduler-1.22"


def test_what_old_minors_lack() -> None:
    old, new = kubernetes_version("1.28"), kubernetes_version("1.34")
    assert (old.config_api[-7:], new.config_api[-7:]) == ("v1beta3", "v1beta4")
    assert (old.ready_path, new.ready_path) == ("/healthz", "/readyz")
