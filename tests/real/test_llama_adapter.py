"""A language model with an adapter for answers, in llama.cpp's worker process."""

import asyncio
from pathlib import Path

import gguf
import numpy as np
import pytest

from models.interfaces import Generation, Lane, Message
from models.llm.llama import LlamaCpp
from tests.support.language import SYSTEM, collect, tiny_gguf

pytestmark = [pytest.mark.real, pytest.mark.asyncio]

ASKED = (SYSTEM, Message("user", "Which colours does a rainbow have?"))


def adapter_of(file: Path, size: float) -> Path:
    """Write an adapter of the smallest model's last layer that changes much if `size` is large."""
    chance = np.random.default_rng(0)
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, 2.0)
    for side, shape in (("a", (2, 1536)), ("b", (576, 2))):
        data = (size * chance.standard_normal(shape)).astype(np.float16)
        writer.add_tensor(f"blk.29.ffn_down.weight.lora_{side}", data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


async def answers_of(llm: LlamaCpp, *, at_once: bool = False) -> tuple[str, str]:
    """The answers to one question: in the conversation, and of idle work."""
    lanes = Lane.CONVERSATION, Lane.BACKGROUND
    await llm.load()
    try:
        requests = [Generation(ASKED, max_tokens=12, temperature=0.0, lane=each) for each in lanes]
        asked = [collect(llm, each) for each in requests]
        if at_once:
            (conversation, _), (idle, _) = await asyncio.gather(*asked)
        else:
            (conversation, _), (idle, _) = [await each for each in asked]
    finally:
        await llm.close()
    return conversation, idle


async def test_only_the_conversation_uses_the_adapter(tmp_path: Path) -> None:
    path = tiny_gguf()
    plain, background = await answers_of(LlamaCpp(path, context_tokens=512))
    assert plain == background != ""
    nothing = adapter_of(tmp_path / "nothing.gguf", 0.0)
    assert await answers_of(LlamaCpp(path, context_tokens=512, adapter=nothing)) == (plain, plain)
    much = adapter_of(tmp_path / "much.gguf", 1.0)
    changed, idle = await answers_of(LlamaCpp(path, context_tokens=512, adapter=much))
    assert changed != plain
    assert idle == plain
    together = LlamaCpp(path, context_tokens=512, adapter=much)
    assert await answers_of(together, at_once=True) == (changed, plain)
