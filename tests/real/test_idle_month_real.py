"""All kinds of idle work process some days of talk, using the smallest real model. Rules decide
which facts are worth remembering, since this model would choose next to none."""

from pathlib import Path

import pytest

from models.llm.llama import LlamaCpp
from tests.support.language import tiny_gguf
from tests.support.lived import check

pytestmark = pytest.mark.real


@pytest.mark.long
async def test_after_some_days_with_a_real_model_each_fact_is_stored_about_once(
    tmp_path: Path,
) -> None:
    llm = LlamaCpp(tiny_gguf(), context_tokens=2048)
    await llm.load()
    try:
        await check(tmp_path / "home", 150, 4, llm, extract="rules")
    finally:
        await llm.close()
