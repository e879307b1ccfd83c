"""The roll-out as a process of its own, started as the program's entry starts: without what reads
a command line and a patch, plans, and tells the result (``ourapply`` has all of it)."""

from __future__ import annotations

from kschedpatch.cli.entry import look_less_for_garbage

if __name__ == "__main__":
    look_less_for_garbage()
    from tests.bench.ourjob import main

    main()
