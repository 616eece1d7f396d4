"""Splits an utterance into clauses, and finds the doubtful ones. English only."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from assistant.language.sentences import sentences

SUBJECT = r"(?:i|we|it|that|there|he|she|they|you|the|my|our|his|her|their)\b"
_BORDER = re.compile(
    r"\s+(?=(?:he|she|they)(?:'s|'re|'ll|'ve|'d)\b)"
    r"|(?<!say)(?<!that)(?<!know)(?<!think)\s+(?=(?:i|we) (?!can\b|could\b"
    r"|have to\b)\w+ed\b)|"
    r"\s*[;:–—]\s*|\s*(?:,|\.\.\.|…)\s*(?:(?:and|but|so|then|because)\s+)?"
    rf"|\s+(?:and|but|so|then|because|cause|'cause|although|though)\s+(?=(?:then\s+|fine\s+"
    rf"|okay\s+)?(?:{SUBJECT}"
    r"|(?:i|we|it|that|there|he|she|they|you)'|let's|lets|no|not|maybe|perhaps|if|please|don't"
    r"|what|how|where|when|who)\b)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:(?:oh|ooh|ah|aha|well|so|and|but|okay|ok|alright|all right|right then|right|hm+|um|uh|er"
    r"|yes|yeah|yep|yup|sure|great|good|perfect|fine|cool|lovely|no(?=[,.!]| (?:i|i'll|we|we'll"
    r"|let's)\b)|nope|nah|actually|then"
    r"|also|plus|now|hey|aye|haha|ha|god|oh god|gosh|blimey|anyway|look|listen|please|honestly"
    r"|you know|you see|i mean|in that case"
    r"|of course|definitely|first(?: of all)?|second(?:ly)?|finally|oh and|one more thing"
    r"|by the way"
    r"|wait|sorry|hang on|hold on|no wait|scratch that|scrap that|strike that|on second thoughts?"
    r"|change of plans?|come to think of it|i(?:'d)? say(?! no)|i know(?=[,.])|i think(?= (?:we|i"
    r"|let|that))|ada"
    r"|for now)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:maybe|perhaps|might|could|couldn't|probably|possibly|wonder(?:ing)?|not sure|unsure|if"
    r"|unless|whether|no idea|(?:don't|do not) (?:really )?(?:know|care|mind)|undecided"
    r"|(?:thinking|thought) (?:of|about|that)|consider(?:ing|ed)?|suppos(?:e|ing)|imagine"
    r"|hypothetically|in theory|depends|depending|(?:haven't|hasn't|not|have not) (?:yet )?decided"
    r"|(?:need|have|got) to (?:decide|think|check|ask|see|find out|choose|figure)|not yet|i guess"
    r"|hop(?:e|ing)|wish|let me think|torn|or so i|ideally|tempted|would be (?:nice|fun|cool"
    r"|lovely)"
    r"|dream(?:ing|t)?|joking|kidding|as if|what about|how about|should i|should we|shall i"
    r"|shall we"
    r"|(?:one|some) day|at some point|last (?:year|time|week|month|summer|winter|spring|autumn|fall"
    r"|christmas|night|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|ago|yesterday"
    r"|used to|always|usually|normally|every (?:year|summer|time|week)|back then|when i was)\b",
    re.IGNORECASE,
)
"""Matches words of a clause that only considers something, or is about the past."""
_HEARSAY = re.compile(
    r"\b(?:says|said|told|tells|according to|reckons?|recommend(?:s|ed)|suggest(?:s|ed)|claims?"
    r"|heard|read (?:that|about|somewhere)|apparently|(?:he|she|they|mum|mom|dad|wife|husband"
    r"|sister|brother|friend|boss) (?:thinks?|wants?|likes?|prefers?|hates?|would))\b",
    re.IGNORECASE,
)
_TO_ASSISTANT = re.compile(r"\b(?:you|your|yours|you're|you'd|you'll|you've)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"(?:what|which|who|whose|where|when|why|how|is|are|am|was|were|do|does|did|can|could|would"
    r"|should|shall|may|have (?:i|we|you|they)|has|isn't|aren't|doesn't|didn't|can't we)\b",
    re.IGNORECASE,
)


_AFTER = re.compile(r"actually|instead|after all|rather|please|then", re.IGNORECASE)
"""Matches a piece that belongs to the previous clause: "from seven, actually, because …"."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause without the words that only introduce it. These are in `lead`, in lower case.
    `first` is set if the clause begins a sentence."""

    text: str
    lead: str
    first: bool

    @property
    def doubtful(self) -> bool:
        """Whether the clause asks or only considers something, reports what somebody said, or is
        addressed to the assistant."""
        return (
            _DOUBT.search(self.text) is not None
            or _HEARSAY.search(self.text) is not None
            or _TO_ASSISTANT.search(self.text) is not None
            or _ASKS.match(self.text) is not None
        )


def clauses(said: str) -> Iterator[tuple[Clause, ...]]:
    """Yield the clauses of each sentence; () for a question. Introductory words that stand alone
    ("No, …") become part of the next clause's `lead`."""
    for sentence in sentences(said.replace("’", "'")):
        text = sentence.text
        if text.rstrip("\"”') ").endswith("?"):
            yield ()
            continue
        found: list[Clause] = []
        before = ""
        for piece in _pieces(text.rstrip(" .!…,;")):
            if found and _AFTER.fullmatch(piece):
                found[-1] = replace(found[-1], text=f"{found[-1].text} {piece}")
                continue
            lead = _LEAD.match(f"{piece},")
            cut = min(lead.end(), len(piece)) if lead else 0
            before += piece[:cut].lower() + " " if cut else ""
            rest = piece[cut:].strip(" ,.!")
            if rest:
                found.append(Clause(rest, before.strip(), not found))
                before = ""
        if before and not found:
            found.append(Clause("", before.strip(), first=True))
        yield tuple(found)


def _pieces(sentence: str) -> Iterator[str]:
    at = 0
    for border in _BORDER.finditer(sentence):
        if sentence[at : border.start()].strip():
            yield sentence[at : border.start()].strip()
        at = border.end()
    if sentence[at:].strip():
        yield sentence[at:].strip()
