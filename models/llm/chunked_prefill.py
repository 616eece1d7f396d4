"""Reads a prompt into a slot's KV cache a few tokens at a time, in llama.cpp's worker process.

The engine can only be stopped between two steps, and a step reads up to `batch` tokens. For 32
tokens, a model with half a billion weights takes 0.2 s on two cores. That is fine for the
conversation, but background work has to stop at once. So the prompt of a background request is
given to the engine as a series of prefixes. Each prefix is longer than the previous one by as many
tokens as the engine can read in `CHUNK_S`; the earlier tokens are already in the cache. The number
of new tokens is found by trial, because a step has a fixed cost in addition to the cost of its
tokens, and takes longer while the conversation runs.
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
"""Target duration of a step in seconds. Generating one token takes about as long on a laptop."""
FIRST = 4
"""Number of tokens in the first piece of a prompt, when it isn't known yet how long a piece takes.
Later pieces may shrink to one token if the processor, not the memory, limits the reading speed."""
TRIED_AFTER, TRIED_AT_LAST = 8, 64
"""After this many consecutive pieces within `CHUNK_S`, a piece with one more token is tried. The
number starts at the first value and never exceeds the second. It is halved after each try that
succeeds, and doubled after each try that fails."""
LOOK_S = 0.02
"""Seconds between two checks for cancellation while a request waits for the slot."""
FREE_LOOK_S = 0.002
"""Seconds between two checks for the end of a cancelled request's step."""
STEP_S = 0.5
"""Maximum seconds to wait for a step of a cancelled request. Each step is shorter than this if the
model is fast enough for a conversation on a laptop."""
TALK_S = 30.0
"""Timeout in seconds for requests to the engine's HTTP interface."""

Post = Callable[[str, Mapping[str, Any]], dict[str, Any]]
PrefillStep = Callable[[dict[str, Any]], bool]


class ChunkedPrefill:
    """Reads prompts into one slot. Nothing else may use this slot.

    Args:
        complete: runs a completion on the engine. It takes the request, and a callback that gets
            each chunk of the answer.
        post: posts JSON to the engine's own HTTP interface; may raise OSError, ValueError,
            LookupError.
        busy: returns whether the engine is still in a step of a cancelled request.
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
        """The known tokens at the start of the slot's cache."""
        self._slot = threading.Lock()

    def enter(self, cancelled: threading.Event) -> bool:
        """Wait for the slot. Return False if the request was cancelled before the slot was free.

        If this returns True, call `leave` afterwards.
        """
        while not self._slot.acquire(timeout=LOOK_S):
            if cancelled.is_set():
                return False
        return True

    def leave(self, *, in_midst: bool) -> None:
        """Free the slot.

        Args:
            in_midst: whether the request was cancelled. The engine notices a cancellation only when
                it emits a token, and has started its next step by then. So this method first waits
                until that step ends, for at most `STEP_S`.
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
        """Read a chat request's prompt, except for its last piece, unless cancelled before.

        Returns the number of tokens read; 0 if the request is invalid.

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
        """Read `tokens` into the slot; return the number of tokens that were not yet in the
        cache."""
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
        """Return the tokens of the whole prompt.

        The list is empty if the engine refuses the request, or if the request was cancelled.
        """
        asked = {key: value for key, value in body.items() if key != "stream"}
        prompt = self._post("/apply-template", asked).get("prompt")
        if not isinstance(prompt, str) or cancelled.is_set():
            return []
        wanted = {"content": prompt, "add_special": True, "parse_special": True}
        return [int(token) for token in self._post("/tokenize", wanted).get("tokens", ())]


class _Size:
    """Chooses the number of tokens per piece, based on the time that the previous pieces took."""

    def __init__(self, most: int) -> None:
        self.now = min(FIRST, most)
        self._most = most
        self._kept = 0
        """Number of consecutive pieces of the current size that took at most `CHUNK_S`."""
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
    """Return a function that posts JSON to the engine and returns the JSON object in the reply.

    Args:
        address: `unix://PATH` or `http://HOST:PORT`.
        secret: the bearer token, which the engine requires over TCP.
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
