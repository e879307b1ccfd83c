"""What a node prints is read as it comes, among whatever noise, and never without end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedpatch.node.records import (
    MAX_BLOB,
    MAX_LINE,
    MAX_OUTPUT,
    Blob,
    End,
    Fact,
    Malformed,
    Over,
    Ready,
    Record,
    RecordReader,
    Step,
    TooMuch,
)

MARK = "0123456789abcdef"
OUTPUT = (
    b"Welcome to cp1\n\xff\xfe\x00 noise\n\n@%(m)s ready\n"
    b"@%(m)s fact version v1.34.2\n@ffff fact version v6.6.6\n"
    b"@%(m)s fact empty \n@%(m)s step waiting for the old process\n"
    b"no line break here@%(m)s fact version second\n"
    b"@%(m)s blob manifest 12\na\n@%(m).2s end 9\n\n"
    b"@%(m)s end 3 1\n@%(m)s over 137\n"
) % {b"m": MARK.encode()}
RECORDS: list[Record] = [
    Ready(),
    Fact("version", "v1.34.2"),
    Fact("empty", ""),
    Step("waiting for the old process"),
    Fact("version", "second"),
    Blob("manifest", b"a\n@01 end 9\n"),
    End(3, 1),
    Over(137),
]


def read(*parts: bytes) -> list[Record]:
    reader = RecordReader(MARK)
    return [record for part in parts for record in reader.feed(part)]


def test_records_are_found_among_noise_and_foreign_records() -> None:
    assert read(OUTPUT) == RECORDS


@given(st.lists(st.integers(0, len(OUTPUT)), max_size=12))
def test_it_does_not_matter_where_the_network_cuts(cuts: list[int]) -> None:
    places = sorted({0, *cuts, len(OUTPUT)})
    parts = [OUTPUT[a:b] for a, b in pairwise(places)]
    assert read(*parts) == RECORDS


@given(st.binary(max_size=300).filter(lambda noise: MARK.encode() not in noise))
def test_no_noise_hides_a_record_or_makes_one(noise: bytes) -> None:
    assert read(noise, b"\n@%s ready\n" % MARK.encode(), noise) == [Ready()]


@given(st.binary(max_size=2000))
def test_a_blob_may_hold_anything(data: bytes) -> None:
    head = b"@%s blob key %d\n" % (MARK.encode(), len(data))
    assert read(head + data + b"\n@%s end 0 0\n" % MARK.encode()) == [Blob("key", data), End(0)]


def test_a_long_line_of_noise_is_forgotten_but_not_the_record_behind_it() -> None:
    noise = b"x" * (3 * MAX_LINE)
    assert read(noise, noise, b"@%s end 0 0\n" % MARK.encode()) == [End(0)]


@pytest.mark.parametrize(
    "output, error",
    [
        (b"y" * (MAX_OUTPUT + 1), TooMuch),
        (b"y\n" * (MAX_OUTPUT // 2 + 1), TooMuch),
        (b"@%s step " % MARK.encode() + b"x" * MAX_LINE, TooMuch),
        (b"@%s step " % MARK.encode() + b"x" * MAX_LINE + b"\n", TooMuch),
        (b"@%s blob key %d\n" % (MARK.encode(), MAX_BLOB + 1), TooMuch),
        (b"@%s blob key 3\nabcd\n" % MARK.encode(), Malformed),
        (b"@%s blob key -3\n" % MARK.encode(), Malformed),
        (b"@%s end nine\n" % MARK.encode(), Malformed),
        (b"@%s end \xd9\xa3\n" % MARK.encode(), Malformed),
        (b"@%s fact ../../etc \n" % MARK.encode(), Malformed),
        (b"@%s hello\n" % MARK.encode(), Malformed),
    ],
)
def test_what_is_too_much_or_malformed_is_refused(output: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read(output)
