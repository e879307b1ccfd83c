"""``python -m kschedpatch``"""

from kschedpatch.cli.entry import main

main()
