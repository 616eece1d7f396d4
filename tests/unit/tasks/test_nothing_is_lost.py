"""Whatever is said, no line disappears without a trace in the history of changes, no word is
invented, and an interruption changes nothing."""

import random
from datetime import datetime
from pathlib import Path

import pytest

from assistant.context import Exchange
from assistant.intents import CommandKind
from assistant.state import EntryKind
from assistant.tasks.rendering import MOST_TOKENS, tokens
from tests.support.tasks import TRIP, Session, session

USER = (
    "Let's fly on the third of May.",
    "Actually, make it the fourth.",
    "Let's take the morning train.",
    "The afternoon train instead.",
    "The budget is eight hundred euros.",
    "Sorry, a thousand.",
    "Let's stay at the hostel.",
    "Not the hostel.",
    "Forget the train.",
    "Yes.",
    "No.",
    "No, Wednesday.",
    "We're four people, no, five people.",
    "My sister is flying to Rome.",
    "What about the museum?",
    "Anna can't come. It's Tom and Eva.",
    "Let's also see Sintra tomorrow.",
    "The hostel, after all.",
)
ASSISTANT = (
    "Fine.",
    "Shall we say Tuesday?",
    "How about the Ritz?",
    "Which day would suit you?",
    "I'd suggest the night train.",
)
ROUNDS = 12


@pytest.mark.parametrize("seed", range(8))
async def test_no_line_is_lost_without_a_trace_and_no_word_is_invented(
    tmp_path: Path, seed: int
) -> None:
    pick = random.Random(seed)
    async with session(tmp_path) as here:
        await here.obey(CommandKind.TASK_OPEN, TRIP)
        allowed = " not "
        for _ in range(ROUNDS):
            before = {each.id: each.content for each in here.store.entries(EntryKind.LINE)}
            exchange = here.exchange(pick.choice(USER), pick.choice(ASSISTANT))
            allowed += f"{exchange.user_text} {exchange.assistant_text} ".lower()
            await here.activity.hear(exchange)
            after = {each.id: each.content for each in here.store.entries(EntryKind.LINE)}
            for key, content in before.items():
                earlier = [each.content for each in here.store.changes(key)]
                assert after[key] == content or content in earlier
            words = {word for each in here.lines() for word in each.lower().split()}
            assert all(word.strip(",") in allowed for word in words)
            assert tokens(here.activity.block()) <= MOST_TOKENS


async def test_what_was_interrupted_between_two_writes_is_completed(tmp_path: Path) -> None:
    said = "Let's fly on the third of May, and the budget is a thousand. Not the hostel."
    async with session(tmp_path) as here:
        await here.obey(CommandKind.TASK_OPEN, TRIP)
        exchange = here.exchange(said, "Fine.")
    for stop in range(1, 4):
        async with session(tmp_path) as here:
            with pytest.raises(RuntimeError):
                await _heard_until(here, exchange, stop)
    async with session(tmp_path) as here:
        await here.activity.hear(exchange)
        assert here.lines() == [
            *("fly on the third of May", "the budget is a thousand", "not the hostel"),
        ]


async def _heard_until(here: Session, exchange: Exchange, stop: int) -> None:
    """Hear an exchange, and fail when the clock of the store is read for the `stop`th time: it is
    read before each write."""
    times = iter(range(stop - 1))
    now = here.now

    def clock() -> datetime:
        if next(times, None) is None:
            raise RuntimeError("killed")
        return now

    here.clock = clock
    await here.activity.hear(exchange)
