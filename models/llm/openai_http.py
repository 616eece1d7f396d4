"""Uses language models on servers with OpenAI's chat interface, e.g. Ollama or LM Studio."""

import ipaddress
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, nullcontext
from math import ceil
from typing import Any

import httpx

from assistant.errors import ModelFailed
from models.interfaces import Chunk, Generation, Lane, Message, Usage
from models.llm.special_tokens import engine_messages, without_special_tokens
from models.llm.token_counting import NO_THINKING, EngineCounter

BYTES_PER_TOKEN = 3.6
"""Assumed number of UTF-8 bytes per token. English prose has about 4.3, code 3, and Chinese 3 to 4.
Token counts estimated with this value are usually too high rather than too low."""
MESSAGE_TOKENS = 4
"""Assumed number of tokens that a chat template adds to a message."""
CONNECT_SECONDS = 5.0
COUNT_SECONDS = 0.5


class OpenAICompatible:
    """A `LanguageModel` behind an HTTP endpoint.

    If the server is llama-server, it counts tokens exactly. For other servers, `count` and
    `count_messages` *estimate* the number from the text's length, usually too high rather than too
    low. Closing a stream closes its connection. The server then cancels the request.
    """

    def __init__(
        self,
        endpoint: str,
        model: str | None = None,
        *,
        api_key: str | None = None,
        context_tokens: int = 8192,
        timeout_s: float = 30.0,
    ) -> None:
        """Describe the endpoint; `load` connects to it.

        Args:
            endpoint: base URL, such as http://127.0.0.1:11434/v1.
            model: the endpoint's name for the model. None or `default` means the first model that
                the endpoint lists.
            context_tokens: desired window; capped at the endpoint's own, if the endpoint reports
                one.
            timeout_s: maximum seconds to wait for each piece of an answer.
        """
        self.endpoint = endpoint.rstrip("/")
        self.name = model or "default"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._context_tokens = context_tokens
        self._timeout_s = timeout_s
        self._client: httpx.AsyncClient | None = None
        self._slots = 0
        """Number of slots of a llama-server, each with its own KV cache; 0 for other servers."""
        self._counter: EngineCounter | None = None

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    async def load(self) -> None:
        """Ask the endpoint for its models and its capabilities.

        Raises:
            ModelFailed: no server answers, the server refuses the key, or it doesn't have the
                model.
        """
        if self._client is not None:
            return
        try:
            async with self._failures_explained():
                self._client = httpx.AsyncClient(
                    headers=self._headers,
                    timeout=httpx.Timeout(self._timeout_s, connect=CONNECT_SECONDS),
                    trust_env=not self._is_here,  # no proxy within this machine
                )
                reply = await self._client.get(f"{self.endpoint}/models")
                names = _names(self._accepted(reply, may_lack=True))
                await self._recognise_llama_server()
            self._choose_model(names)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        self._estimate_from_now_on()

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        await self.load()
        assert self._client is not None
        silent = request.max_tokens == 0
        if silent and not (self._is_here or self._slots):
            # A remote service may charge for reading ahead, and then discard the result.
            yield Chunk("", Usage(0, 0, 0))
            return
        usage: Usage | None = None
        pieces = 0
        async with (
            self._failures_explained(),
            self._client.stream(
                "POST", f"{self.endpoint}/chat/completions", json=self._body(request)
            ) as reply,
            aclosing(self._events(reply)) as events,
        ):
            async for event in events:
                usage = _usage(event) or usage
                text = _text(event)
                if text and not silent:
                    pieces += 1
                    yield Chunk(text)
        yield Chunk("", usage or Usage(self.count_messages(request.messages), 0, pieces))

    def hold(self) -> AbstractContextManager[None]:
        """Return a context manager that does nothing: the model runs in another program."""
        return nullcontext()

    def count(self, text: str) -> int:
        if (counter := self._counter) is not None:
            try:
                return counter.count(text)
            except ModelFailed:
                self._estimate_from_now_on()  # a turn must not wait for failing counts repeatedly
        return ceil(len(without_special_tokens(text).encode()) / BYTES_PER_TOKEN)

    def count_messages(self, messages: Sequence[Message]) -> int:
        if (counter := self._counter) is not None:
            try:
                return counter.count_messages(messages)
            except ModelFailed:
                self._estimate_from_now_on()
        return sum(MESSAGE_TOKENS + self.count(each.content) for each in messages) + MESSAGE_TOKENS

    @property
    def _is_here(self) -> bool:
        """Whether the endpoint is on this machine."""
        host = httpx.URL(self.endpoint).host
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def _body(self, request: Generation) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": engine_messages(request.messages),
            "max_tokens": max(1, request.max_tokens),
            "temperature": request.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.json_schema is not None:
            schema = {"name": "answer", "strict": True, "schema": dict(request.json_schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self._slots:
            body["cache_prompt"] = True
            body["chat_template_kwargs"] = NO_THINKING
            if self._slots >= len(Lane):
                body["id_slot"] = list(Lane).index(request.lane)
        return body

    async def _recognise_llama_server(self) -> None:
        """Find out whether the server is llama-server, which has endpoints of its own.

        If so, use its window and slots, and let it count tokens.
        """
        assert self._client is not None
        root = self.endpoint.removesuffix("/v1")
        probe = await self._client.post(f"{root}/tokenize", json={"content": "one two"})
        template = {"messages": [{"role": "user", "content": "one"}]}
        rendered = await self._client.post(f"{root}/apply-template", json=template)
        if "tokens" not in _object(probe) or "prompt" not in _object(rendered):
            return
        properties = _object(await self._client.get(f"{root}/props"))
        self._slots = int(properties.get("total_slots", 1))
        window = properties.get("default_generation_settings", {}).get("n_ctx")
        self._context_tokens = min(self._context_tokens, window or self._context_tokens)
        self._counter = EngineCounter(
            httpx.Client(
                base_url=root,
                headers=self._headers,
                timeout=COUNT_SECONDS,
                trust_env=not self._is_here,
            )
        )

    def _estimate_from_now_on(self) -> None:
        counter, self._counter = self._counter, None
        if counter is not None:
            counter.close()

    def _choose_model(self, names: list[str]) -> None:
        """Choose the first model that the server lists, unless the user named one.

        llama-server accepts any name, because it serves only one model.

        Raises:
            ModelFailed: the server does not list the named model.
        """
        if self.name == "default" and names:
            self.name = names[0]
        known = any(name == self.name or name == f"{self.name}:latest" for name in names)
        if names and not known and not self._slots:
            raise ModelFailed(
                f"{self.endpoint} has no model {self.name}; it has {', '.join(names[:5])}.",
                mend="assistant config set llm.model NAME",
            )

    def _accepted(self, reply: httpx.Response, *, may_lack: bool = False) -> Mapping[str, Any]:
        """Return the JSON object in a successful reply.

        Args:
            may_lack: return an empty object if the server doesn't have this URL.

        Raises:
            ModelFailed: the server refused the request.
        """
        if reply.is_success:
            return _object(reply)
        if reply.status_code in {401, 403}:
            raise ModelFailed(
                f"{self.endpoint} refuses the API key.", mend="assistant config set llm.api_key KEY"
            )
        if reply.status_code in {404, 405}:
            if may_lack:
                return {}
            raise ModelFailed(f"{self.endpoint} has no model {self.name}.")
        reason = _reason(_object(reply)) or reply.reason_phrase
        raise ModelFailed(f"{self.endpoint} refused the request ({reply.status_code}): {reason}.")

    @asynccontextmanager
    async def _failures_explained(self) -> AsyncIterator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise ModelFailed(
                f"No server answers at {self.endpoint}.", mend="Start the model server there."
            ) from error
        except httpx.TimeoutException as error:
            raise ModelFailed(
                f"{self.endpoint} did not answer within {self._timeout_s:g} s."
            ) from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ModelFailed(
                f"{self.endpoint} is not the address of a model server.",
                mend="assistant config set llm.endpoint http://127.0.0.1:11434/v1",
            ) from error
        except (httpx.HTTPError, json.JSONDecodeError) as error:
            raise ModelFailed(f"The connection to {self.endpoint} was lost.") from error

    async def _events(self, reply: httpx.Response) -> AsyncGenerator[dict[str, Any]]:
        """Yield the server-sent events of an answer.

        Raises:
            ModelFailed: the server refused the request, an event reports an error, or the events
                end before the answer does.
            json.JSONDecodeError: an event is truncated.
        """
        if not reply.is_success:
            await reply.aread()
            self._accepted(reply)
        finished = False
        async for line in reply.aiter_lines():
            if not line.startswith("data:"):
                continue
            data = line.removeprefix("data:").strip()
            if data == "[DONE]":
                return
            event: dict[str, Any] = json.loads(data)
            if "error" in event:
                raise ModelFailed(
                    f"The answer from {self.endpoint} was cut short: {_reason(event)}."
                )
            choices = event.get("choices") or [{}]
            finished = finished or choices[0].get("finish_reason") is not None
            yield event
        if not finished:
            raise ModelFailed(f"The connection to {self.endpoint} was lost.")


def _object(reply: httpx.Response) -> Mapping[str, Any]:
    """Return the JSON object in a reply; an empty one if the reply has none."""
    try:
        found = reply.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _names(listed: Mapping[str, Any]) -> list[str]:
    return [str(entry["id"]) for entry in listed.get("data") or [] if "id" in entry]


def _reason(reply: Mapping[str, Any]) -> str:
    error = reply.get("error", "")
    return str(error.get("message", "") if isinstance(error, dict) else error).rstrip(". ")


def _text(event: Mapping[str, Any]) -> str:
    choices = event.get("choices") or [{}]
    return (choices[0].get("delta") or {}).get("content") or ""


def _usage(event: Mapping[str, Any]) -> Usage | None:
    usage = event.get("usage")
    if not usage:
        return None
    cached = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    return Usage(
        read_tokens=int(usage.get("prompt_tokens") or 0) - cached,
        cached_tokens=cached,
        generated_tokens=int(usage.get("completion_tokens") or 0),
    )
