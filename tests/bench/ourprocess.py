"""The job as a process of its own, started as the program's entry starts."""

from __future__ import annotations

from kschedpatch.cli.entry import look_less_for_garbage

if __name__ == "__main__":
    look_less_for_garbage()
    from tests.bench.ourjob import main

    main()
