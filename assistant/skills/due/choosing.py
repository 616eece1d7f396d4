"""Asks the user which of several timers, alarms or reminders they mean."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

from assistant.language.stemming import TextAnalyzer
from assistant.skills.due.due_words import MOST
from assistant.skills.skill import Choice, Reply
from assistant.state import Entry

Act = Callable[[Sequence[Entry]], Awaitable[Reply]]
"""Does something with these entries."""
LEFT_AS_IS = "All right, I'll leave it as it is."


async def which(
    found: Sequence[Entry], names: Sequence[str], act: Act, *, every: bool = False
) -> Reply:
    """Act on all entries if `every` is set or they share one name. Otherwise, ask which is meant.

    Args:
        found: the entries that may be meant, likeliest first; at least one.
        names: the name of each entry in the question. Entries with the same name are offered as one
            choice.
        every: whether the user asked to act on all of them.
    """
    alike: dict[str, list[Entry]] = {}
    for name, each in zip(names, found, strict=True):
        alike.setdefault(name, []).append(each)
    if every or len(alike) == 1:
        return await act(found)
    offered = list(alike.items())[:MOST]
    choices = [Choice(name, partial(act, some)) for name, some in offered]
    *first, last = [name for name, _ in offered]
    text = f"Which one: {', '.join(first)}, or {last}?"
    return Reply(text, if_no=LEFT_AS_IS, choices=(*choices, Choice("", partial(act, found))))


def called(
    found: Collection[Entry], said: str, texts: Callable[[Entry], str]
) -> tuple[list[Entry], bool]:
    """Return the entries whose text contains all content words of `said`, and True. If there are
    none, return the entries that contain some of the words, and False: the user may mean something
    else."""
    lexicon = TextAnalyzer("en")
    wanted = lexicon.content_and_numbers(said)
    have = {each.id: lexicon.content_and_numbers(texts(each)) for each in found}
    whole = [each for each in found if wanted and wanted <= have[each.id]]
    if whole:
        return whole, True
    return [each for each in found if wanted & have[each.id]], False
