"""Finds the statements in an utterance that may become memories, word for word.

These are the user's statements about themselves, their family, pets and things.

The rules are cautious and work for English only. They reject questions, suppositions, hearsay,
stories, admitted jokes, and anything that the user took back or doesn't want stored. They also
reject attempts to change the assistant, its rules or its memory.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assistant.context import sanitised
from assistant.language.absolute_dates import past_tense
from assistant.language.dialogue_acts import WISHED, is_question
from assistant.language.numbers import numbers, one_of
from assistant.language.sentences import Sentence, sentences
from assistant.memory.records.memory import LONGEST_READ

MOST_WORDS = 30
"""Maximum number of words per statement."""
FEWEST_WORDS = 2
MOST = 6
"""Maximum number of statements per utterance."""
VERBLESS = 4
"""Maximum number of words in a verbless addition that continues a statement, e.g. "my parrot".
"""

_I = r"(?:i|i'm|i've|i'll|im|ive|my|mine|me|we|we're|we've|our|ours|us|myself)"
OWN = re.compile(rf"\b{_I}\b", re.IGNORECASE)
"""Matches words with which users refer to themselves or to their own things."""
KIN = r"(?:mum|mom|mummy|dad|daddy|gran|granny|grandma|grandpa|grandad|nan|nana|auntie|mam)"
_STARTS = re.compile(
    rf"(?:(?:when|since|because|cause|'cause|as) )?(?:{_I}|{KIN})\b", re.IGNORECASE
)
_LEADING = re.compile(
    r"(?:(?:oh|ooh|well|so|and|but|okay|ok|hey|hi|hello|hmm+|um|uh|er|ah|ha|anyway|actually|listen|"
    r"look|honestly|sorry|yes|yeah|no(?=[,.!])|nope|right|right so|also|by the way|you know|"
    r"you see|i mean|"
    r"the thing is|cause|'cause|because|since|then|now|god|literally|basically|like i said|"
    r"as i said|remember(?: that)?(?= (?:i|my|we|our)\b)|note(?: that)?(?= (?:i|my|we|our)\b)|"
    r"don't forget(?: that)?(?= (?:i|my|we|our)\b)|just so you know)\b[\s,.:;!-]*)+",
    re.IGNORECASE,
)
_IRONIC = re.compile(r"(?:oh )?(?:yeah|sure|of course|right),? (?:right,? )?i\b", re.IGNORECASE)
"""Matches the beginning of an ironic sentence, e.g. `Oh yeah, I'm the Queen of Sheba.`"""
_SUBJECT = r"(?:i|i'm|i've|i'll|im|ive|my|we|we're|we've|our)"
_CLAUSES = re.compile(
    rf"\s*[,;:–—]\s*|\s+(?=(?:and|but|so|because|cause|'cause|although|though|otherwise)\s+"
    rf"(?:{_SUBJECT}|he|she|it|they|that|this|there|you|if|so|everyone|everybody|the)\b)",
    re.IGNORECASE,
)

_NOT_KEPT = re.compile(
    r"\b(?:off the record|between (?:you and me|us|ourselves)|keep (?:this|that|it) (?:out of|to"
    r" yourself|quiet|secret|between)|(?:don't|do not|never|not to) (?:you )?(?:dare )?(?:write|"
    r"note|"
    r"remember|keep|store|save|record|put|tell|repeat|log)\b|didn't (?:say|tell you) (?:this|that)|"
    r"(?:this|that|it) stays (?:in|between|here)|forget (?:that|this|it|what|i|about|everything)|"
    r"nobody (?:must|should|may|can) know|no need to (?:remember|note|save|keep))",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:(?:just |only |i'm |was )?(?:kidding|joking)|take (?:it|that) (?:all )?back|ignore me|"
    r"scrap (?:that|it|all|this)|nothing's decided|wrong number|that's (?:wrong|not (?:true|"
    r"right))|"
    r"shouldn't have said|never ?mind|just messing|pulling your leg|only (?:a joke|teasing)|"
    r"i was thinking of|i made (?:that|it) up|not really|as if|i wish|strike that|leave it|"
    r"disregard (?:that|this)|no i (?:haven't|hadn't|don't|didn't|am not|'m not|wasn't))\b",
    re.IGNORECASE,
)
_COMMANDS_MEMORY = re.compile(
    r"\b(?:instructions?|system (?:rule|prompt|message)|(?:your|all|no|new|these) rules|prompt|"
    r"the user|the assistant|assistants?|admin(?:istrator)?|root access|safety|guardrails?|"
    r"jailbreak|disregard|ignore (?:all|any|every\w*|the|this|that|what|your)|override|overrule|"
    r"developer mode|json|passwords?|"
    r"pin (?:code|number)|obey|you (?:are|were|must|shall|will|have to|'re to)\b|you're (?:to|now)|"
    r"your (?:own|name|owner|maker|memory|notes?|profile|instructions?|purpose|job)|"
    r"(?:write|save|store|put|add|log|file|enter|record|note|memori[sz]e|remember|keep|set|"
    r"update)\b"
    r"(?: \w+){0,6} (?:memory|memories|profile|notes|storage|record|fact|rule|records|file|"
    r"that you)|"
    r"from (?:here|now) on,? you|long-term storage|following (?:fact|rule)|end of memory|"
    r"pretend|act as|role-?play|say that you|tell (?:everyone|everybody|anyone|guests|people|"
    r"them))",
    re.IGNORECASE,
)
_RESTARTS = re.compile(r"^(?:oh and|and also|also|oh|by the way|but|anyway)\b", re.IGNORECASE)
_SUPPOSED = re.compile(
    r"\b(?:if|suppos(?:e|ing)|imagine|pretend|in another life|in (?:my|a) dreams?|dreamt|dreamed|"
    r"say i (?:was|were|had)|let's say|what if|hypothetically|in theory)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:would|wouldn't|could(?! not|n't)|might|may(?! \d)|maybe|perhaps|i'd|we'd|he'd|she'd|"
    r"they'd|it'd|should|shall|wish|thinking (?:of|about)|considering|not sure|(?:don't|"
    r"do not) know|"
    r"no idea|i (?:guess|suppose|reckon|wonder|doubt)|probably|possibly|apparently|nearly|almost|"
    r"want to|wanna|hope|hoping|supposed to|meant to)\b",
    re.IGNORECASE,
)
_HEARSAY = re.compile(
    r"\b(?:goes$|(?:(?<!you )says?|said|saying|sings?|sang|wrote|writes|told|quote|quoting)\b|"
    r"(?:i'm|he's|she's|was|were) like,|it says|there's (?:that|this) (?:line|song|poem|quote)|"
    r"in (?:the|this|that|my|a) (?:book|film|movie|series|show|play|song|story|novel|game|episode)|"
    r"the (?:detective|hero|character|narrator|article|paper|headline|lyrics?)|"
    r"on the (?:radio|news|telly|tv)|the (?:prime minister|president|queen|king))",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:hang on|hold on|right now|at the moment|just now|for now|in a (?:minute|moment|"
    r"second|sec)|"
    r"i'm (?:so |just |very )?(?:starving|hungry|thirsty)|tired|knackered|exhausted|"
    r"in the queue|on (?:the|my) way|percent|per cent|"
    r"gone to sleep|this minute|can't hear|can't complain|all right|alright|i'm fine|"
    r"i'm good|i'm back|i'm here|i'm off|i'm afraid|got to go|have to go|"
    r"i need (?:an?|some|the|to)|i (?:cried|laughed|slept|haven't slept)|be quick|"
    r"i (?:see|know|mean|think so|hope|thought)\b|going to bed|looking for|i forgot|"
    r"my (?:phone|battery|screen)'s|look at|god forbid|for heaven's sake)\b",
    re.IGNORECASE,
)
_TO_YOU = re.compile(r"\b(?:you|your|yours|yourself|you're|you've|you'll|let's)\b", re.IGNORECASE)
_ASKED = re.compile(
    r"^(?:(?:please|can you|could you|will you|would you)\b|(?:tell|remind|give|show|play|set|read|"
    r"add|put|turn|open|call|find|check|stop|start|make|send|order|book|buy|write|explain|help|"
    r"remember|note|save|store|output|wake|say|repeat|count|spell|translate|what|who|whose|where|"
    r"when(?! (?:i|we|my|our)\b)|why|how|which|is|are|do|does|did|can|could|was|were|am|will|has|"
    r"have(?! (?:my|our)\b)|isn't|aren't|don't|doesn't|didn't|haven't|can't)\b)",
    re.IGNORECASE,
)
_LIKED = re.compile(
    r"i (?:(?:don't|do not|really|also|always|never|just) )*(?:like|love|hate|prefer|want|enjoy|"
    r"can't stand)\b(?: \S+){3,}",
    re.IGNORECASE,
)
"""Matches statements of likes and dislikes, which count even if they mention the assistant
("you").
"""
_TAG = re.compile(
    r"^(?:isn't it|aren't (?:i|we|they)|haven't (?:i|we)|can't (?:i|we)|don't (?:i|we)|"
    r"didn't (?:i|we)|"
    r"would you believe|believe it or not|literally|honestly|you know|you see|i mean|mind you|"
    r"to be (?:fair|honest)|of all things|of course|thank god|bless (?:him|her|them)|actually|"
    r"really|"
    r"um|uh|er|right|like|ooh|oh|well|yes|yeah|no|i know|i quote)$",
    re.IGNORECASE,
)
_CORRECTING = re.compile(
    r"(?:^|[,;.!…]\s*|\s)(?:no,? (?:wait|sorry|hang on|make|it's|that's|the)|wait|sorry|i meant?|"
    r"make (?:it|that)|or rather|correction|scratch that|mm|no(?=,))(?=[\s,.!]|$)|[,!.] no$"
    r"|[,;.!] no (?:it|that|he|she|the|they|we|i|you|wait)\b",
    re.IGNORECASE,
)
_SILENCES = re.compile(
    f"{_COMMANDS_MEMORY.pattern}|{_SUPPOSED.pattern}|{_HEARSAY.pattern}", re.IGNORECASE
)
"""Matches words after which the rest of the sentence is not believed."""
_NUMBER = rf"(?:\d+|{one_of(numbers())})"
_RECOUNTED = re.compile(rf"\b{_NUMBER}\b[^,]*, (?:the )?{_NUMBER}[\s!.,]", re.IGNORECASE)


_TELLS = re.compile(
    r"(?i:the|an?|there(?:'s| is| are)|that(?:'s| is)|it(?:'s| is)|he|she|they|this|these|those|"
    r"all|"
    r"everything|every|everyone|everybody|nobody|one|two|three|four|some|most|many|last|next|on|in|"
    r"at|for|from|after|before|since|yesterday|tomorrow|today|tonight|until|being|been|half|"
    r"both|no)"
    r"(?!\w)|\w+(?:'s|s)? (?:is|are|was|were|has|have|had|at|in|from)\b|[A-Z]\w+ and\b"
)
"""Matches the beginning of a clause that is not a command."""
_BROKEN_OFF = re.compile(
    r"\b(?:the|an?|my|our|and|but|or|to|of|with|for|because|so)$"
    r"|^\S+ (?:\w+ )?(?:do|does|did|can|can't|am|have|haven't|will|was|wasn't|too)$",
    re.IGNORECASE,
)
_FINITE = re.compile(
    rf" (?:\w+'s )?(?:is|are|has|have|will|\w{{2,}}[^s\W]s)\b|\w'(?:s|re|ve|ll)\b"
    rf"|{past_tense().pattern}",
    re.IGNORECASE,
)
"""Matches a finite verb after the first word."""
_WHILE = re.compile(r"(?:when|since|because|cause|'cause|as)\b", re.IGNORECASE)
_WRITTEN = re.compile(r"[^\w .,;:!?'\"…–“”‘()/%&€£$°+#@*=-]|_|\\|&#|&\w+;|--")
_NAMES = re.compile(r"(?i:that's|this is|it's|there's|he's|she's)|.*\b[A-Z][a-z]|.*'s")
_POINTS = re.compile(
    r"(?:he|she|it|they|that|this|there|these|those|his|her|their)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of an utterance, and its range [start, end) in the utterance."""

    start: int
    end: int
    text: str


def statements(said: str) -> list[str]:
    """Return the user's statements word for word, in order.

    >>> statements("Oh, I'm vegan, what's for dinner?")
    ["I'm vegan"]
    """
    if must_not_be_kept(said):
        return []
    plain = said.replace("’", "'")
    found: list[str] = []
    ordered = False
    for sentence in sentences(plain):
        if _IRONIC.match(sentence.text):
            continue
        if sentence.text.endswith("?") and "," not in sentence.text:
            continue
        spans, ordered = _of_sentence(plain, list(_clauses(sentence)), ordered)
        found += [said[start:end] for start, end in spans]
    return [each for each in found if _stands(each.replace("’", "'"))][:MOST]


def must_not_be_kept(said: str) -> bool:
    """Whether an utterance must not lead to any memories.

    This is the case if the user doesn't want it stored or took it back, or if it can't have been
    spoken, e.g. if it was pasted.
    """
    return is_private(said) or _TAKEN_BACK.search(said.replace("’", "'")) is not None


def is_private(said: str) -> bool:
    """Whether the user doesn't want an utterance stored, or it can't have been spoken."""
    plain = said.replace("’", "'")
    return len(said) > LONGEST_READ or not _spoken(plain) or _NOT_KEPT.search(plain) is not None


def declarative_sentences(said: str) -> list[str]:
    """Return the sentences that state something, each cut off before its first doubtful clause.

    These sentences show what a conversation is about, but don't support facts about the user.

    >>> declarative_sentences("The roof leaks over the back bedroom, I guess it's old")
    ['The roof leaks over the back bedroom']
    """
    plain = said.replace("’", "'")
    if must_not_be_kept(said) or _SILENCES.search(plain):
        return []
    found: list[str] = []
    for sentence in sentences(plain):
        if _IRONIC.match(sentence.text) or sentence.text.endswith("?"):
            continue
        end, clauses = 0, list(_clauses(sentence))
        for clause in clauses:
            if _breaks(clause.text) or _TAG.match(clause.text):
                break
            end = clause.end
        if end and _FINITE.search(plain, clauses[0].start, end):
            found.append(said[clauses[0].start : end])
    return [each for each in found if _stands(each.replace("’", "'"))][:MOST]


def _spoken(text: str) -> bool:
    """Whether a text could have been spoken: it doesn't look like a template, list or program."""
    if "   " in text:
        return False
    return _WRITTEN.search(text) is None and sanitised(text) == " ".join(text.split())


def _clauses(sentence: Sentence) -> Iterator[_Clause]:
    """Yield the clauses of a sentence, without introductory words and without punctuation at their
    ends.
    """
    at, text, offset = 0, sentence.text, sentence.start
    ends = [*((each.start(), each.end()) for each in _CLAUSES.finditer(text)), (len(text),) * 2]
    for end, following in ends:
        start = at
        at = following
        piece = text[start:end]
        if not piece.strip():
            continue
        leading = _LEADING.match(piece.lstrip())
        skipped = len(piece) - len(piece.lstrip()) + (leading.end() if leading else 0)
        bare = piece[skipped:].rstrip(" .!…,;:") if not piece.rstrip().endswith("?") else "?"
        if bare:
            first = offset + start + skipped
            yield _Clause(first, first + len(bare) if bare != "?" else offset + end, bare)


def _of_sentence(
    text: str, clauses: list[_Clause], ordered: bool
) -> tuple[list[tuple[int, int]], bool]:
    """Return the ranges of the statements in a sentence, and the value of `ordered` for the next
    sentence.

    Each statement begins with a clause about the user and continues with clauses that explain it.

    Args:
        ordered: whether the previous sentence ended with an attempt to change the assistant, its
            rules or its memory.
    """
    spans: list[tuple[int, int]] = []
    before: _Clause | None = None
    open_ = False
    silenced = ordered
    for clause in clauses:
        words = clause.text
        if silenced and not (
            _RESTARTS.search(text[: clause.start].rpartition(",")[2].strip())
            and _STARTS.match(words)
        ):
            continue
        silenced = ordered = False
        orders = _COMMANDS_MEMORY.search(words) is not None
        wants = _ASKED.match(words) or WISHED.match(words)
        if orders or (not wants and _SILENCES.search(words)):
            silenced, open_, before = True, False, None
            ordered = orders
            continue
        if _TAG.match(words):
            continue
        if words == "?" or _breaks(words):
            open_, before = False, None
            continue
        if _begins(words):
            spans.append((clause.start, clause.end))
            open_ = True
        elif OWN.search(words) and before is not None and not open_ and _NAMES.match(before.text):
            spans.append((before.start, clause.end))  # "that's Pickle, my parrot"
            open_ = True
        elif open_ and len(text[spans[-1][0] : clause.end].split()) <= MOST_WORDS:
            spans[-1] = (spans[-1][0], clause.end)
        elif OWN.search(words) and len(words.split()) >= VERBLESS and _TELLS.match(words):
            spans.append((clause.start, clause.end))
            open_ = True
        before = clause
    return spans, ordered


def _begins(words: str) -> bool:
    if WISHED.match(words):
        return True
    if not _STARTS.match(words):
        return False
    short = len(words.split()) <= VERBLESS
    verbless = re.match(r"(?:my|our|mine|me)\b", words, re.IGNORECASE) and "'" not in words
    return not (short and verbless and not re.search(r"\b(?:is|are|was|has|had|does|can)\b", words))


def _breaks(words: str) -> bool:
    """Whether a clause asks, commands or doubts something, or is only about the assistant or the
    present moment."""
    if _UNSURE.search(words) or _PASSING.search(words):
        return True
    if WISHED.match(words):
        return False
    to_you = _TO_YOU.search(words) is not None and not _LIKED.match(words)
    return to_you or _ASKED.match(words) is not None


def _stands(quote: str) -> bool:
    """Whether a quote says one thing in enough words and doesn't correct itself."""
    count = len(quote.split())
    if _POINTS.match(quote) and not (re.search(r" [A-Z][a-z]", quote) or OWN.search(quote)):
        return False
    if _BROKEN_OFF.search(quote):
        return False
    if _WHILE.match(quote) and "," not in quote and " and " not in quote:
        return False
    if not FEWEST_WORDS <= count <= MOST_WORDS or is_question(quote):
        return False
    return not (_CORRECTING.search(quote) or _RECOUNTED.search(f"{quote} "))
