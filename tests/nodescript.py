"""A tiny script in the place of the agent's, for tests of the way to a node."""

from __future__ import annotations

from pathlib import Path

FRAMES = (Path(__file__).parents[1] / "kschedpatch/node/agent/frames.sh").read_text()


def session_script(body: str) -> str:
    """``body`` sees the verb as VERB and the argument ``dir`` as DIR."""
    main = (
        "frames_open\nVERB=$2\nshift 2\nDIR=\n"
        'for pair; do case $pair in dir=*) DIR=${pair#dir=};; esac; done\n: "$DIR" "$VERB"\n'
    )
    calls = 'if [ $# = 1 ]; then serve test_main; else test_main "$@"; fi'
    return f"{FRAMES}\ntest_main() {{\n{main}{body}\n}}\n{calls}\n"
