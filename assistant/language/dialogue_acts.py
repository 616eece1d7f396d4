"""Classifies a user's turn as a question, a courtesy, a lasting instruction or a statement."""

import re

from assistant.language.normalisation import content_words
from assistant.language.sentences import sentences
from assistant.language.word_lists import words_of

LONGEST_COURTESY = 6
"""Maximum number of words in a courtesy."""

_BE = (
    "am|is|are|was|were|do|does|did|have|has|had|can|could|should|will|would|may|shall|must|isn't"
    "|aren't|don't|doesn't|didn't|haven't|can't|won't"
)
_ASKS = re.compile(
    rf"^(?:(?:what|which|whose|how)(?! (?:i|we|he|she|they|it|my|a|an)\b)(?: \w+){{0,3}}? (?:{_BE})"
    rf"|(?:who|where|when|why) (?:{_BE})"
    r"|(?:what|who|where|when|how|why)(?:'s|'re|'d)"
    r"|what happened|who (?:gave|told|sent|called|won|wrote|made)"
    rf"|(?:{_BE}) (?:i|we|you|he|she|it|they|my|our|your|there|any(?:one|body|thing)?)"
    r"|(?:(?:please|can you|could you|would you) )*(?:tell me|remind me(?! to)|do you know"
    r"|do you remember|remember (?:what|who|where|when|how|which|whether|if)))\b",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^\W*(?:(?:oh|well|so|and|but|okay|ok|hey|hi|hello|um|uh|sorry|wait|by the way|then)\b"
    r"[\s,.:;!-]*)+",
    re.IGNORECASE,
)

FIRST_PERSON = re.compile(r"\b(i|my|me|mine|myself|we|our|ours|us)\b", re.IGNORECASE)
GOES_ON = re.compile(r"\W*(and|but|so|or|then|also|what about|how about)\b", re.IGNORECASE)
"""Matches the beginning of a question that refers to what was said before: "And tomorrow?"."""
WISHED = re.compile(
    r"(?:please )?(?:(?P<how>always|never|don't ever|from now on)\b,?(?: please)? "
    r"(?:give|use|speak|talk|answer|reply|respond|explain|call|read|keep (?:it|your|answers|the)|"
    r"shout|swear|whisper|wake|ask|interrupt|tell me|spell|pronounce|remind me|greet|address|round|"
    r"convert|translate|recommend|suggest|offer|say(?! never)|mention(?! it))\b"
    r"|(?P<stop>stop) (?:telling|calling|asking|giving|reminding) me\b"
    r"(?!.*\b(?:that|this|it|now|today)\b))",
    re.IGNORECASE,
)
"""Matches a lasting instruction about how to answer: "always answer in one sentence"."""


def is_question(text: str) -> bool:
    """Return whether a turn ends with a question or consists almost only of questions. English
    questions are recognised even without a question mark, because some speech recognisers omit
    it."""
    every = [each.text for each in sentences(text.replace("’", "'"))]
    if not every:
        return False
    if _question(every[-1]):
        return True
    stated = sum(len(each.split()) for each in every if not _question(each))
    return stated <= 2 and any(map(_question, every))


def _question(sentence: str) -> bool:
    asked = sentence.rstrip("\"”') ").endswith("?")
    return asked or _ASKS.match(_LEADING.sub("", sentence)) is not None


def is_courtesy(text: str) -> bool:
    """Return whether a turn is only a courtesy without a topic: "Thanks.", "OK, great."."""
    few = len(text.split()) <= LONGEST_COURTESY and not is_question(text)
    return few and words_of("words", "courtesy").issuperset(content_words(text))
