"""Reading a prompt into a slot's KV cache a few tokens at a time, in the worker process.

The engine can be stopped between two steps only, and a step reads up to `batch` tokens: 32 of them
take a model of half a billion weights 0.2 s on two cores. For the conversation that is right; what
is done beside it has to be out of the way at once. So its prompt is handed to the engine in
prefixes that grow by as many tokens as are read in `CHUNK_S`; each is read beyond what the cache
holds of the one before. How many that are is only known by trying: a step has a cost of its own
beside that of its tokens, and the same piece takes longer while the conversation goes on.
"""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

CHUNK_S = 0.02
"""What a step may take; one that makes a token takes about as long on a laptop."""
FIRST = 4
"""Tokens of the first piece, until it is known how long one takes. Where the processor is what
limits reading, and not going through all the weights, it may come down to one."""
TRIED_AFTER, TRIED_AT_LAST = 8, 64
"""Pieces in a row that kept their time, until one token more is tried though by its tokens alone it
wouldn't. Half as many after each try that kept it, twice as many after one that did not."""
LOOK_S = 0.02
"""Between two looks at whether a request was cancelled that waits for the slot."""
FREE_LOOK_S = 0.002
STEP_S = 0.5
"""Longer than any step of a model that a laptop can talk with."""
TALK_S = 30.0

Post = Callable[[str, Mapping[str, Any]], dict[str, Any]]
PrefillStep = Callable[[dict[str, Any]], bool]


class ChunkedPrefill:
    """One slot, which nobody else may use.

    Args:
        complete: runs a completion of the engine: its request, and what is called with each chunk.
        post: asks the engine's own HTTP interface; raises OSError, ValueError, LookupError.
        busy: whether the engine is still in a step of what was cancelled.
        context: tokens of the slot.
        most: tokens of a step of the engine.
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
        """What the slot's cache begins with, as far as it is known."""
        self._slot = threading.Lock()

    def enter(self, cancelled: threading.Event) -> bool:
        """Wait for the slot, which is to be left then; False: cancelled before it was free."""
        while not self._slot.acquire(timeout=LOOK_S):
            if cancelled.is_set():
                return False
        return True

    def leave(self, *, in_midst: bool) -> None:
        """
        Args:
            in_midst: the request was cancelled. The engine learns of it when it gives a token, and
                has begun the next step by then: that is waited for.
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
        """Read the prompt of a chat request but for its last piece, until it is cancelled; returns
        how many tokens were read. Of what is wrong with it nothing is read.

        Args:
            tell: told after each piece how many tokens the cache holds.

        Raises:
            OSError, RuntimeError, ValueError, LookupError: the engine failed.
        """
        tokens = self._tokens(body, cancelled)
        if not tokens or len(tokens) >= self._context:
            return 0  # the request itself will say so
        at = _common(self._held, tokens)
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
        """Returns how many of these were not in the cache."""
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
        """Of the whole prompt; none where the engine refuses it, or it is wanted no more."""
        asked = {key: value for key, value in body.items() if key != "stream"}
        prompt = self._post("/apply-template", asked).get("prompt")
        if not isinstance(prompt, str) or cancelled.is_set():
            return []
        wanted = {"content": prompt, "add_special": True, "parse_special": True}
        return [int(token) for token in self._post("/tokenize", wanted).get("tokens", ())]


class _Size:
    """How many tokens a piece has, by what the last ones took."""

    def __init__(self, most: int) -> None:
        self.now = min(FIRST, most)
        self._most = most
        self._kept = 0
        """Pieces in a row of this size that kept their time."""
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


def _common(one: Sequence[int], two: Sequence[int]) -> int:
    """How many tokens both begin with."""
    for place, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            return place
    return min(len(one), len(two))


def json_poster(address: str, secret: str) -> Post:
    """
    Args:
        address: `unix://PATH` or `http://HOST:PORT`.
        secret: the bearer token of the latter.
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
