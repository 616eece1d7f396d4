"""Finds what "that" refers to, in "forget that" and in "that's wrong".

If a reply to a command has named memories since the last turn, "that" refers to those memories.
Otherwise, after a statement by the user, "that" refers to the statement. After a question, it
refers to the sources of the answer (`attribution`), because the answer showed that the assistant
still knows them. If the answer wasn't based on any memory or earlier turn (e.g. the model made it
up, or said that it didn't know), "that" refers to the user's statement on the question's subject,
if there is one. "Forget that" also forgets the question.

All functions are pure.
"""

from collections.abc import Sequence

from assistant.language.dialogue_acts import is_courtesy, is_question
from assistant.language.normalisation import content_words
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.answer_origins import (
    AnsweredTurn,
    AnswerTracer,
    Everything,
    Things,
    existing,
)
from assistant.memory.forgetting.selection import ForgetPlan, planned
from assistant.memory.records.memory import Memory, MemoryKind

MOST_ASKED = 3
"""Maximum number of remembered statements from which the user is asked to choose."""
COURTESIES = 2
"""Maximum number of exchanges like "Thanks." "You're welcome." that are skipped to find the
exchange that "that" refers to.
"""


def that(
    last: Sequence[AnsweredTurn], everything: Everything, lexicon: TextAnalyzer
) -> ForgetPlan | None:
    """Return the plan for "forget that"; None if nothing has been said.

    Args:
        last: the turns of the running conversation that were in the prompt, oldest first.
    """
    turns = [turn for turn in last if turn.exchange.user_text.strip()]
    if not turns:
        return None
    place = _meant_turn(turns)
    trace = AnswerTracer(turns, everything, lexicon)
    if is_question(turns[place].exchange.user_text):
        return _of_question(turns, place, everything, lexicon)
    trace.take_exchange(turns[place].exchange)
    return _traced(trace, turns, place, everything)


def named(
    things: Things, last: Sequence[AnsweredTurn], everything: Everything, lexicon: TextAnalyzer
) -> ForgetPlan | None:
    """Return the plan for "forget that" after a reply that has named these things; None if none of
    them exists any more. If only a few still exist, each is an alternative.

    Args:
        last: as for `that`.
    """
    left = existing(things, last, everything)
    plans = []
    for some in [[each] for each in left] if len(left) <= MOST_ASKED else [left]:
        trace = AnswerTracer(last, everything, lexicon)
        for thing in some:
            trace.take_named(thing)
        plans.append(_traced(trace, last, len(last), everything))
    found = [plan for plan in plans if plan is not None]
    return found[0] if len(found) == 1 else _either(found)


def _of_question(
    turns: Sequence[AnsweredTurn], place: int, everything: Everything, lexicon: TextAnalyzer
) -> ForgetPlan | None:
    """Return the plan for the answer to the question in the turn at index `place`.

    The plan forgets what the answer was based on. If the user asked about something that is
    remembered, but the answer was not based on it, the plan forgets what was asked about. If
    neither is certain, the plan has alternatives.
    """
    trace = AnswerTracer(turns, everything, lexicon)
    answered = trace.follow(place)
    asked, sure = trace.asked_about(place)
    plans = [_traced(trace, turns, place, everything)] if answered else []
    if not (answered and (not sure or any(map(trace.has, asked)))):
        each_once = {content_words(source.text): source for source in reversed(asked)}
        for source in list(reversed(each_once.values()))[:MOST_ASKED]:
            only = AnswerTracer(turns, everything, lexicon)
            only.take(place, [each for each in asked if _same(each.text, source.text)])
            plans.append(_traced(only, turns, place, everything))
    if not answered and not (asked and sure):
        trace.take_exchange(turns[place].exchange)
        plans.append(_traced(trace, turns, place, everything))
    found = [plan for plan in plans if plan is not None]
    return found[0] if len(found) == 1 else _either(found)


def _traced(
    trace: AnswerTracer, turns: Sequence[AnsweredTurn], place: int, everything: Everything
) -> ForgetPlan | None:
    """Return the plan that forgets what a tracer has collected, and the turns from index
    `place`."""
    gone = trace.exchanges | {turn.exchange.id for turn in turns[place:]}
    gone |= trace.echoes(gone)
    said = [turn.exchange for turn in turns]
    return planned(gone, trace.memories, trace.things, everything, said)


def _same(one: str, two: str) -> bool:
    return content_words(one) == content_words(two)


def _either(plans: Sequence[ForgetPlan]) -> ForgetPlan | None:
    """Return a plan that combines these plans and has each of them as an alternative."""
    if not plans:
        return None
    items = tuple(dict.fromkeys(item for plan in plans for item in plan.items))
    return ForgetPlan(
        exchanges=tuple(dict.fromkeys(key for plan in plans for key in plan.exchanges)),
        memories=tuple(dict.fromkeys(key for plan in plans for key in plan.memories)),
        items=items,
        count=len(items),
        alternatives=tuple(plans),
    )


def told(
    last: Sequence[AnsweredTurn], everything: Everything, lexicon: TextAnalyzer
) -> list[Memory]:
    """Return the user's statement in the last turn. If that turn was a question, return the
    statements that its answer was based on or, if there are none, should have been based on.

    Args:
        last: as for `that`.
    """
    turns = [turn for turn in last if turn.exchange.user_text.strip()]
    if not turns:
        return []
    place = _meant_turn(turns)
    meant = turns[place].exchange
    trace = AnswerTracer(turns, everything, lexicon)
    keys = {meant.id}
    if is_question(meant.user_text):
        if not trace.follow(place):
            asked, sure = trace.asked_about(place)
            trace.take(place, asked if sure else ())
        keys = trace.exchanges
    used = [each.id for each in turns[place].used]
    found = [
        memory
        for memory in everything.values()
        if memory.speaker == USER
        and memory.kind is not MemoryKind.SUMMARY
        and memory.superseded_by is None
        and not is_question(memory.text)
        and (
            memory.id in trace.memories
            or (memory.kind is MemoryKind.EXCHANGE and not keys.isdisjoint(memory.sources))
        )
    ]
    return sorted(found, key=lambda each: used.index(each.id) if each.id in used else len(used))


def _meant_turn(turns: Sequence[AnsweredTurn]) -> int:
    """Return the index of the newest turn that isn't just a courtesy.

    Returns the newest turn's index if the last few are all courtesies.
    """
    for back in range(min(COURTESIES + 1, len(turns))):
        place = len(turns) - 1 - back
        if not is_courtesy(turns[place].exchange.user_text):
            return place
    return len(turns) - 1
