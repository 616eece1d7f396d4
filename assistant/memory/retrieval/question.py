"""Analyses a question for the search: whose statements it asks for, which words to match, and which
text to encode.

Statements are in the first person. A question that names a speaker ("When did Maria join the
choir?") is therefore rewritten in that speaker's voice ("When did I join the choir?"). Otherwise
the name would dominate the question's vector, and a speaker's name occurs mostly in other speakers'
statements. For the same reason the name is not matched as a word. It only decides whose statements
get a bonus.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from assistant.language.dialogue_acts import FIRST_PERSON, GOES_ON
from assistant.language.sentences import WORD
from assistant.language.speakers import ASSISTANT, USER
from assistant.language.time_expressions import without_times

SHORTEST_NICKNAME = 3
"""Minimum number of letters of a nickname. A nickname is the beginning of a speaker's name, e.g.
Mel for Melanie. The first word of a question is never taken for a nickname, because it is always
capitalised."""
_SAID = (
    r"(?:said|told|suggested|recommended|mentioned|explained|advised|proposed|gave|given|wrote|"
    r"written|listed|answered|replied|promised|came up with)"
)
_SAY = (
    r"(?:say|tell|suggest|recommend|mention|explain|advise|propose|give|write|list|answer|reply|"
    r"promise|come up with|(?:say|tell|suggest|recommend|mention|explain)ing)"
)
ASSISTANT_DID = re.compile(
    rf"\b(?:did|had|have|were) you (?:just |ever |already )?(?:{_SAY}|{_SAID})\b"
    rf"|\byou(?:'d|'ve| had| have| just)? {_SAID}\b"
    r"|\byour (?:suggestion|recommendation|advice|answer|reply|explanation|idea|tip|recipe|story|"
    r"joke|poem|list)s?\b",
    re.IGNORECASE,
)
"""Matches words that ask for something that the assistant said: "What did you suggest?"."""
BARE = 1
"""Maximum number of content words of a question that means nothing by itself, e.g. "how many?" or
"what was the trick?"."""
MOST_OF_ITS_OWN = 3
"""Maximum number of content words of a question that may still refer to the previous exchange."""
LONGEST_EARLIER = 400
"""Maximum number of characters of the user's previous words that are added to the words to match.
They are taken from the end."""
POINTS_BACK = re.compile(
    r"\b(he|she|it|they|him|her|his|hers|its|them|theirs?|there|that|this|those|these|ones?|again|"
    r"else|then|last time)\b",
    re.IGNORECASE,
)
NAME = re.compile(r"\w\W+(?!I\b)[A-Z]\w")
"""Matches a capitalised word within a sentence. It may be a name that a pronoun in the question
refers to."""
ROLES = frozenset({USER, ASSISTANT})


@dataclass(frozen=True, slots=True)
class Question:
    """A question in the forms that the search needs."""

    text: str
    meaning: str
    """The text to encode. It is in the voice of the named speaker. Expressions of time are removed,
    because they would favour everything said about such times."""
    words: str
    """The text for the lexical index, without speakers' names."""
    speaker: str | None
    """The speaker whose statements the question asks for; None unless there is exactly one."""


def read_question(text: str, speakers: Iterable[str]) -> Question:
    """Analyse a question.

    Args:
        speakers: the speakers of all memories. The user and the assistant are recognised by
            pronouns, all others by their names.
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
    """Return the words of the text that refer to a speaker, in order, each with the speaker's
    name."""
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
    """Return a pattern that matches every mention of this speaker in the text."""
    words = [re.escape(word) for word, meant in mentions.items() if meant == name]
    return rf"(?:{'|'.join(words)})"


def _in_first_person(text: str, forms: list[str]) -> str:
    """Replace mentions of the first speaker by "I", of the second by "you", and of both together by
    "we".

    Args:
        forms: patterns that match the mentions of each speaker.
    """
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
    """Return the assistant if the question asks what the assistant did; the user if it contains "I"
    or another first-person pronoun; otherwise None."""
    if ASSISTANT_DID.search(text):
        return ASSISTANT
    return USER if FIRST_PERSON.search(text) else None


@dataclass(frozen=True, slots=True)
class Earlier:
    """An exchange before the question: the user's words and the assistant's answer."""

    said: str
    answered: str = ""


def follows_up(text: str, content: Collection[str]) -> bool:
    """Return whether a question can only be understood together with the previous exchange, e.g.
    "and when is it?".

    A question with at most `BARE` content words is a follow-up. So is an English question with at
    most `MOST_OF_ITS_OWN` of them, if it begins with a word like "and", or contains a word like
    "it" and no name.

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
    """Return a follow-up question with the user's previous words added to the words to match. The
    text to encode stays the same: instead, `question_vectors` combines its vector with those of the
    previous exchange."""
    return replace(question, words=f"{earlier.said[-LONGEST_EARLIER:]} {question.words}")
