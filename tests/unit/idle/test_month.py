"""All kinds of idle work over a simulated month, with a model whose answers fit any schema and
judge every fact worth remembering. So the counts show what the rules derive from the talk."""

from pathlib import Path

import pytest

from tests.support.lived import check


async def test_after_some_days_of_talk_each_fact_is_stored_about_once(tmp_path: Path) -> None:
    await check(tmp_path / "home", 90, 3)


@pytest.mark.long
async def test_after_a_month_of_talk_each_fact_is_stored_about_once(tmp_path: Path) -> None:
    await check(tmp_path / "home", 4_000, 30)
