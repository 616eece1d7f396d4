"""Finds what the assistant has proposed, so that the user's "yes" can refer to it. English only."""

import re
from typing import NamedTuple

from assistant.language.sentences import sentences

LONGEST = 10
"""Maximum number of words of a proposal."""
LOOKED_AT = 2
"""Number of sentences at the end of an answer that may contain the proposal."""
_SHALL = r"(?:so,? |then,? |okay,? |great,? |and )*(?:shall|should)"
_TENTATIVE = (
    r"(?:just )?(?:say|go (?:with|for)|make it|plan (?:for|on)|put down|pencil in|note(?: down)?"
    r"|aim for|settle on|write down|keep|stick (?:with|to))"
)


def _endings(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"{each}[\s?.!]*$", re.IGNORECASE) for each in patterns)


_PLANS = _endings(
    rf"{_SHALL} (?:we|i) {_TENTATIVE} (?P<what>.+?)(?:,? then)?",
    r"(?:so,? |okay,? )?(?:let's (?:say|go (?:with|for)|make it)) (?P<what>.+?)",
    r"(?:so,? |okay,? )(?P<what>.+?),? (?:then|right|correct|yes)",
)
_OFFERS = _endings(
    rf"{_SHALL} we (?P<what>.+?)(?:,? then)?",
    r".*?\b(?:how|what) about (?P<what>.+?)(?: then| instead)?",
    r".*?\bwould (?P<what>.+?) (?:work|suit you|be (?:okay|ok|good|fine|all right|better|best))"
    r"(?: for you)?",
    r".*?\bdoes (?P<what>.+?) (?:work|suit you|sound (?:okay|ok|good|right|fine))(?: for you)?",
    r"(?:so,? )?is (?P<what>.+?) (?:okay|ok|fine|good|all right|right)(?: (?:with|for) you)?",
    r".*?\b(?:do you want|would you like|would you prefer|would you rather)(?: to)?"
    r" (?P<what>.+?)(?:,? then)?",
    r".*?\bwhy don't (?:we|you) (?P<what>.+?)",
    r".*?\b(?:i'd|i would) (?:suggest|recommend|propose)(?: that you)? (?P<what>.+?)",
)
"""Match offers that may also have nothing to do with a plan: "Would you like a joke?"."""
_STATED = _endings(
    r"(?:or |perhaps |maybe |and )?(?P<what>.+?) (?:could|would|might) (?:also )?(?:work|do|fit"
    r"|replace (?:it|that|them)|suit you|be (?:nice|good|great|lovely|an option|perfect|fun))"
    r"(?: (?:well|too|there|instead|for (?:you|that)))?",
    r"(?:then |perhaps |maybe )?(?:you|we) (?:could|can|might)(?: also)? (?P<what>.+)",
)
"""Match statements that count as proposals if the user accepts them: "let's do that"."""
_TAKES_UP = re.compile(
    r"\b(?:let's do (?:that|it|this)|we'll do that|good idea|great idea|i like (?:that|it)"
    r"|go for it"
    r"|sounds (?:good|great|perfect|lovely))\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:or|what|which|who|where|when|how|why|me|more|anything|something|else|this|that|it|them"
    r"|those"
    r"|other|start|begin|talk|discuss|look|see|think|consider|explore|move|go (?:on|through|over)"
    r"|continue|find|search|list|hear|know|help|tell|plan|decide|choose|add|narrow|focus)\b",
    re.IGNORECASE,
)
"""Matches a proposal that is too open for a "yes" to settle anything."""
_YES = re.compile(
    r"(?:(?:oh|ooh|well|um|uh|hm+|ah)\W+)*(?:yes|yeah|yep|yup|sure(?: thing)?|okay|ok"
    r"|(?:perfect|great|lovely|fine|excellent|brilliant|wonderful)(?=\s*(?:[,.!;:–—]|$))"
    r"|agreed|absolutely|definitely|of course|exactly|deal|alright|all right|please do"
    r"|good idea|(?:that|it|this)(?: one)?(?:'s| is| sounds| works| would be|'d be| suits)"
    r"(?: (?:just|really|fine|good|great|perfect|lovely|right|okay|ok|me|us|for|with|by|ideal"
    r"|a good idea|a plan))*"
    r"|(?:sounds|works)(?: (?:good|great|perfect|lovely|fine|for|me|us|right|like a plan))*"
    r"|let's do (?:that|it|this)|we'll do that|i'd like that|go for it|put that down)"
    r"(?=\W|$)",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?:(?:oh|well|um|uh|hm+|ah)\W+)*(?:no|nope|nah|(?:i'd )?rather not|i don't (?:think|want)"
    r"(?: (?:so|that|it))?|not (?:really|that one|that)|no thanks?|no thank you)(?=\W*$|\s*[,.;!])",
    re.IGNORECASE,
)
_BREAK = re.compile(r"[\s,.;:!–—-]+")


class Proposed(NamedTuple):
    """What an answer proposes. `plans` is set if the words alone show that the proposal is about a
    plan."""

    what: str
    plans: bool


def proposed(answer: str, said: str = "") -> Proposed | None:
    """Return the one thing that the end of an answer proposes, if any.

    Args:
        said: the user's reply. If it accepts something ("let's do that"), a statement may also be a
            proposal.

    >>> proposed("It's quieter then. Shall we say Tuesday?")
    Proposed(what='Tuesday', plans=True)
    """
    ends = [each.text.replace("’", "'") for each in sentences(answer)][-LOOKED_AT:]
    asked = [each for each in ends if each.endswith("?")] or ends
    takes_up = _TAKES_UP.search(said.replace("’", "'")) is not None
    for sentence in reversed(asked):
        for pattern in (*_PLANS, *_OFFERS, *(_STATED if takes_up else ())):
            if found := pattern.match(sentence):
                what = found["what"].strip(" ,.!?").removesuffix(" too")
                fits = 0 < len(what.split()) <= LONGEST and not _OPEN.search(what)
                return Proposed(what, pattern in _PLANS) if fits else None
    return None


def asks(answer: str) -> str:
    """Return the last question in an answer's last two sentences; empty if there is none."""
    ends = [each.text for each in sentences(answer)][-LOOKED_AT:]
    return next((each for each in reversed(ends) if each.rstrip("\"”') ").endswith("?")), "")


def stated(answer: str) -> str:
    """Return an answer without its questions."""
    every = [each.text for each in sentences(answer)]
    return " ".join(each for each in every if not each.rstrip("\"”') ").endswith("?"))


def agreement(said: str) -> tuple[bool | None, str]:
    """Return whether an utterance begins with a yes or a no, and what follows. None means
    neither or both.

    >>> agreement("Yes, but in the evening.")
    (True, 'but in the evening.')
    """
    text, means = said.replace("’", "'").strip(), None
    while True:
        yes, no = _YES.match(text), _NO.match(text)
        found = yes or no
        if found is None or not found.group():
            return means, text
        if means is None:
            means = yes is not None
        elif means is not (yes is not None):
            return None, text
        rest = text[found.end() :]
        text = rest[gap.end() :] if (gap := _BREAK.match(rest)) else rest
