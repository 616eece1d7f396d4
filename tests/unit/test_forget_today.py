"""Forgetting "what I said today" on days on which the clocks change."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.intents.command import Command, CommandKind
from tests.support.forgetting import bench
from tests.support.zones import NEW_YORK, in_zone

EARLY = "My dog is called Max."
LATE = "My cat is called Kim."


@pytest.mark.parametrize(
    "midnight",
    [
        datetime(2026, 3, 8, 5, tzinfo=UTC),  # an hour is left out at two
        datetime(2026, 11, 1, 4, tzinfo=UTC),  # an hour comes twice
        datetime(2026, 11, 21, 5, tzinfo=UTC),
    ],
    ids=["spring", "autumn", "any"],
)
async def test_today_begins_at_midnight_whatever_the_clocks_did_since(
    tmp_path: Path, midnight: datetime
) -> None:
    with in_zone(NEW_YORK):
        async with bench(tmp_path, Conversation.begin("ada"), midnight) as here:
            for minutes, words in ((-30, EARLY), (30, LATE)):
                here.clock[0] = midnight + timedelta(minutes=minutes)
                here.tell(words)
            await here.memory.settled()
            here.clock[0] = midnight + timedelta(hours=15)
            answer = await here.obeying.carry_out(Command(CommandKind.FORGET_TODAY))
            assert answer is not None
            assert "cat" in answer
            assert "dog" not in answer
            left = {each.text for each in here.memory.index.outlines().values()}
            assert EARLY in left
            assert LATE not in left
