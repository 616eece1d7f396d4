import pytest

from assistant.context.conversation import Conversation, Exchange, Summary
from tests.support.context import NOW, say, summary_of, talk


def turns_of(exchanges: tuple[Exchange, ...]) -> list[int]:
    return [exchange.turn for exchange in exchanges]


def summary_id(conversation: Conversation) -> str | None:
    summary = conversation.summary
    return summary.id if summary is not None else None


def test_an_exchange_opens_with_the_users_words_and_closes_with_the_heard_answer() -> None:
    conversation = Conversation.begin("ada")
    opened = conversation.append_user(1, "Tell me a story.", NOW)
    closed = conversation.complete(1, " Once upon ", interrupted=True, ended=NOW)

    assert (opened.open, opened.assistant_text) == (True, "")
    assert not closed.open
    assert (closed.id, closed.user_text) == (opened.id, "Tell me a story.")
    assert (closed.assistant_text, closed.interrupted) == ("Once upon", True)
    assert conversation.exchanges == (closed,)
    with pytest.raises(LookupError, match="turn 1"):
        conversation.complete(1, "again")


def test_a_returned_tuple_of_exchanges_does_not_change_later() -> None:
    conversation = talk(2)
    before = conversation.exchanges
    copy = tuple(before)

    say(conversation, "more", "")
    conversation.hide([before[0].id])

    assert before == copy
    assert turns_of(conversation.exchanges) == [2, 3]


def test_a_late_answer_belongs_to_its_own_turn() -> None:
    conversation = Conversation.begin("ada")
    conversation.append_user(1, "one", NOW)
    conversation.append_user(2, "two", NOW)
    conversation.complete(1, "first")
    conversation.complete(2, "second")

    assert [each.assistant_text for each in conversation.exchanges] == ["first", "second"]


def test_a_summary_replaces_the_exchanges_that_it_covers() -> None:
    conversation = talk(5)
    assert conversation.apply(summary_of(conversation, 3))

    assert turns_of(conversation.uncovered) == [4, 5]
    assert turns_of(conversation.exchanges) == [1, 2, 3, 4, 5]


def test_an_outdated_or_incomplete_summary_is_refused() -> None:
    conversation = talk(5)
    conversation.append_user(6, "still going", NOW)
    forgotten, overtaken = summary_of(conversation, 3), summary_of(conversation, 1, "old")
    unfinished, empty = summary_of(conversation, 6), Summary("s", "Nothing.", (), NOW)
    conversation.hide([conversation.exchanges[1].id])

    assert not any(conversation.apply(each) for each in (forgotten, unfinished, empty))
    assert summary_id(conversation) is None
    assert conversation.apply(summary_of(conversation, 3, "new"))
    assert not conversation.apply(overtaken)
    assert summary_id(conversation) == "new"


def test_forgetting_a_source_drops_the_summary_and_shows_the_other_sources_again() -> None:
    conversation = talk(5)
    conversation.apply(summary_of(conversation, 3))
    conversation.hide([conversation.exchanges[4].id])
    assert summary_id(conversation) == "s", "the summary is not based on the hidden exchange"

    forgotten = conversation.exchanges[1].id
    assert conversation.hide([forgotten, "unknown"]) == {forgotten}
    assert summary_id(conversation) is None
    assert turns_of(conversation.uncovered) == [1, 3, 4]
