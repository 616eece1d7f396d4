"""Some days of talk through all kinds of idle work, with the smallest real model for all that one
is asked for but which facts are worth keeping: it keeps next to none."""

from pathlib import Path

import pytest

from models.llm.llama import LlamaCpp
from tests.support.language import tiny_gguf
from tests.support.lived import check

pytestmark = pytest.mark.real


@pytest.mark.long
async def test_some_days_with_a_real_model_leave_each_fact_about_once(tmp_path: Path) -> None:
    llm = LlamaCpp(tiny_gguf(), context_tokens=2048)
    await llm.load()
    try:
        await check(tmp_path / "home", 150, 4, llm, extract="rules")
    finally:
        await llm.close()
