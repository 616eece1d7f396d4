"""Finds what the user's words may settle of a task, in the user's own words. English only.

What is only considered, asked, reported or said of other people settles nothing. The assistant's
words count only as what a "yes" or a "no" refers to.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assistant.language.dialogue_acts import is_courtesy
from assistant.language.normalisation import content_words
from assistant.memory import is_private, says_unknown
from assistant.tasks.clauses import Clause, clauses
from assistant.tasks.proposals import agreement, asks, proposed
from assistant.tasks.subjects import names_part, subjects

MOST_WORDS = 14
"""Number of words from which a line is cut at the border of a clause."""
LONGEST_ANSWER = 12
"""Maximum number of words of an answer without a verb: "four nights, from the third of May"."""
LONGEST_CONTINUATION = 8
MOST = 6
"""Maximum number of lines from one utterance."""

_WE = r"(?:we|i|you and i)"
_LET = re.compile(
    r"(?:let's|lets|let us|we should(?: definitely)?|we must)\s+(?!(?:see|talk|think|look|start|begin|move"
    r"|come back(?! (?:on|at|by|from)\b)|go (?:on|back|through|over)\b(?! (?:on |the |a )?\w*(?:day|th|st|nd|rd)\b)|go$|go then$"
    r"|continue|discuss|wait|leave (?:it|that|this)|plan\b|hear|not (?:decide|worry|talk|forget)|do"
    r" (?:this|that|it)\b|get (?:started|going|back)|try to|say (?:that|it)|be (?:honest|real)"
    r"|hope|face it|keep going|focus|take (?:a (?:break|look|step)|it|that|stock)|have a look"
    r"|check|find out|work on|recap|summari[sz]e|stop|pause|call it a day|get (?:to|on with)"
    r"|deal with|sort out|figure)\b)(?P<rest>.+)",
    re.IGNORECASE,
)
_TENTATIVE = re.compile(
    r"(?:just )?(?:say|go (?:with|for)|make (?:it|that)|stick (?:with|to)|settle (?:on|for)"
    r"|do (?=the\b|an?\b|it on\b|\d|\w+day\b)|call it|plan (?:on|for)|aim for|keep it (?:to|at)"
    r"|put (?:it|that) (?:on|at)|move it to|change (?:it|that) to|have (?=it on\b))\s*",
    re.IGNORECASE,
)
"""Matches verbs that add nothing to what is settled."""
_WILL = re.compile(
    rf"{_WE}(?:'ll| will|(?:'re| are|'m| am) (?:definitely |only |all |both )?(?:going to|gonna|planning to|aiming to)"
    r"(?! (?:see|think|check|ask|look|need to))) (?P<rest>(?!see\b|think|ask\b|check\b|look\b|let you|be"
    r" (?:right|back|there in)|call you|talk|tell|get back|find out|come back|leave (?:it|that) (?:at|there|to)"
    r"|have to (?:think|see|check|ask)|wait|decide|need to (?:think|check)|try to|sleep on).+)",
    re.IGNORECASE,
)
_DONE = re.compile(
    rf"{_WE}(?:'ve| have)?(?: just| already| now| all| both| finally)* "
    r"(?:(?:decided|agreed|settled|opted)(?: (?P<on>on|to|for|that))? (?P<rest>.+)"
    r"|(?P<kept>(?:booked|reserved|bought|ordered|invited|picked|chosen|chose|hired|rented|paid for"
    r"|sent out|set aside|asked) .+))",
    re.IGNORECASE,
)
_GOING = re.compile(
    rf"{_WE}(?:'re|'m| are| am) (?P<rest>(?:not )?(?!going\b(?! (?:by|on|with|for|in|from|there|away|via)\b)"
    r"|thinking|wondering|considering|looking|trying|hoping|having trouble|not|being|getting (?:tired"
    r"|hungry|late)|kidding|joking|asking|saying|talking|sitting|standing|waiting|feeling|running|planning"
    r" (?:a|the|my|our)\b|worrying|dying|starving|wanting|doing (?:well|fine|great|okay)|struggling)"
    r"\w+ing\b.*)",
    re.IGNORECASE,
)
_WANT = re.compile(
    rf"{_WE}(?:'d| would| do| really| just| only| also| still| definitely| both| all)* (?P<rest>"
    r"(?:(?:don't|do not|won't|can't|cannot)(?: really)? (?:want|need|take|do|have|fly|drive|eat|drink"
    r"|stay|go|like|spend|go over|bring|invite|use|leave|start)|rather|prefer|want|need|have to|must|like|love"
    r"|go (?:for|with)|take|choose|vote for)\b(?! (?:to (?:think|know|ask|go$|check|see|talk|say|sleep|hear (?:your|about|what|more|from)"
    r"|decide|plan|go (?:to (?:bed|sleep)|now))|a (?:coffee|break|minute|moment|second|drink|nap|hand)"
    r"|some (?:time|help|advice|ideas)|ideas|help|your|any ideas|that|it|this|help)\b).+)",
    re.IGNORECASE,
)
_FAVOURS = re.compile(r"(?:go (?:for|with)|rather|choose|vote for)\s+", re.IGNORECASE)
_HAVE = re.compile(
    rf"(?P<rest>{_WE}(?:'ve got| have(?: got)?|'ve only got|'re| are|'ll be| can (?:spend|only))"
    r" (?:about |around |only |up to |at most |just |exactly |a budget of )*"
    r"(?:\S*\d|an? (?:budget|hundred|thousand|week|fortnight|dozen|couple)|\w+ (?:hundred|thousand)"
    r"|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty)\b).*)",
    re.IGNORECASE,
)
_IS = re.compile(
    r"(?P<what>(?:(?:the|our|my|this|that|his|her|their|its|a|an|all|everyone|everybody|it|there|people"
    r"|guests)\b[\w' -]{0,40}?|[a-z]+))(?:'s|'ll be| is| are| will| has to| have to| needs? to| must| should"
    r"|'s got to| can't| starts?| leaves?| begins?| ends?| costs?)(?P<rest>\b.+)",
    re.IGNORECASE,
)
_COMPLAINS = re.compile(
    r" (?:too|so|very|really|no|not (?:that|very|so)|quite|a bit)\b", re.IGNORECASE
)
_PERSON = re.compile(
    r"(?:he|she|they|somebody|someone|people|(?:my|our|his|her) (?:mum|mom|mother|dad|father|brother|sister"
    r"|wife|husband|partner|boyfriend|girlfriend|friends?|neighbours?|neighbors?|colleagues?|boss|cousins?"
    r"|aunt|uncle|son|daughter|parents|gran\w*|kids|children|flatmate|roommate|in-laws|mates?)|(?!We\b|It\b|Let\b|That\b|This\b|There\b|The\b|What\b|Here\b)[A-Z][a-z]+(?= (?:is|are|was"
    r"|has|wants|will|likes|and [A-Z]\w+ (?:are|have|will))\b|'s \w+ing\b|'ll\b))(?:'s)?\b",
)
"""Matches another person as the subject of a clause."""
_OUT = re.compile(
    r"(?:definitely |absolutely |certainly |and |but |just )*(?:no|not|without|nothing|none of|never|anything but|leave out"
    r"|avoid)\s+(?!idea|sure|thanks?|thank|yet|really|problem|worries|way\b|now|bad|wonder|need to|that i"
    r"|quite|so |much$|matter|doubt|more (?:questions|ideas)|i |we |at all|too bad|hurry|rush|one knows|longer sure|more$"
    r"|necessarily|only|even)(?P<what>.+)",
    re.IGNORECASE,
)
_DROP = re.compile(
    r"(?:(?:let's |we can |we'll )?(?:forget|drop|skip|scrap|scratch|ditch|cancel|cross off|take out|remove"
    r"|never ?mind|strike|lose)(?: about)?) (?P<what>(?:the|that|my|our|those)\b.+?)(?: (?:idea|thing|plan|bit))?$",
    re.IGNORECASE,
)
_SUITS = re.compile(
    r"(?P<what>(?!that\b|this\b|it\b|which\b|what\b).{2,60}?)(?: (?:it is|sounds? (?:good|great|perfect|right|lovely|fine|best|nice)"
    r"|works?(?: (?:for (?:me|us|everyone)|best|well|better))?|suits (?:me|us)(?: better| best)?|is (?:fine|good|perfect|great|best"
    r"|okay|better)(?: (?:for|with|by) (?:me|us))?|would be (?:best|perfect|better|great|good|ideal)"
    r"|will do|then|please))+(?: then)?$",
    re.IGNORECASE,
)
_MAKE = re.compile(
    r"(?:make (?:it|that|(?=the\b|our\b))|call it|change (?:it|that|the \w+(?: \w+)?) to|move (?:it|that|the \w+) to|say"
    r"|go (?:with|for)|put (?:it|that) (?:on|at)|stick (?:with|to)|keep (?=the|it)|better(?: make it)?|rather"
    r"|add(?= (?:the|a|an|some|my)\b)|put down(?= )|note(?: down)?(?= ))\s*(?P<rest>.+)",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\b(?:actually|instead|rather|wait|sorry|scratch that|scrap that|strike that|i meant?|make (?:it|that)"
    r"|change|changed|move|no longer|any ?more|after all|on second thoughts?|change of plans?"
    r"|come to think of it|not .+ but|better|hang on|hold on)\b|^no\b",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"[\s,]+(?:please|okay|ok|right|i think|i guess|then|instead|if that's (?:okay|all right|fine)|i'd say|actually"
    r"|for sure|definitely|thanks|thank you|after all|so|and|but)$",
    re.IGNORECASE,
)
_CUTS = re.compile(
    r"\s+(?=(?:because|since|so that|as (?:it|we|i|the)|which|where|when|before|although|while|in case|otherwise|given)\b)",
    re.IGNORECASE,
)
_BEGINS_VERB = re.compile(r"(?:be|have|all|both|definitely|only)\b", re.IGNORECASE)
_POINTS = re.compile(
    r"(?:(?:do|take|have|like|want|go (?:with|for)|prefer|choose|use|be|that|this|it|them|these|those|the|one|there"
    r"|first|second|third|last|other|latter|former|sounds?|good|great|fine|so|both|all|everything|too|much|many|very|really|for|me|us|to|a|an|of)\b\W*)+",
    re.IGNORECASE,
)
"""Matches a text that names nothing by itself."""
_SELF = re.compile(
    r"(?:he|she|they|you|it|this|that|i|i'm|i've|we|we're|there|i'd|we'd|it's|that's)\b",
    re.IGNORECASE,
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|will|has|have|can)\b|\w'(?:s \w+ing|ll|re|ve)\b", re.IGNORECASE
)
_WHO = re.compile(r"\b(?:who|whom|anyone|anybody|everyone|people|guests?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that the user's words may settle.

    `certain` is set if its form alone shows that it does. `ours` is whether it is likely unless
    it is about something else: "we need a cot". `corrects` is set if the words say that they
    replace something earlier. `drops` is set if they take something back. `others` is set if they
    say what somebody else does.
    """

    text: str
    certain: bool = True
    ours: bool = True
    corrects: bool = False
    drops: bool = False
    others: bool = False


def candidates(said: str, before: str = "") -> list[Candidate]:
    """Return what an utterance may settle, in order.

    Args:
        before: the assistant's words to which the utterance replies; empty if unknown.
    """
    if is_private(said):
        return []
    agrees, rest = agreement(said)
    offer = proposed(before) if agrees is not None else ""
    found = list(_found(said, before))[:MOST]
    if offer and agrees and not _hesitates(said, found):
        found = [] if any(_repeats(each, offer) for each in found) else found
        return [Candidate(offer, corrects=_corrects(said)), *found][:MOST]
    if offer and agrees is False and not found and not content_words(rest):
        return [Candidate(f"not {offer}", drops=True)]
    return found


def _hesitates(said: str, found: Sequence[Candidate]) -> bool:
    """Whether a yes is followed by a question or a doubt. With a plan of its own, it is none."""
    parts = list(clauses(said))
    doubts = any(not part or any(each.doubtful for each in part) for part in parts)
    return doubts and not any(each.certain for each in found)


def _repeats(each: Candidate, offer: str) -> bool:
    return set(content_words(offer)) >= set(content_words(each.text))


def _corrects(said: str) -> bool:
    return _CORRECTS.search(said) is not None


def _found(said: str, before: str) -> Iterator[Candidate]:
    question = asks(before)
    for sentence in clauses(said):
        open_: Candidate | None = None
        for clause in sentence:
            lead = _CORRECTS.search(clause.lead) is not None
            if clause.doubtful or not clause.text:
                if re.search(r"\b(?:know|sure|maybe|perhaps)\b", clause.text, re.IGNORECASE):
                    open_ = None
                elif open_ is not None:
                    yield open_
                    open_ = None
                continue
            new = _settles(clause, question)
            if new is None and open_ is not None and _continues(clause, open_):
                open_ = replace(open_, text=f"{open_.text}, {clause.text}")
                continue
            if open_ is not None:
                yield open_
            open_ = replace(new, corrects=new.corrects or lead) if new is not None else None
        if open_ is not None:
            yield open_


def _continues(clause: Clause, open_: Candidate) -> bool:
    words = len(clause.text.split())
    return (
        words <= LONGEST_CONTINUATION
        and len(open_.text.split()) + words <= MOST_WORDS
        and not _SELF.match(clause.text)
        and not _FINITE.search(clause.text)
        and not is_courtesy(clause.text)
    )


def _settles(clause: Clause, question: str) -> Candidate | None:
    """Return what a clause may settle; None if it settles nothing."""
    text = clause.text
    corrects = _corrects(text)
    if _person(text) and not _WHO.search(question):
        return _made(text, certain=False, ours=False, others=True)
    if found := _DROP.match(text):
        return _made(f"not {found['what']}", drops=True)
    if _OUT.match(text):
        return _made(text, drops=True)
    if found := _LET.match(text):
        changed = _MAKE.match(found["rest"])
        rest = changed["rest"] if changed else _without(_TENTATIVE, found["rest"])
        return _made(rest, corrects=corrects)
    first_person = text[:2].lower() in ("i ", "i'")
    for pattern in (_HAVE, _WILL, _DONE, _GOING, _WANT):
        if found := pattern.match(text):
            groups = found.groupdict()
            rest = groups.get("kept") or groups["rest"]
            plain = _without(_FAVOURS, _without(_TENTATIVE, rest))
            keeps = pattern is _HAVE or (pattern is _WILL and _BEGINS_VERB.match(rest))
            decided = pattern is _DONE or (pattern is _WILL and not first_person)
            return _made(
                text if keeps else plain if pattern is _WANT else _without(_TENTATIVE, rest),
                certain=decided,
                ours=not first_person or bool(question),
                corrects=corrects,
            )
    if found := _MAKE.match(text):
        return _made(found["rest"], corrects=corrects)
    if found := _SUITS.match(text):
        return _made(found["what"], certain=bool(question), corrects=corrects)
    if (found := _IS.match(text)) and not _COMPLAINS.match(found["rest"]):
        about = names_part(found["what"]) or bool(
            subjects(found["rest"]) and found["what"].lower() in ("it", "there", "that")
        )
        return _made(text, certain=about and bool(question), ours=about, corrects=corrects)
    return _answer(text, question, corrects=corrects or bool(_CORRECTS.search(clause.lead)))


def _without(pattern: re.Pattern[str], text: str) -> str:
    """Return a text without what the pattern matches at its beginning."""
    found = pattern.match(text)
    return text[found.end() :] if found else text


def _person(text: str) -> bool:
    return (
        _PERSON.match(text[:1].lower() + text[1:] if text[:3].lower() == "my " else text)
        is not None
    )


def _answer(text: str, question: str, *, corrects: bool) -> Candidate | None:
    """Return an answer that has no verb. Without a question, it counts only if it names a day, an
    amount or the like."""
    short = len(text.split()) <= LONGEST_ANSWER
    if not short or _SELF.match(text) or says_unknown(text) or is_courtesy(text):
        return None
    if question or (corrects and subjects(text)):
        return _made(text, certain=bool(question), corrects=corrects)
    return None


def _made(
    text: str,
    *,
    certain: bool = True,
    ours: bool = True,
    corrects: bool = False,
    drops: bool = False,
    others: bool = False,
) -> Candidate | None:
    """Return a candidate in the user's own words; None if they name nothing or leave it open."""
    words = " ".join(text.split()).strip(" ,.;:!")
    while (bare := _TRAILING.sub("", words)) != words:
        words = bare
    if len(words.split()) > MOST_WORDS:
        words = _CUTS.split(words)[0].rstrip(" ,")
    if not words or _POINTS.fullmatch(words) or re.search(r"\bor\b", words, re.IGNORECASE):
        return None
    if len(words.split()) > 2 * MOST_WORDS or not content_words(words):
        return None
    return Candidate(words, certain, ours, corrects, drops, others)
