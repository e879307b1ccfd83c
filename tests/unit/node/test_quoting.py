"""One function quotes; every shell reads its words back as they were."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedpatch.node.loader import LOADER, request
from kschedpatch.node.quoting import MAX_LINE, Unquotable, command_line, quote
from tests.unit.node.shells import EVERY_SHELL

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_shell_reads_back_every_word(shell: list[str]) -> None:
    @settings(max_examples=25, deadline=None)
    @given(st.lists(WORDS, max_size=5))
    def check(words: list[str]) -> None:
        line = command_line(["printf", "%s\\0", "first", *words])
        done = subprocess.run([*shell, "-c", line], capture_output=True, check=True)
        assert done.stdout.decode().split("\0")[:-1] == ["first", *words]

    check()


@pytest.mark.parametrize("value", ["", "-n", "$(id)", "`id`", "a'b", "a\nb", "* ~ !! \\", "ü→"])
def test_dangerous_values_stay_values(value: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"printf %s {quote(value)}"], capture_output=True, check=True
    )
    assert done.stdout.decode() == value


@pytest.mark.parametrize("value", ["a\0b", "\udcff"])
def test_what_no_argument_can_hold_is_refused(value: str) -> None:
    with pytest.raises(Unquotable):
        quote(value)


def test_a_line_longer_than_the_kernel_takes_is_refused() -> None:
    with pytest.raises(Unquotable):
        command_line(["x" * MAX_LINE])


@pytest.mark.parametrize("verb, key", [("a b", "k"), ("verb", "k=v"), ("verb", ""), ("-x", "k")])
def test_names_of_verbs_and_arguments_are_plain(verb: str, key: str) -> None:
    with pytest.raises(Unquotable):
        request("shell", "call", verb, {key: "value"})


@given(st.lists(WORDS, max_size=5))
def test_a_request_is_one_line(words: list[str]) -> None:
    line = request("shell", "call", "verb", [("key", word) for word in words])
    assert line.startswith(b"shell call ")
    assert line.index(b"\n") == len(line) - 1


def test_the_loader_means_the_same_to_every_login_shell() -> None:
    assert not set(LOADER) & set("\\'!\n")
