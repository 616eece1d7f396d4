"""Token counts from a llama.cpp server, whether ours or somebody else's."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from assistant.errors import ModelFailed
from models.interfaces import Message
from models.llm.special_tokens import engine_messages, without_special_tokens
from models.llm.token_counting import CountCache

NO_THINKING = {"enable_thinking": False}
"""Arguments for templates that support thinking."""


class EngineCounter:
    """Counts by asking the engine, for vocabularies that tiktoken can't express.

    Blocking; about a millisecond per question on the same machine. `client` must be bound to the
    address of a llama.cpp server, and is closed with this.
    """

    def __init__(self, client: httpx.Client, template_arguments: Mapping[str, Any]) -> None:
        self._client = client
        self._template_arguments = dict(template_arguments)
        self._texts = CountCache()
        self._prompts = CountCache()

    def count(self, text: str) -> int:
        return self._texts.get(
            text, lambda text: self._tokenize(without_special_tokens(text), prompt=False)
        )

    def count_messages(self, messages: Sequence[Message]) -> int:
        prompt = self._post(
            "/apply-template",
            {
                "messages": engine_messages(messages),
                "chat_template_kwargs": self._template_arguments,
            },
        )["prompt"]
        return self._prompts.get(prompt, lambda text: self._tokenize(text, prompt=True))

    def close(self) -> None:
        self._client.close()

    def _tokenize(self, text: str, *, prompt: bool) -> int:
        body = {"content": text, "add_special": prompt, "parse_special": prompt}
        return len(self._post("/tokenize", body)["tokens"])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            reply = self._client.post(path, json=body)
            reply.raise_for_status()
        except (httpx.HTTPError, RuntimeError) as error:  # RuntimeError: the client is closed
            raise ModelFailed(f"The language model did not count its tokens: {error}.") from error
        found: dict[str, Any] = reply.json()
        return found
