"""Reads a prompt into a slot's KV cache a few tokens at a time, in the worker process.

The engine can only be stopped between two steps, and a step reads up to `batch` tokens: 32 of them
take a model of half a billion weights 0.2 s on two cores. That is fine for the conversation, but
background work has to stop at once. So its prompt is given to the engine in prefixes, each longer
than the last by as many tokens as can be read in `CHUNK_S`; the cache holds the others. How many
tokens a step can read is found by trial: a step has a fixed cost besides that of its tokens, and
takes longer while the conversation runs.
"""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

CHUNK_S = 0.02
"""Seconds that a step may take; generating one token takes about as long on a laptop."""
FIRST = 4
"""Tokens in the first piece, until it is known how long a piece takes. If reading is limited by the
processor, not by memory bandwidth, pieces may shrink to one token."""
TRIED_AFTER, TRIED_AT_LAST = 8, 64
"""Number of consecutive pieces within `CHUNK_S` after which one token more than their times suggest
is tried: at first, and at most. It is halved after each such try that succeeds, and doubled after
one that fails."""
LOOK_S = 0.02
"""Seconds between two checks whether a request waiting for the slot was cancelled."""
FREE_LOOK_S = 0.002
STEP_S = 0.5
"""Seconds; longer than any step of a model fast enough to talk with on a laptop."""
TALK_S = 30.0

Post = Callable[[str, Mapping[str, Any]], dict[str, Any]]
PrefillStep = Callable[[dict[str, Any]], bool]


class ChunkedPrefill:
    """Reads prompts for one slot, which nothing else may use.

    Args:
        complete: runs a completion on the engine; takes its request and a callback for each chunk.
        post: calls the engine's own HTTP interface; raises OSError, ValueError, LookupError.
        busy: whether the engine is still in a step of a cancelled request.
        context: size of the slot, in tokens.
        most: maximum number of tokens per step of the engine.
    """

    def __init__(
        self,
        complete: Callable[[dict[str, Any], PrefillStep], object],
        post: Post,
        busy: Callable[[], bool],
        context: int,
        most: int,
    ) -> None:
        self._complete = complete
        self._post = post
        self._busy = busy
        self._context = context
        self._size = _Size(most)
        self._held: list[int] = []
        """The tokens at the start of the slot's cache, as far as they are known."""
        self._slot = threading.Lock()

    def enter(self, cancelled: threading.Event) -> bool:
        """Wait for the slot; `leave` it afterwards. False if cancelled before it was free."""
        while not self._slot.acquire(timeout=LOOK_S):
            if cancelled.is_set():
                return False
        return True

    def leave(self, *, in_midst: bool) -> None:
        """Free the slot.

        Args:
            in_midst: the request was cancelled. The engine notices only when it emits a token, and
                has started the next step by then; wait for that step to end.
        """
        try:
            until = time.monotonic() + STEP_S
            while in_midst and self._busy() and time.monotonic() < until:
                time.sleep(FREE_LOOK_S)
        finally:
            self._slot.release()

    def read(
        self, body: Mapping[str, Any], cancelled: threading.Event, tell: Callable[[int], None]
    ) -> int:
        """Read all but the last piece of a chat request's prompt, until cancelled. Returns how many
        tokens were read: 0 if the request is invalid.

        Args:
            tell: called after each piece with the number of tokens in the cache.

        Raises:
            OSError, RuntimeError, ValueError, LookupError: the engine failed.
        """
        tokens = self._tokens(body, cancelled)
        if not tokens or len(tokens) >= self._context:
            return 0  # the request itself will report the error
        pairs = zip(self._held, tokens, strict=False)
        at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self._held = tokens[:at]
        read = 0
        while len(tokens) - at > self._size.now and not cancelled.is_set():
            at += self._size.now
            began = time.monotonic()
            read += self._one(tokens[:at], int(body["id_slot"]))
            self._held = tokens[:at]
            tell(at)
            self._size.took(time.monotonic() - began)
        return read

    def _one(self, tokens: list[int], slot: int) -> int:
        """Read these tokens; returns how many were not in the cache."""
        counts = [0]
        errors: list[object] = []

        def step(chunk: dict[str, Any]) -> bool:
            if "error" in chunk:
                errors.append(chunk["error"])
            if chunk.get("timings"):
                counts.append(int(chunk["timings"]["prompt_n"]))
            return False

        self._held = []
        self._complete(
            {
                "prompt": tokens,
                "n_predict": 0,
                "id_slot": slot,
                "cache_prompt": True,
                "stream": True,
            },
            step,
        )
        if errors:
            raise RuntimeError(str(errors[0]))
        return counts[-1]

    def _tokens(self, body: Mapping[str, Any], cancelled: threading.Event) -> list[int]:
        """The whole prompt's tokens; [] if the engine refuses it or the request was cancelled."""
        asked = {key: value for key, value in body.items() if key != "stream"}
        prompt = self._post("/apply-template", asked).get("prompt")
        if not isinstance(prompt, str) or cancelled.is_set():
            return []
        wanted = {"content": prompt, "add_special": True, "parse_special": True}
        return [int(token) for token in self._post("/tokenize", wanted).get("tokens", ())]


class _Size:
    """Chooses the number of tokens per piece from the time that the last pieces took."""

    def __init__(self, most: int) -> None:
        self.now = min(FIRST, most)
        self._most = most
        self._kept = 0
        """Number of consecutive pieces of this size that took at most `CHUNK_S`."""
        self._tried_after = TRIED_AFTER
        self._tries = False

    def took(self, seconds: float) -> None:
        fitting = int(self.now * CHUNK_S / max(seconds, 1e-6))
        kept = fitting >= self.now
        if self._tries:
            wait = self._tried_after // 2 if kept else 2 * self._tried_after
            self._tried_after = max(1, min(wait, TRIED_AT_LAST))
        self._kept = self._kept + 1 if kept else 0
        self._tries = kept and fitting == self.now and self._kept >= self._tried_after
        size = max(1, min(self._most, fitting + self._tries))
        if size != self.now:
            self.now, self._kept = size, 0


def json_poster(address: str, secret: str) -> Post:
    """Returns a function that posts JSON to the engine.

    Args:
        address: `unix://PATH` or `http://HOST:PORT`.
        secret: the bearer token for HTTP.
    """

    def post(path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        host = address.partition("://")[2]
        if address.startswith("unix://"):
            connection = http.client.HTTPConnection("llama", timeout=TALK_S)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(TALK_S)
            connection.sock.connect(host)
        else:
            connection = http.client.HTTPConnection(host, timeout=TALK_S)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {secret}"}
        try:
            connection.request("POST", path, json.dumps(body), headers)
            found = json.loads(connection.getresponse().read())
        except http.client.HTTPException as error:
            raise OSError(f"the engine did not answer: {type(error).__name__}") from error
        finally:
            connection.close()
        return found if isinstance(found, dict) else {}

    return post
