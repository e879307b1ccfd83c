"""What can be odd about a file's text as such: documents, directives, tabs, line ends, bytes."""

from __future__ import annotations

from hypothesis import strategies as st

_HEADS = (
    "---\n", "--- # first\n", "%YAML 1.1\n---\n", "%YAML 1.2\n---\n", "%TAG ! x:\n---\n",
    "\ufeff", "\ufeff---\n", "# only\n", "\n\n", "%YAML 1.1\n%TAG !e! tag:yaml.org,2002:\n---\n",
          "---\n---\n", "--- {}\n---\n", "---\nnull\n---\n", "...\n", "\t\n", "  ", "- ", "x:\n",
)  # fmt: skip
_TAILS = (
    "---\n", "...\n", "---\nkind: Other\n", "---\n{}\n", "...\n---\n", "\t\n", "# the end",
    "---\na: [\n", "   \n",
          "\n---\n# nothing\n", "x", "x: 1\nx: 2\n", "...\njunk: [\n", "---\n- a\n", "\x00",
          "\x07", "\n\n\n", "--- |\n a\n", "---\n" + "# far\n" * 200 + "\x07", "...\n@", "---\n\t",
)  # fmt: skip
_ALONE = (
    "", "\n", "---\n", "# nothing\n", "null\n", "{}\n", "[]\n", "5\n", "abc\n", "{\n",
    "---\n---\n", "\t", "...\n", '""', "~",
          "kind: KubeSchedulerConfiguration\n", "apiVersion: kubescheduler.config.k8s.io/v1\n",
)  # fmt: skip
#: Between tokens, on every line: some readers take them there and some do not.
_TABS = (
    (": ", ":\t"), (": ", ": \t"), ("- ", "-\t"), ("\n", "\t\n"), ("\n", " \t# c\n"), ("  ", "\t"),
    (", ", ",\t"), (":", "\t:"), ("\n", "\n\t\n"),
)  # fmt: skip


@st.composite
def odd_text(draw: st.DrawFn, text: str) -> bytes:
    lines = text.split("\n")
    line = draw(st.integers(0, max(0, len(lines) - 2)))
    way = draw(st.integers(0, 16))
    if way == 0:
        text = draw(st.sampled_from(_HEADS)) + text
    elif way in (1, 2):
        text += draw(st.sampled_from(_TAILS))
    elif way == 3:
        return draw(st.sampled_from(_ALONE)).encode()
    elif way == 4:
        lines[line] = lines[line].replace("  ", "\t", 1)
    elif way == 5:
        lines[line] = lines[line].replace(": ", ":\t", 1)
    elif way == 6:
        lines[line] = lines[line].replace(": ", ":", 1)
    elif way == 7:
        lines[line] = " " + lines[line]
    elif way == 8:
        lines[line] = lines[line].removeprefix(" ")
    elif way == 9:
        lines[line] += draw(
            st.sampled_from(
                [
                    " # comment",
                    "#no",
                    "   ",
                    "\t",
                    " # tab\there",
                    ",",
                    " \\",
                    "\x85",
                    "\u2028",
                    "\x7f",
                ]
            )
        )
    elif way == 10:
        text = text.replace("\n", draw(st.sampled_from(["\r\n", "\n\n", "\n# c\n", "\r"])))
    elif way == 11:
        text = text.rstrip("\n")
    elif way == 12:
        at = draw(st.integers(0, len(text)))
        return (
            text[:at].encode()
            + draw(st.sampled_from([b"\xff", b"\xc3", b"\x00", b"\xed\xa0\x80", b"\xc2\xa0"]))
            + text[at:].encode()
        )
    elif way == 13:
        at = draw(st.integers(0, len(text)))
        text = text[:at]
    elif way == 14:
        old, new = draw(st.sampled_from(_TABS))
        text = text.replace(old, new)
    elif way == 15:
        encoding = draw(st.sampled_from(["utf-16-le", "utf-16-be"]))
        return f"\ufeff{text}".encode(encoding, "surrogatepass")
    else:
        text = text.replace("\n", draw(st.sampled_from(["\x85", "\u2028", "\r\n", "\n\r"])))
    if 4 <= way <= 9:
        text = "\n".join(lines)
    return text.encode(errors="surrogatepass")
