"""Downloads models from Hugging Face's hub, or from another hub with the same `resolve` URLs."""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import httpx

from models.catalogue import Model, ModelFile
from models.download.sources import SourceFailed, Transfer, write_at_most

PUBLIC = "https://huggingface.co"

CONNECT_S = 5.0
"""Seconds after which connecting fails. It is short so that the user need not wait long if the hub
can't be reached."""

READ_S = 20.0
"""Seconds without data after which a connection counts as lost."""

ATTEMPTS = 3
"""Number of consecutive requests without any data after which the hub counts as lost."""

REST_S = 60.0
"""Seconds before a hub that can't be reached is tried again. So a download of several models waits
for the connection only once."""

NO_CONNECTION = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
UNREACHABLE = "it can't be reached"


class _Cut(Exception):
    """A request failed because the connection was lost or the server is busy. Try again."""


@dataclass(slots=True)
class HubSource:
    """Downloads models from the hub at `endpoint`. If the hub can't be reached, it isn't tried
    again for `REST_S` seconds.

    `backoff_s` is the pause after a lost connection, in seconds. The pause doubles after each
    request that brings no data.
    """

    endpoint: str = PUBLIC
    backoff_s: float = 0.5
    _reached: bool = field(default=False, init=False)
    _resting_until: float = field(default=-math.inf, init=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "HubSource":
        """Create the source for the hub in the environment variable `HF_ENDPOINT`, or else for the
        public hub. Hugging Face's own tools use the same variable."""
        return cls(endpoint=environment.get("HF_ENDPOINT", "").rstrip("/") or PUBLIC)

    @property
    def label(self) -> str:
        return self.endpoint.partition("://")[2] or self.endpoint

    def serves(self, model: Model) -> bool:
        return model.hub is not None

    def fetch(self, transfer: Transfer) -> None:
        if time.monotonic() < self._resting_until:
            raise SourceFailed(UNREACHABLE)
        with httpx.Client(
            timeout=httpx.Timeout(READ_S, connect=CONNECT_S),
            follow_redirects=True,
            # A compressed body could not be resumed by byte offset.
            headers={"Accept-Encoding": "identity"},
        ) as client:
            for file in transfer.model.files:
                self._bring(client, transfer, file)

    def _bring(self, client: httpx.Client, transfer: Transfer, file: ModelFile) -> None:
        if transfer.accept(file):
            return
        resumed = transfer.have(file.name) > 0
        self._complete(client, transfer, file)
        if transfer.accept(file):
            return
        if resumed:  # the part downloaded earlier may be wrong, so download the file again
            self._complete(client, transfer, file)
            if transfer.accept(file):
                return
        raise SourceFailed(f"its {file.name} doesn't match the catalogue")

    def _complete(self, client: httpx.Client, transfer: Transfer, file: ModelFile) -> None:
        """Download a file's missing bytes. If the connection is lost, resume the download."""
        idle = 0
        while (offset := transfer.have(file.name)) < file.bytes:
            try:
                self._request(client, transfer, file, offset)
            except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise SourceFailed(f"{self.endpoint!r} is not an address ({error})") from error
            except (_Cut, httpx.TransportError) as cut:
                if isinstance(cut, NO_CONNECTION) and not self._reached:
                    self._resting_until = time.monotonic() + REST_S
                    raise SourceFailed(UNREACHABLE) from cut
                idle = 0 if transfer.have(file.name) > offset else idle + 1
                if idle == ATTEMPTS:
                    raise SourceFailed(f"the connection was lost ({cut})") from cut
                transfer.stop.wait(self.backoff_s * 2**idle)
                transfer.check()
            except httpx.HTTPError as error:
                raise SourceFailed(f"the request failed ({error})") from error

    def _request(
        self, client: httpx.Client, transfer: Transfer, file: ModelFile, offset: int
    ) -> None:
        hub = transfer.model.hub
        assert hub is not None
        url = f"{self.endpoint}/{hub.path(file.name)}"
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        with client.stream("GET", url, headers=headers) as response:
            self._reached = True
            start = _start(response, file, offset)
            with transfer.append(file.name, start, self.label) as out:
                limit = file.bytes - start
                if not write_at_most(out, self._blocks(response, transfer), limit):
                    # The rest of the body is dropped. The file's digest will be checked.
                    return
        if transfer.have(file.name) < file.bytes:
            raise _Cut("too few bytes")

    def _blocks(self, response: httpx.Response, transfer: Transfer) -> Iterator[bytes]:
        for block in response.iter_bytes():
            transfer.tell(self.label)
            yield block


def _start(response: httpx.Response, file: ModelFile, offset: int) -> int:
    """Return the offset in the file at which the response's body starts. It is `offset`, or 0 if
    the server ignored the requested range.

    Raises:
        _Cut: the server is busy or failed.
        SourceFailed: the server refused, or its file doesn't match the catalogue.
    """
    status = response.status_code
    if status == 429 or status >= 500:
        raise _Cut(f"status {status}")
    if status == 206:
        start = offset
        expected, given = f"bytes {offset}-", response.headers.get("Content-Range", "")
        if not given.startswith(expected):
            raise SourceFailed(f"it answered with the wrong range ({given or 'none'})")
    elif status == 200:
        start = 0
    else:
        raise SourceFailed(f"it answered {status} to {response.request.url.path}")
    length = response.headers.get("Content-Length")
    if length is not None and length != str(file.bytes - start):
        raise SourceFailed(f"the size of its {file.name} doesn't match the catalogue")
    return start
