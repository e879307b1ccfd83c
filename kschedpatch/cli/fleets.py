"""What the commands for nodes share: reaching them, looking, and telling what stands against it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn, TypeVar

import typer

from kschedpatch.cli import nodeoptions, options, reports
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from pathlib import Path

    from kschedpatch.cli.nodeoptions import Access
    from kschedpatch.core.fleet.questions import Questions
    from kschedpatch.core.patchinput import PatchInput
    from kschedpatch.model.deploymentplan import DeploymentTarget
    from kschedpatch.model.events import Listener
    from kschedpatch.model.facts import NodeFacts
    from kschedpatch.model.finding import Finding
    from kschedpatch.model.nodeaddress import NodeAddress
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.rollout.fleet import Fleet

T = TypeVar("T")

Progress = Annotated[
    ProgressMode,
    typer.Option("--progress", help="How progress is shown, on standard error."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Only the result, and errors.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Every step, as lines.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Reason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the history of each node.")
]
Partial = Annotated[
    bool,
    typer.Option("--partial", help="Although the cluster has other control-plane nodes as well."),
]

Settle = Annotated[
    float,
    typer.Option(
        "--settle",
        metavar="SECONDS",
        min=0,
        max=600,
        help="How long a scheduler must run without a restart to count as proven.",
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=5,
        max=3600,
        help="How long a scheduler may take to become ready.",
    ),
]
ConfirmTimeout = Annotated[
    int,
    typer.Option(
        "--confirm-timeout",
        metavar="SECONDS",
        min=30,
        max=3600,
        help="A node that hears nothing for so long goes back by itself.",
    ),
]


class Show(NamedTuple):
    """How progress is shown."""

    mode: ProgressMode = ProgressMode.AUTO
    quiet: bool = False
    verbose: bool = False

    @contextmanager
    def listener(self) -> Iterator[Listener]:
        from kschedpatch.report.progress import progress

        with (
            progress(self.mode, quiet=self.quiet, verbose=self.verbose) as listener,
            reports.recorded(listener) as recorded,
        ):
            yield recorded


class Way(NamedTuple):
    """Which nodes, and how to get there. All questions have been asked."""

    nodes: tuple[NodeAddress, ...]
    access: Access | None
    discover: bool
    kubeconfig: Path | None = None
    """Instead of nodes: the operator's own kubectl."""
    flags: str = ""
    """The same for a command line, the nodes left out."""

    @property
    def words(self) -> str:
        """The same with the nodes."""
        return " ".join(filter(None, (self.flags, *(node.label for node in self.nodes))))


def way_to(
    nodes: list[str] | None,
    inventory: str | None,
    *,
    discover: bool,
    local: bool,
    identity: str | None,
    known_hosts: str | None,
    ssh_config: str | None,
    transport: SshTransport,
    accept_new_host_keys: bool,
    ask_become_pass: bool,
    connect_timeout: float | None,
    kubeconfig: str | None = None,
) -> Way:
    if kubeconfig is not None:
        if nodes or inventory is not None or local:
            options.refuse("--kubeconfig needs no nodes: leave them out, or leave it out.")
        existing = nodeoptions.existing_kubeconfig(kubeconfig)
        return Way((), None, False, existing, shlex.join(["--kubeconfig", kubeconfig]))
    chosen = nodeoptions.chosen_nodes(nodes, inventory, local=local)
    access = nodeoptions.connect_options(
        chosen,
        local=local,
        identity=identity,
        known_hosts=known_hosts,
        ssh_config=ssh_config,
        transport=transport,
        accept_new_host_keys=accept_new_host_keys,
        ask_become_pass=ask_become_pass,
        connect_timeout=connect_timeout,
    )
    given = {"--identity": identity, "--known-hosts": known_hosts, "--ssh-config": ssh_config}
    flags = [word for flag, value in given.items() if value for word in (flag, value)]
    flags += ["--transport", transport.value] if transport is not SshTransport.PARAMIKO else []
    flags += ["-K"] if ask_become_pass else []
    return Way(chosen, access, discover, flags="--local" if local else shlex.join(flags))


_NEEDS_DEPLOYMENT = "--kubeconfig is for a scheduler that runs as a Deployment."


def for_deployment(given: PatchInput, kubeconfig: str | None) -> bool:
    """Whether the patch's target is a Deployment; what does not go with a static pod is refused."""
    target = given.patch.spec.target
    if target.deployment or target.new_deployment:
        return True
    if kubeconfig is not None:
        options.refuse(f"{_NEEDS_DEPLOYMENT} This patch is for the static pod: name its nodes.")
    return False


def deployment_named(
    named: str | None, given: PatchInput | None, kubeconfig: str | None
) -> DeploymentTarget | None:
    """The Deployment that a command is about, by its flag or by its patch; None: static pods."""
    from kschedpatch.model.deploymentplan import DeploymentTarget
    from kschedpatch.model.grammar import is_dns_label

    if given is not None:
        from kschedpatch.core.deployment.planning import target_of

        if named is not None:
            options.refuse("--deployment and a patch exclude each other: the patch names it.")
        return target_of(given.patch) if for_deployment(given, kubeconfig) else None
    if named is None:
        if kubeconfig is not None:
            options.refuse(f"{_NEEDS_DEPLOYMENT} Say which: --deployment NAMESPACE/NAME.")
        return None
    namespace, slash, name = named.partition("/")
    if not slash or not is_dns_label(namespace) or not is_dns_label(name):
        options.refuse(f"--deployment {named!r} is not NAMESPACE/NAME.")
    return DeploymentTarget(namespace, name)


@contextmanager
def connected(way: Way, listener: Listener) -> Iterator[Fleet]:
    from kschedpatch.rollout.fleet import open_fleet

    assert way.access is not None  # noqa: S101  nodes are named
    with open_fleet(way.nodes, way.access.connect, way.access.become, listener=listener) as fleet:
        if way.discover:
            fleet.discover()
        yield fleet


def look(fleet: Fleet, asked: Questions, *, again: bool = True) -> tuple[NodeFacts, ...]:
    """A look at all nodes; a second one where the first has left an image open."""
    from kschedpatch.core.fleet.questions import still_open

    facts = fleet.look(*asked)
    more = still_open(asked, facts) if again else None
    return fleet.look(*more) if more is not None else facts


def unreached(fleet: Fleet) -> tuple[Finding, ...]:
    from kschedpatch.model.codes import found

    return tuple(
        found(
            "N029",
            str(error).removeprefix(f"{label}: "),
            file=label,
            hint=getattr(error, "hint", ""),
        )
        for label, error in fleet.failures.items()
    )


def refusal(findings: Iterable[Finding], labels: Iterable[str]) -> int:
    """3 where nodes are the obstacle; 2 where what was handed over is wrong in itself."""
    places = tuple(f"{label}{sign}" for label in labels for sign in (":", ","))
    errors = [finding for finding in findings if finding.is_error]
    of_nodes = [e for e in errors if e.code.startswith("N") or e.file.startswith(places)]
    if not errors:
        return exitcodes.OK
    return exitcodes.REFUSED if len(of_nodes) == len(errors) else exitcodes.INVALID


def tell(findings: Sequence[Finding], output: options.Format) -> None:
    """Findings beside a result: on stderr for people; programs find them in the document."""
    if not findings or output is not options.Format.TABLE:
        return
    from kschedpatch.report.findings import finding_lines, summary
    from kschedpatch.report.terminal import complain, paint_for

    paint = paint_for(sys.stderr)
    complain(finding_lines(findings, paint) + summary(findings, paint))


def give_up(outcome: Outcome, output: options.Format, words: str) -> NoReturn:
    """Ends with the findings and what was not done."""
    from kschedpatch.report.terminal import complain

    tell(outcome.findings, output)
    if output is options.Format.TABLE:
        complain(words)
    options.show(outcome, output, lambda _: "", words)


def asked_to_go_on(question: str, *, yes: bool) -> None:
    """Asks at the terminal; without one, and without --yes, nothing is done."""
    from kschedpatch.report.terminal import complain, printable, write

    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        options.refuse(
            "this has to be confirmed, and there is no terminal to ask at: add --yes. "
            "Nothing was changed."
        )
    write(sys.stderr, f"{printable(question)} [y/N] ")
    answer = sys.stdin.readline().strip().lower()
    if answer not in {"y", "yes"}:
        complain("Nothing was changed.")
        raise typer.Exit(exitcodes.REFUSED)


def checked_reason(reason: str) -> str:
    from kschedpatch.model.printable import printable

    if len(reason) > 500 or printable(reason) != reason:
        options.refuse("--reason is one line of at most 500 characters.")
    return reason


def who() -> str:
    """The operator, for the history and for whoever meets this run's lock."""
    import getpass
    import socket

    from kschedpatch.model.printable import printable

    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "?"
    return printable(f"{user}@{socket.gethostname()}").replace(" ", "_")[:100]


def carried_out(work: Callable[[], T]) -> T:
    """A bug in the middle of a run must not claim that nothing was changed."""
    import os

    from kschedpatch.report import program
    from kschedpatch.report.terminal import complain

    try:
        return work()
    except Exception as error:
        if os.environ.get("KSCHEDPATCH_DEBUG"):
            raise
        text = ascii(f"{type(error).__name__}: {error}")[1:-1]
        complain(
            f"kschedpatch: internal error in the middle of a run, a bug of this program: {text}\n"
            "Nodes that are not confirmed go back by themselves at their deadline.\n"
            f"{program.name()} status shows how they stand. Please report this."
        )
        raise typer.Exit(exitcodes.INTERNAL) from None
