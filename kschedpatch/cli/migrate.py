"""``migrate``: the same in the words of another Kubernetes minor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kschedpatch.cli import options
from kschedpatch.cli.options import Format

if TYPE_CHECKING:
    from kschedpatch.inputs.migrating import Migration
    from kschedpatch.model.kubeversion import KubeVersion


def migrate(
    file: Annotated[
        str,
        typer.Option(
            "-f",
            "--file",
            metavar="FILE",
            help="A SchedulerPatch, a KubeSchedulerConfiguration or a Policy; - is standard input.",
        ),
    ],
    to: Annotated[
        str, typer.Option(metavar="VERSION", help="The version that it is for, such as 1.35.")
    ],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="VERSION",
            help="The version that it was written for. Default: what its apiVersion says.",
        ),
    ] = None,
    accept_changes: Annotated[
        bool,
        typer.Option("--accept-changes", help="Leave out what the target can't say."),
    ] = False,
    new_weights: Annotated[
        bool,
        typer.Option(
            "--new-weights", help="Take the target's default weights, not those from before."
        ),
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what changes, not the text.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Replace the file.")] = False,
    backup: Annotated[
        bool, typer.Option("--backup", help="With --write: keep the old text as FILE.orig.")
    ] = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Rewrite a patch, a configuration or a Policy for another Kubernetes version, offline.

    Comments, order and indentation stay; only what must differ is changed, and told on stderr.
    Exit code 0: done; 2: something can't be said there without changing its meaning, or the
    input is wrong, and nothing was written.
    """
    from kschedpatch.core.schedconfig.conversion.configuration import Choices
    from kschedpatch.inputs.migrating import migrate_path
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.findings import finding_lines, summary
    from kschedpatch.report.migrations import diff_text, migration_data, new_text, written_text
    from kschedpatch.report.terminal import complain, paint_for

    if write and file == "-":
        options.refuse("--write needs a file; standard input can't be replaced.")
    if backup and not write:
        options.refuse("--backup goes with --write.")
    target = _known("--to", to)
    before = _known("--from", source) if source is not None else None
    result = migrate_path(file, target, before, Choices(accept_changes, new_weights))
    changed = any(text.changed for text in result.files)
    outcome = Outcome("MigrateResult", result.findings, changed, migration_data(result, target))
    if output is Format.TABLE and result.findings:
        paint = paint_for(sys.stderr)
        complain(finding_lines(result.findings, paint) + summary(result.findings, paint))
    if outcome.exit_code:
        if output is Format.TABLE:
            complain("Nothing was written.")
        options.show(outcome, output, lambda _: "")
    if write:
        _replace(result, backup=backup)
        options.show(outcome, output, lambda _: written_text(result, backup=backup))
    if diff:
        options.show(outcome, output, lambda paint: diff_text(result, paint))
    options.show(outcome, output, lambda _: new_text(result))


def _known(flag: str, text: str) -> KubeVersion:
    from kschedpatch.model.kubeversion import parse_version, unsupported

    version = parse_version(text)
    if version is None:
        options.refuse(f"{flag} {text!r} is no version. Write it as 1.34 or v1.34.2.")
    if not version.is_known:
        options.refuse(f"{flag}: {unsupported(version)}.")
    return version


def _replace(result: Migration, *, backup: bool) -> None:
    from kschedpatch.report.directory import WriteError, replace_text

    done: list[str] = []
    for text in result.files:
        if not text.changed or text.path is None:
            continue
        try:
            replace_text(text.path, text.before, text.after, keep=backup)
        except WriteError as error:
            written = f"Written: {', '.join(done)}." if done else "Nothing was written."
            options.refuse(f"{error}. {written}")
        done.append(text.name)
