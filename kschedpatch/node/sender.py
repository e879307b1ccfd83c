"""Sends requests and their frames, large ones from a thread of its own.

The caller reads at the same time: a node that talks before it has read everything would otherwise
wait for us while we wait for it. What fits into any pipe needs nobody who reads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from kschedpatch.node.errors import ConnectionLost, PayloadChanged, Stopped
from kschedpatch.node.payload import Payload, frame
from kschedpatch.node.transport import Channel

#: Pipes and windows hold at least twice as much, and before a request there is nothing in them.
_SMALL = 32 * 1024


class Sender:
    def __init__(self, channel: Channel, parts: Sequence[tuple[bytes, Sequence[Payload]]]) -> None:
        """Of each call its request, and what it comes with."""
        self._channel = channel
        self._parts = parts
        self.problem: PayloadChanged | Stopped | None = None
        self.last_sent = time.monotonic()
        self._all_sent = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        if self._is_small():
            self._run()
        else:
            self._thread.start()

    def _is_small(self) -> bool:
        size = sum(len(lead) + sum(p.size for p in payloads) for lead, payloads in self._parts)
        return size <= _SMALL

    def has_sent_all(self) -> bool:
        """Asked when the node has read everything: the thread may not have noticed yet."""
        if self._thread.ident is not None:
            self._thread.join(1)
        return self._all_sent and not self._thread.is_alive()

    def _run(self) -> None:
        try:
            for lead, payloads in self._parts:
                self._channel.send(lead)
                for payload in payloads:
                    for chunk in frame(payload):
                        self._channel.send(chunk)
                        self.last_sent = time.monotonic()
            self._all_sent = True
        except (PayloadChanged, Stopped) as error:
            self.problem = error
        except ConnectionLost:
            pass  # the reader sees it too, and knows what the node said before
        finally:
            # The end of input: a script that waits for a frame that does not come is told so.
            last = self._parts[-1][1]
            if not self._all_sent or any(payload.to_the_end for payload in last):
                self._channel.close_stdin()
