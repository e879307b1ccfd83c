"""What the inspect verb is asked, and what is made of its answer, be it garbage."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kschedpatch.model.inspection import (
    ExtenderAsked,
    ExtenderLook,
    FileMode,
    Identity,
    InspectionAsked,
    SocketAsked,
    SocketLook,
)
from kschedpatch.node.chain import Reply
from kschedpatch.node.inspection import inspection_arguments, inspection_from

ASKED = InspectionAsked(
    "::1",
    10259,
    "x:1",
    (("/a:b", "/c"),),
    (SocketAsked("/with blank/s.sock", "/status?a=b c"), SocketAsked("/s")),
    (ExtenderAsked("http://x.y:1/z", "x.y:1:10.0.0.1"), ExtenderAsked("http://10.0.0.1/")),
)


def test_arguments_are_one_word_each_where_the_script_splits_them() -> None:
    assert list(inspection_arguments(ASKED)) == [
        ("host", "[::1]"),
        ("port", "10259"),
        ("image", "x:1"),
        ("mount", "/a:b:/c"),
        ("socket", "/status?a=b%20c /with blank/s.sock"),
        ("socket", "/ /s"),
        ("reach", "x.y:1:10.0.0.1 http://x.y:1/z"),
        ("reach", "- http://10.0.0.1/"),
    ]


def test_an_answer_is_read() -> None:
    facts = (
        ("pid", "7"),
        ("tool", "curl"),
        ("identity", "Uid: 0 0 0 65534"),
        ("identity", "Gid: 0 0 0 5"),
        ("identity", "Groups: 7 8"),
        ("identity", "CapEff: 00000000a80425fb"),
        ("same", "same /with blank"),
        ("image", "x:1 sha256:aa"),
        ("wanted_image", "sha256:aa [r/x@sha256:bb r/y@sha256:cc]"),
        ("socket", "0 socket 755 0 0"),
        ("socket_way", "0 755 0 0"),
        ("socket_curl", "0 7 "),
        ("socket_said", "0 * Immediate connect fail for ./s: Connection refused"),
        ("socket", "1 missing "),
        ("extender", "0 0 404 "),
        ("extender", "1 7 000 curl: (7) Failed to connect"),
    )
    blobs = {
        "words": b"kube-scheduler\0--v=5\0",
        "configz": b"{}\n200",
        "log": b"a",
        "log_end": b"b",
    }
    seen = inspection_from("cp1", Reply(0, facts, blobs, ""), ASKED)
    assert seen.identity == Identity(65534, 5, (7, 8), 0xA80425FB)
    assert (seen.words, seen.configz, seen.log) == (("kube-scheduler", "--v=5"), b"{}", b"ab")
    assert seen.wanted_image == ("sha256:aa", "r/x@sha256:bb", "r/y@sha256:cc")
    assert seen.same_file == {"/with blank": "same"}
    root = FileMode(0o755, 0, 0)
    refused = "Immediate connect fail for ./s: Connection refused"
    assert seen.sockets == (
        SocketLook("/with blank/s.sock", "socket", root, (root,), 7, 0, b"", refused),
        SocketLook("/s", "missing"),
    )
    assert seen.extenders == (
        ExtenderLook("http://x.y:1/z", 0, 404),
        ExtenderLook("http://10.0.0.1/", 7, 0, "curl: (7) Failed to connect"),
    )


KEYS = ("pid", "identity", "same", "image", "wanted_image", "socket", "socket_way", "socket_curl",
        "socket_said", "extender", "tool")  # fmt: skip
WORDS = st.lists(st.sampled_from(["0", "1", "-1", "socket", "9" * 20, "Uid:", "x", "", "\u00b2"]))


@given(
    st.lists(st.tuples(st.sampled_from(KEYS), WORDS.map(" ".join))),
    st.dictionaries(
        st.sampled_from(["words", "mountinfo", "configz", "log", "socket-0"]), st.binary()
    ),
)
def test_whatever_a_node_says_it_is_only_data(
    facts: list[tuple[str, str]], blobs: dict[str, bytes]
) -> None:
    looked = inspection_from("cp1", Reply(0, tuple(facts), blobs, ""), ASKED)
    # It neither breaks the reader nor passes for another node, or for a process that can't be.
    assert looked.label == "cp1"
    assert looked.pid >= 0
