"""Codes for Policy files, and for what a migration changes or can't keep."""

from __future__ import annotations

from kschedpatch.model.code import Code
from kschedpatch.model.finding import Severity

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

# A table: one entry a code, as long as its words need.
# fmt: off
_POLICY = (
    Code("L001", _ERROR, "not a Policy",
         "1.22 reads kind Policy of `v1` or `kubescheduler.config.k8s.io/v1`."),
    Code("L002", _ERROR, "unknown predicate or priority",
         "1.22 exits with «predicate type not found» or «priority type not found»."),
    Code("L003", _ERROR, "unknown field in the Policy",
         "Decoding is strict, and case counts: 1.22 exits with «unknown field»."),
    Code("L004", _ERROR, "wrong type in the Policy",
         "1.22 exits with «invalid policy»."),
    Code("L005", _ERROR, "weight of the Policy",
         "Priorities weigh 1 or more, hardPodAffinitySymmetricWeight lies between 0 and 100."),
    Code("L006", _ERROR, "argument of a predicate or priority",
         "A name of one's own is defined by exactly one argument; some need one and get it under "
         "a name of one's own only."),
    Code("L007", _ERROR, "extender of the Policy",
         "At most one binds, one that prioritizes has a weight, and each extended resource is "
         "managed once."),
    Code("L008", _WARNING, "field that is ignored",
         "An extender's unknown fields are read and forgotten."),
    Code("L009", _ERROR, "Policy for a scheduler that reads none",
         "From 1.23 on no flag reads a Policy: the file is inert, and a scheduler that is started "
         "with --policy-config-file exits with «unknown flag». `kschedpatch migrate` converts it."),
    Code("L010", _NOTE, "read up to 1.22 only",
         "`kschedpatch migrate` converts a Policy to profiles and extenders."),
)

_MIGRATE = (
    Code("U001", _NOTE, "changed",
         "The new text says the same in the words of the target."),
    Code("U002", _ERROR, "no successor",
         "The target has nothing that means the same. `--accept-changes` leaves it out."),
    Code("U003", _WARNING, "meaning changed",
         "It was left out or replaced, as `--accept-changes` allows."),
    Code("U004", _NOTE, "changed by the minor itself",
         "It was never written in the file; the target's scheduler does without it, however it is "
         "configured."),
    Code("U005", _ERROR, "cannot be converted",
         "What it means on the target can't be told from the file."),
    Code("U006", _NOTE, "which version it was written for",
         "Without an apiVersion and without --from, it is taken for the target's own."),
    Code("U007", _WARNING, "another lock of leader election",
         "Schedulers that hold different locks do not see each other: while the old and the new "
         "one run side by side, both lead."),
)
# fmt: on

MIGRATIONS = (*_POLICY, *_MIGRATE)
