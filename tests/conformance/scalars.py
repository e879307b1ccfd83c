"""Scalars: those that a field takes, and those that people write by mistake."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from .tree import Token

Tokens = SearchStrategy[Token]


def one_of(*tokens: str) -> Tokens:
    return st.sampled_from([Token(token) for token in tokens])


def number(low: int, high: int) -> Tokens:
    return st.integers(low, high).map(lambda value: Token(str(value)))


BOOLEANS = one_of("true", "false")
DURATIONS = one_of(
    "1s",
    "2s",
    "5s",
    "10s",
    "15s",
    "30s",
    "1m",
    "1m30s",
    "0.5h",
    "1500ms",
    "1h0m0s",
    '"20s"',
    "'7s'",
)
NAMES = one_of(
    "default-scheduler", "my-scheduler", "gpu", "multipoint-scheduler", '"packing"', "a.b-c"
)
LABEL_KEYS = one_of(
    "kubernetes.io/hostname", "topology.kubernetes.io/zone", "disk", "example.com/gpu", "a_b.c-d"
)
LABEL_VALUES = one_of("ssd", "a", '"1"', '"true"', '""', "x_y.z-1")
EXTENDED_RESOURCES = one_of(
    "nvidia.com/gpu", "nvidia.com/vcuda-core", "nvidia.com/vcuda-memory", "example.com/foo",
    "intel.com/foo.bar", "example.com/A_b.c",
)  # fmt: skip

ODD = one_of(
    # Nothing, in all its spellings.
    "null", "~", "", '""', "''", "Null", "NULL", "nil", "{}", "[]",
    # Booleans, YAML 1.1's too.
    "true", "false", '"true"', "'false'", "yes", "no", "on", "off", "True", "FALSE", "y", "n",
    "Yes", "tRue",
    # Numbers.
    "0", "1", "-1", "+1", "100", "101", "5.0", "1.5", "1e3", "1E2", "-0", "-0.0", "0.0", "010",
    "0o10", "0x10",
    "0b11", "1_000", "1:30", ".5", "5.", ".inf", "-.Inf", ".nan", "2147483647", "2147483648",
    "-2147483649",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e400", "08", '"5"',
    "'1'",
    "12345678901234567890123",
    # Durations.
    "0s", "-5s", "10", "10S", "5d", "1.5h", "1h 30m", "+5s", ".5s", "5.s", "1e3s", "100us",
    "1µs", "3ns", "2562047h",
    "2562048h", "1m1m", "10 s", '" 10s"', "s", "-", ".s", "1..s", "0", '"0"', "1y", "-0s",
    # Other things.
    "2001-01-01", "2001-01-01T00:00:00Z", "abc", '"a b"', "a/b", "'*'", "leases", "endpoints",
    "configmaps",
    "!!str 5", "!!int 5", '!!int "5"', "!!bool yes", "!custom x", "!!float 3", "!!binary YQ==",
    "!!null x", "! 5",
    "&a 5", "*b", "[a]", "[1, 2]", "{a: b}", "[[]]", "[{}]", "{a: {b: c}}", "[null]", '"\\x41"',
    '"\\u0041"', '"\\/"',
    "@x", "`x", "%x", "a: b", "- a", "? a", "x #y", "'it''s'", '"a', "<<", "=", "a\tb", "\tx",
    "é", '"\\ud800"',
)  # fmt: skip

#: Words that some field takes: elsewhere they are mistakes that only that field's own rule sees.
WORDS = one_of(
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equals", "List", "System",
    "DoNotSchedule",
    "ScheduleAnyway", "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "Honor",
    "metadata.name", "metadata.labels", "cpu", "memory", "pods", "ephemeral-storage",
    "hugepages-2Mi",
    "requests.cpu", "requests.example.com/x", "kubernetes.io/foo", "example.com/", "/foo", "a/b/c",
    "Example.com/foo", "example.com/-x", "example.com/x_", "-bad", "bad-", "a..b", "under_score",
    "a b",
    "attachable-volumes-x", "nvidia.com/gpu", "storage", "default-scheduler", "kube-scheduler",
    "endpointsleases", "x" * 63, "x" * 64, "example.com/" + "x" * 63, "example.com/" + "x" * 64,
    "x" * 254, "'*'", "NodeAffinity", "PrioritySort", "DefaultBinder",
)  # fmt: skip
