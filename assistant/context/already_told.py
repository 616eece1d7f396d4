"""Decides whether the assistant may have been told something that it can't know by itself.

"Where are my keys?" can be answered after "I put my keys in the blue bowl". If a model is told that
it can't know where the keys are, it says that it doesn't know, although its prompt contains the
answer.
"""

import re
from collections.abc import Iterable, Iterator

from assistant.language.dialogue_acts import GOES_ON, is_courtesy, is_question
from assistant.language.sentences import sentences
from assistant.language.stemming import TextAnalyzer

PASSING = (
    "today tomorrow tonight yesterday now moment morning afternoon evening night day week weekend "
    "monday tuesday wednesday thursday friday saturday sunday know think please "
    "like time much many long last next first still really actually ever yet soon sure chance "
    "say said tell told ask asked happen happened look see get got go going gone went come came "
    "want need thing anything something kind sort open put leave left find found take took make "
    "made keep let give"
)
"""Words that say nothing about the topic of a question: words for times, and words that only frame
a question ("What time …?", "Have you got …?")."""
_ASKED = re.compile(
    r"\b(?:asks?|asked|asking|wonders?|wondered|wondering|enquired|inquired|wants? to know|"
    r"wanted to know)\b",
    re.IGNORECASE,
)
"""Matches verbs with which a summary reports a question: "The user asked whether it will rain."."""
_DENIED = re.compile(
    r"\b(?:(?:do not|don't) know|(?:cannot|can not|can't) (?:know|tell|say|see|check|look)|"
    r"not (?:sure|able)|unable)\b",
    re.IGNORECASE,
)
"""Matches phrases that say that something isn't known: "I don't know whether it will rain."."""


def may_be_told(
    words: str,
    said: Iterable[str],
    answers: Iterable[str] = (),
    summary: str = "",
    *,
    beside: Iterable[str] = (),
    about_user: bool = False,
) -> bool:
    """Return whether a statement shares a word with the question in `words`, regardless of endings.
    All texts are English. Common words don't count, and questions don't count as statements. If the
    question consists of common words, or refers to what was said before ("And how long would that
    take me?"), any statement may answer it.

    If the question is `about_user`, any statement of the user in this conversation may answer it:
    "I work as a nurse" shares no word with "What's my job?".

    Args:
        words: the newest words. Besides the question, they may contain statements. If no sentence
            is a question, the last one counts as the question.
        said: what the user said before.
        answers: what the assistant said. Sentences in which it says "I don't know" don't count.
        summary: summary of earlier exchanges. Sentences that report questions don't count.
        beside: other texts in the prompt that contain what the user said.
    """
    lexicon = TextAnalyzer("en")  # a new one each time, because it keeps the words that it has seen
    newest = [each.text for each in sentences(words, semicolons=True)]
    asked = [each for each in newest if is_question(each)] or newest[-1:]
    topic = {*lexicon.content(" ".join(asked))} - {*lexicon.content(PASSING)}
    anything = not topic or any(map(GOES_ON.match, asked))
    own = [*(each for each in newest if each not in asked), *_stated(said)]
    if about_user and not all(map(is_courtesy, own)):
        return True
    told = (
        *own,
        *_stated(beside),
        *(each for each in _stated(answers) if not _DENIED.search(each.replace("’", "'"))),
        *(each for each in _stated([summary]) if not _ASKED.search(each)),
    )
    return any(anything or not topic.isdisjoint(lexicon.content(each)) for each in told)


def _stated(texts: Iterable[str]) -> Iterator[str]:
    """Yield the sentences that aren't questions. A semicolon also ends a sentence: in a form's
    state, it separates what is filled in from the next question."""
    for text in texts:
        parts = sentences(text, semicolons=True)
        yield from (each.text for each in parts if not is_question(each.text))
