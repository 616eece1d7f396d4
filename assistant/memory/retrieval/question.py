"""Analyses a question for the search: whose words it asks for, which words to match, and which text
to encode.

Turns are in the first person. A question that names a speaker ("When did Maria join the choir?") is
rewritten in that speaker's voice ("When did I join the choir?"): sentence vectors are dominated by
names, and a speaker's name occurs mostly in other speakers' turns. For the same reason, the name is
not searched for; it only determines whose turns are preferred.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from assistant.language.sentences import WORD
from assistant.language.speakers import ASSISTANT, USER
from assistant.language.time_expressions import without_times

SHORTEST_NICKNAME = 3
"""Minimum number of letters of a nickname. The beginning of a speaker's name, such as Mel for
Melanie, means that speaker too; but not as the first word of a question, which is always
capitalised."""
FIRST_PERSON = re.compile(r"\b(i|my|me|mine|myself|we|our|us)\b", re.IGNORECASE)
ASSISTANT_DID = re.compile(
    r"\b(did|had|have|were) you\b"
    r"|\byou(?:'d|'ve| had| have)? (said|told|suggested|recommended|mentioned|gave|explained)\b",
    re.IGNORECASE,
)
BARE = 1
"""Maximum number of content words of a question that means nothing by itself: "how many?", "what
was the trick?"."""
MOST_OF_ITS_OWN = 3
"""Maximum number of content words of a question that may still refer to the previous one."""
LONGEST_EARLIER = 400
"""Maximum number of characters, at the end of the user's previous words, that are searched for."""
GOES_ON = re.compile(r"\W*(and|but|so|or|then|also|what about|how about)\b", re.IGNORECASE)
POINTS_BACK = re.compile(
    r"\b(he|she|it|they|him|her|his|hers|its|them|theirs?|there|that|this|those|these|ones?|again|"
    r"else|then|last time)\b",
    re.IGNORECASE,
)
NAME = re.compile(r"\w\W+(?!I\b)[A-Z]\w")
"""A capital within a sentence: somebody is named, and a pronoun may refer to them."""
ROLES = frozenset({USER, ASSISTANT})


@dataclass(frozen=True, slots=True)
class Question:
    """A question in the forms in which it is searched for."""

    text: str
    meaning: str
    """For the encoder: in the voice of the speaker it names, and without words for times, which
    would favour everything said about such times."""
    words: str
    """For the lexical index: without speakers' names."""
    speaker: str | None
    """The speaker whose turns it asks for, if it is about one speaker."""


def read_question(text: str, speakers: Iterable[str]) -> Question:
    """Analyse a question.

    Args:
        speakers: the speakers of all memories; pronouns mean the user and the assistant, and names
            mean others.
    """
    mentions = _mentions(text, [name for name in speakers if name and name not in ROLES])
    named = list(dict.fromkeys(mentions.values()))
    timeless = without_times(text)
    if not named:
        return Question(text, timeless, text, _by_pronoun(text))
    forms = {name: _form(name, mentions) for name in named}
    words = text
    for form in forms.values():
        words = re.sub(rf"\b{form}(?:['’]s?)?(?!\w)", " ", words)
    words = " ".join(words.split())
    return Question(
        text=text,
        meaning=_in_first_person(timeless, [forms[name] for name in named]),
        words=words if WORD.search(words) else text,
        speaker=named[0] if len(named) == 1 else None,
    )


def _mentions(text: str, names: list[str]) -> dict[str, str]:
    """Words of the text that mean a speaker, in order, with the speaker's name."""
    found = {}
    for place, word in enumerate(WORD.findall(text)):
        meant = [name for name in names if word in name.split()]
        if not meant and place and word[0].isupper():
            long = len(word) >= SHORTEST_NICKNAME
            meant = [name for name in names if long and name != word and name.startswith(word)]
        if len(meant) == 1:
            found[word] = meant[0]
    return found


def _form(name: str, mentions: dict[str, str]) -> str:
    """A pattern for every mention of this speaker in the text."""
    words = [re.escape(word) for word, meant in mentions.items() if meant == name]
    return rf"(?:{'|'.join(words)})"


def _in_first_person(text: str, forms: list[str]) -> str:
    """Replaces the first speaker named by "I", a second by "you", and both together by "we"."""
    pronouns = [("my", "I"), ("your", "you")]
    if len(forms) > 1:
        both = rf"\b(?:{forms[0]} and {forms[1]}|{forms[1]} and {forms[0]})"
        text = re.sub(rf"{both}['’]s?(?!\w)", "our", text)
        text = re.sub(rf"{both}\b", "we", text)
        forms = [form for form in forms if re.search(rf"\b{form}\b", text)]
    for form, (possessive, subject) in zip(forms, pronouns, strict=False):
        text = re.sub(rf"\b{form}['’]s?(?!\w)", possessive, text)
        text = re.sub(rf"\b{form}\b", subject, text)
    return text


def _by_pronoun(text: str) -> str | None:
    """The assistant if its own actions are asked for; the user if the question says "I"."""
    if ASSISTANT_DID.search(text):
        return ASSISTANT
    return USER if FIRST_PERSON.search(text) else None


@dataclass(frozen=True, slots=True)
class Earlier:
    """An exchange before the question: the user's words and the answer."""

    said: str
    answered: str = ""


def follows_up(text: str, content: Collection[str]) -> bool:
    """Whether a question can only be understood from what was said before: "and when is it?". Knows
    English pronouns; in other languages, a question with hardly any words of its own is a
    follow-up.

    Args:
        content: the stems of `text` without stop words.
    """
    own = len(set(content))
    if own <= BARE:
        return True
    if own > MOST_OF_ITS_OWN:
        return False
    return bool(GOES_ON.match(text) or (POINTS_BACK.search(text) and not NAME.search(text)))


def understood(question: Question, earlier: Earlier) -> Question:
    """A follow-up question that also searches for the user's previous words. Its `meaning` doesn't
    change: `question_vectors` adds the vectors of the previous exchange to its vector."""
    return replace(question, words=f"{earlier.said[-LONGEST_EARLIER:]} {question.words}")
