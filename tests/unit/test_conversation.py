from datetime import UTC, datetime

import pytest

from assistant.context.conversation import Conversation, Exchange, Summary

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


def talk(turns: int) -> Conversation:
    conversation = Conversation.begin("ada")
    for turn in range(1, turns + 1):
        conversation.append_user(turn, f"question {turn}", NOW)
        conversation.complete(turn, f"answer {turn}", ended=NOW)
    return conversation


def summary_of(conversation: Conversation, exchanges: int, name: str = "s") -> Summary:
    ids = tuple(exchange.id for exchange in conversation.exchanges[:exchanges])
    return Summary(name, "What was said.", ids, NOW)


def turns_of(exchanges: tuple[Exchange, ...]) -> list[int]:
    return [exchange.turn for exchange in exchanges]


def test_an_exchange_opens_with_the_user_and_closes_with_what_was_heard() -> None:
    conversation = Conversation.begin("ada")
    opened = conversation.append_user(1, "Tell me a story.", NOW)
    closed = conversation.complete(1, " Once upon ", interrupted=True, ended=NOW)

    assert opened.open
    assert opened.assistant_text == ""
    assert not closed.open
    assert (closed.id, closed.user_text) == (opened.id, "Tell me a story.")
    assert (closed.assistant_text, closed.interrupted) == ("Once upon", True)
    assert conversation.exchanges == (closed,)


def test_what_was_handed_out_does_not_change() -> None:
    conversation = talk(2)
    before = conversation.exchanges
    copy = tuple(before)

    conversation.append_user(3, "more", NOW)
    conversation.hide([before[0].id])

    assert before == copy
    assert turns_of(conversation.exchanges) == [2, 3]


def test_a_late_answer_finds_its_own_turn() -> None:
    conversation = Conversation.begin("ada")
    conversation.append_user(1, "one", NOW)
    conversation.append_user(2, "two", NOW)
    conversation.complete(1, "first")
    conversation.complete(2, "second")

    assert [each.assistant_text for each in conversation.exchanges] == ["first", "second"]


def test_completing_what_is_not_open_is_an_error() -> None:
    conversation = talk(1)
    with pytest.raises(LookupError, match="turn 1"):
        conversation.complete(1, "again")


def test_a_summary_stands_for_what_it_covers() -> None:
    conversation = talk(5)
    assert conversation.apply(summary_of(conversation, 3))

    assert turns_of(conversation.uncovered) == [4, 5]
    assert turns_of(conversation.exchanges) == [1, 2, 3, 4, 5]


def test_a_summary_of_something_forgotten_meanwhile_is_refused() -> None:
    conversation = talk(5)
    summary = summary_of(conversation, 3)
    conversation.hide([conversation.exchanges[1].id])

    assert not conversation.apply(summary)
    assert conversation.summary is None


def test_a_summary_that_was_overtaken_is_refused() -> None:
    conversation = talk(6)
    old = summary_of(conversation, 2, "old")
    assert conversation.apply(summary_of(conversation, 4, "new"))

    assert not conversation.apply(old)
    assert conversation.summary is not None
    assert conversation.summary.id == "new"


def test_a_summary_of_an_open_exchange_or_of_nothing_is_refused() -> None:
    conversation = talk(1)
    conversation.append_user(2, "still going", NOW)

    assert not conversation.apply(summary_of(conversation, 2))
    assert not conversation.apply(Summary("s", "Nothing.", (), NOW))


def test_forgetting_a_source_ends_the_summary_and_brings_the_others_back() -> None:
    conversation = talk(5)
    conversation.apply(summary_of(conversation, 3))
    forgotten = conversation.exchanges[1].id

    assert conversation.hide([forgotten, "unknown"]) == {forgotten}
    assert conversation.summary is None
    assert turns_of(conversation.uncovered) == [1, 3, 4, 5]


def test_forgetting_what_a_summary_does_not_rest_on_keeps_it() -> None:
    conversation = talk(5)
    conversation.apply(summary_of(conversation, 3))
    conversation.hide([conversation.exchanges[4].id])

    assert conversation.summary is not None
    assert turns_of(conversation.uncovered) == [4]
