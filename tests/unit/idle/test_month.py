"""A simulated month through all kinds of idle work, with a model that answers whatever is asked of
it, and judges every fact worth keeping: so what is counted is what the rules make of the talk."""

from pathlib import Path

import pytest

from tests.support.lived import check


async def test_some_days_of_talk_leave_each_fact_about_once(tmp_path: Path) -> None:
    await check(tmp_path / "home", 150, 4)


@pytest.mark.long
async def test_a_month_of_talk_leaves_each_fact_about_once(tmp_path: Path) -> None:
    await check(tmp_path / "home", 4_000, 30)
