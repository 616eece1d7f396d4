"""The spoken replies about forgetting, before and after a plan is carried out.

Afterwards, a reply describes only results: the items that were hidden, or that an undo restored.
"""

from collections.abc import Iterable, Iterator, Sequence

from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.dialogue_acts import is_question
from assistant.language.second_person import spoken_phrase, spoken_topic
from assistant.language.speakers import ASSISTANT, USER
from assistant.language.word_lists import listed as listed_words
from assistant.memory.forgetting.answer_origins import ToldItem, thing_of
from assistant.memory.forgetting.executor import UndoResult
from assistant.memory.forgetting.selection import ForgetPlan
from assistant.memory.records.memory import Memory

NAMED = 3
"""Maximum number of items that a reply lists one by one."""
NOTHING = "There is nothing to forget."
NOTHING_ABOUT = "I don't know anything about that."  # logged, so it doesn't name the topic
NOTHING_SAID = "Nothing has been said yet."
NOTHING_THEN = "Nothing was said or written down in that time."
NOTHING_TO_UNDO = "There is nothing left to bring back."
KEPT = "All right, I won't forget anything."
WHICH_TIME = "I'm not sure which time you mean, so I haven't forgotten anything."
THIS_CONVERSATION = "this conversation"
SHALL_UNDO = "Shall I bring back what I forgot last?"
UNCLEAR = "I'm not sure what you want me to forget."
NOT_NOTED = "I've forgotten that for now, but it may come back after a restart: "


def question(plan: ForgetPlan, *, english: bool = True) -> str:
    """Return the question that the assistant asks before a plan is carried out."""
    if plan.everything:
        return f"That's everything I know about you: {counted(plan.count)}. Forget it all?"
    return f"{_contents(plan, english=english)} Forget {_it(plan.count, all_=True)}?"


def doubt(plan: ForgetPlan, what: str, *, english: bool = True) -> str:
    """Return a reply that ends by asking whether the user means this plan at all.

    Args:
        what: a phrase for what the user asked to forget; may be empty.
    """
    if plan.everything:
        return f"That's everything I know about you: {counted(plan.count)}. Shall I forget it all?"
    phrases = _phrases(plan.items, english=english)
    if what:
        contents = f"{_contents(plan, english=english)} " if plan.count > 1 else ""
        return f"{contents}Shall I forget {what}?"
    if plan.count == 1 and phrases:
        return f"Shall I forget this: {phrases[0]}?"
    return f"{_contents(plan, english=english)} Shall I forget {_it(plan.count, all_=True)}?"


def either(names: Sequence[str]) -> str:
    """Return a question that asks which of these the user means."""
    return f"Which of these do you mean: {'; '.join(names[:-1])}; or {names[-1]}?"


def listed(plan: ForgetPlan, *, english: bool = True) -> str:
    """Return a phrase for the contents of a plan."""
    return _named_or_counted(plan.items, plan.count, english=english)


def told_about(topic: str, *, english: bool = True) -> str:
    return f"what you told me about {spoken_topic(topic, english=english)}"


def said_then(when: str) -> str:
    """Return a phrase for what was said in a period. `when` is the user's name for the period.

    >>> said_then("the last ten minutes")
    'what was said in the last ten minutes'
    """
    words = " ".join(when.split()).strip(" .,!?;:").split()
    first = words[0].lower() if words else ""
    name = first.capitalize()
    if name in (*WEEKDAYS, *MONTHS):
        words[0], place = name, "on " if name in WEEKDAYS else "in "
    elif first in _TIME_WORDS:
        words[0], place = first, "in " if first in ("the", "these", "those") else ""
    else:
        words, place = ["that", "time"], "in "
    return f"what was said {place}{' '.join(words)}"


def forgotten(plan: ForgetPlan, *, undoable: bool, english: bool = True) -> str:
    """Return the reply after a plan has been carried out."""
    what = _named_or_counted(plan.items, plan.count, english=english)
    return f"Forgotten: {_ended(what)}" + (
        f" Say undo to keep {_it(plan.count)}." if undoable else ""
    )


def brought_back(result: UndoResult | None, *, english: bool = True) -> str:
    """Return the reply after an undo. It lists the restored items, or gives their number if there
    are many."""
    if result is None:
        return NOTHING_TO_UNDO
    ids = {each.id for each in result.exchanges}
    items = [ToldItem(each.user_text, USER, each.started) for each in result.exchanges]
    items += [thing_of(each) for each in result.memories if ids.isdisjoint(each.sources)]
    items.sort(key=lambda each: each.when, reverse=True)
    if not items:
        return NOTHING_TO_UNDO
    return f"Brought back: {_ended(_named_or_counted(items, len(items), english=english))}"


def known(topic: str | None, found: Sequence[Memory], *, english: bool = True) -> str:
    """Return the answer to e.g. "what do you know about my dog". It gives the number of known
    things and lists the newest.

    Args:
        topic: None stands for the user.
        found: the memories about the topic, newest first.
    """
    what = "you" if topic is None else spoken_topic(topic, english=english)
    told: dict[tuple[str, str], ToldItem] = {}
    for each in stated(found):
        told.setdefault((each.text, each.speaker), each)
    if not told:
        return f"I don't remember anything about {what}."
    # Phrasing is slow, and there may be many thousands of memories, so only a few are phrased.
    things: list[str] = []
    count = len(told)
    for each in told.values():
        phrase, *_ = _phrases([each], english=english)
        if phrase in things:
            count -= 1
        elif len(things) == NAMED:
            break
        else:
            things.append(phrase)
    named = _ended("; ".join(things))
    newest = ". The most recent" if count > NAMED else ""
    return f"I remember {counted(count)} about {what}{newest}: {named}"


def stated(found: Iterable[Memory]) -> Iterator[ToldItem]:
    """Yield the things that `known` counts."""
    for each in found:
        if each.superseded_by is None and each.speaker != ASSISTANT and not is_question(each.text):
            yield thing_of(each)


def counted(count: int) -> str:
    return "one thing" if count == 1 else f"{count} things"


# -- inside -------------------------------------------------------------------------------------

_TIME_WORDS = frozenset(
    listed_words(
        "the these those this last yesterday today tonight since from between before on in"
    )
)
"""Words, besides weekdays and months, that may begin a phrase for a period. Any other phrase is
replaced with "that time"."""


def _contents(plan: ForgetPlan, *, english: bool) -> str:
    """Return a sentence that names the contents of a plan."""
    named = _named(plan.items, english=english)
    if not named:
        return f"That's {counted(plan.count)}."
    newest = "; the most recent" if len(plan.items) > NAMED else ""
    return f"That's {counted(plan.count)}{newest}: {_ended(named)}"


def _it(count: int, *, all_: bool = False) -> str:
    return "it" if count == 1 else "them all" if all_ else "them"


def _named_or_counted(items: Sequence[ToldItem], count: int, *, english: bool) -> str:
    """Return phrases for all items if there are only a few; otherwise their number."""
    phrases = _phrases(items, english=english) if count <= NAMED else []
    return "; ".join(phrases) if phrases and (count == 1 or len(phrases) > 1) else counted(count)


def _named(items: Sequence[ToldItem], *, english: bool) -> str:
    """Return phrases for all items if there are only a few; otherwise a phrase for the newest."""
    return "; ".join(_phrases(items if len(items) <= NAMED else items[:1], english=english))


def _phrases(items: Sequence[ToldItem], *, english: bool) -> list[str]:
    spoken = (spoken_phrase(each.text, each.speaker, english=english) for each in items)
    return list(dict.fromkeys(spoken))


def _ended(text: str) -> str:
    return text if text.endswith("…") else f"{text}."
