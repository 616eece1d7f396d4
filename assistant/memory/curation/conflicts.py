"""Decides whether a newer statement by the user makes an older one untrue.

For example, `I moved to Lisbon` makes an earlier `I live in Porto` untrue.

The rules are patterns for English. They apply only if the newer statement itself says that
something has changed or was wrong (now, not any more, moved, new, no, …). A wrong decision hides a
true memory, because superseded memories are no longer put into prompts. Without a decision, both
memories remain. If both are put into a prompt and are seen to be about the same thing, the newer
one is placed before the older one. Doubtful cases are therefore left alone: wishes, plans,
statements about other people, and older texts that say more than one thing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from assistant.language.normalisation import ASIDES, content_words, normalize
from assistant.language.numbers import cardinal_words
from assistant.language.sentences import sentences
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.language.third_person import first_person
from assistant.language.word_lists import listed
from assistant.memory.records.memory import Memory

LONGEST = 400
"""Maximum number of characters in a statement. Longer ones are not examined."""
MOST_CONTENT = 5
"""Maximum number of content words in the older text. A longer text also says other things."""
AT_ONCE = timedelta(minutes=5)
"""Maximum time between naming a person and a correction such as `No, her name is Hannah`."""
SOON = timedelta(days=60)
"""Maximum time between two statements about the same appointment. A date given later belongs to
another appointment.
"""

UNREAL = re.compile(
    r"\b(?:if|when|want|wants|wish|would|could|might|may|maybe|perhaps|will|shall|going to|plan"
    r"|planning|planned|hope|hoping|thinking|think|considering|dream|dreamt|dreamed|almost|nearly"
    r"|used to|before|as a child|until|till|said|says|told|heard|pretend|imagine|suppose|unless"
    r"|next|for a while|temporarily|tomorrow|today|tonight|on holiday|for the weekend)\b"
)
CHANGED = re.compile(
    r"\b(?:now|these days|nowadays|by now|instead|again|from now on|new|changed|moved|finally"
    r"|since (?:last |this )?\w+|switched|turned)\b"
)
CORRECTED = re.compile(r"^\W*(?:no+|nope|sorry|actually|wait|correction|i meant?|not \w+)\b[\s,.]+")
LOOSE = re.compile(
    r"\b(?:now|these days|nowadays|by now|instead|again|from now on|finally|just|recently|anymore"
    r"|really|actually|always|usually|since (?:last |this )?\w+"
    r"|(?:last|this) (?:week|month|year|spring|summer|autumn|winter)"
    r"|(?:a|two|three|few) (?:weeks?|months?|years?) ago)\b"
)
"""Words that are removed from a clause before it is examined."""
CLAUSE = re.compile(
    r"\s*,\s*(?:(?:and|but|so)\s+)?|\s+(?:and|but|so|because|since)\s+(?=i\b|we\b|my\b)"
)

ONE_HOLDER = listed(
    "boss manager girlfriend boyfriend partner wife husband fiance landlord landlady doctor"
    " dentist therapist gp supervisor flatmate roommate hairdresser"
)
"""Roles that only one person has at a time: a new boss replaces the old one, but a new cat doesn't
replace the old cat.
"""
THING = r"car|telephone|phone|laptop|computer|gym|bank"
LIKE = frozenset({"love", "like", "enjoy", "ador", "adore"})
DISLIKE = re.compile(r"(?:i|we) (?:hate|dislike|detest|can not (?:stand|bear)) (?P<value>.+)$")
ALWAYS = frozenset(
    listed("everi day daili week weekend morn even night summer winter regular sometim lot often")
)
"""Stems of words that say how often something is done."""
TIME = (
    r"(?P<value>(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|noon|midnight|\d{1,2}(?:[:.]\d\d)?"
    rf"|{cardinal_words(1, 12)}|half past \w+|quarter \w+ \w+)"
    r"(?: (?:am|pm|morning|afternoon|evening))?)\W*$"
)
COUNT = rf"(?:\d+|{cardinal_words(2, 90)})"
STATUS = r"single|engaged|married|divorced|separated|widowed"
MINE = r"my (?:new )?"
NO_FAVOURITE = (
    r"(?:i|don't|know|thinks?|thought|says?|not|never|no|nothing|neither|nobody|none|what|which|who"
    r"|that|this|it|one|or|favorite)"
)
"""Words before "is my favourite" that don't name anything."""
PATTERNS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("work",), r"i (?:work|am working|do not work) (?:at|for) (?P<value>.+)"),
    (("role",), r"i (?:work|am working) as an? (?P<value>.+)"),
    (("thing", "car"), r"i drive an? (?P<value>.+)"),
    (("thing",), rf"{MINE}(?P<what>{THING}) is an? (?P<value>.+)"),
    (
        ("my",),
        rf"{MINE}(?:tele(?=phone))?(?P<what>phone number|address|e-?mail(?: address)?|postcode|pin"
        r"|birthday|age) is(?: on)? (?P<value>.+)",
    ),
    (("favourite",), rf"{MINE}favorite (?P<what>\w+(?: \w+)?) is (?P<value>.+)"),
    (
        ("favourite",),
        rf"(?!(?:.* )?{NO_FAVOURITE}(?: .*)? is my )(?P<value>[\w'-]+(?: [\w'-]+){{0,2}})"
        r" is my (?:new )?favorite (?P<what>\w+(?: \w+)?)$",
    ),
)
"""Slots, each with a pattern that finds its value. If a pattern has a group `what`, its match
becomes part of the slot.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """What one clause says about one thing.

    `slot` identifies the thing, and `value` is what the clause says about it. `holds` is False if
    the clause denies the value. `change` says whether the clause states that something has changed
    or was wrong.
    """

    slot: tuple[str, ...]
    value: tuple[str, ...]
    holds: bool = True
    change: bool = False


def changes(memory: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether a memory says, in the user's words, that something has changed or was wrong. Only
    such memories supersede others.
    """
    if memory.speaker != USER or lexicon.language != "en" or len(memory.text) > LONGEST:
        return False
    return any(claim.change for claim in read(memory.text, lexicon))


def supersedes(newer: Memory, older: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether the newer of two statements by the same speaker certainly makes the older one
    untrue.
    """
    if lexicon.language != "en" or max(len(newer.text), len(older.text)) > LONGEST:
        return False
    news = [claim for claim in read(newer.text, lexicon) if claim.change]
    if not news or len(set(lexicon.content(older.text))) > MOST_CONTENT:
        return False
    known = list(read(older.text, lexicon))
    if len(known) != 1:
        return False
    return any(_ends(claim, known[0], newer, older) for claim in news)


ONE_OF_EACH = frozenset({"home", "role", "my", "favourite", "status"})
"""Slots with a single value per person, e.g. a home. Most others, e.g. hobbies, can have
several.
"""


def may_have_changed(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether the newer statement may make the older one untrue without saying that anything
    changed.

    This is possible if both are about the same thing, and a person has only one such thing. A
    positive result must be confirmed, e.g. by a model.
    """
    if lexicon.language != "en" or max(len(newer.text), len(older.text)) > LONGEST:
        return False
    news, known = list(read(newer.text, lexicon)), list(read(older.text, lexicon))
    if len(news) != 1 or len(known) != 1:
        return False
    (new,), (old,) = news, known
    kind, *of = new.slot
    one = kind in ONE_OF_EACH or (kind == "name" and of[0] in ONE_HOLDER)
    return one and _ends(replace(new, change=True), old, newer, older)


def _ends(new: Claim, old: Claim, newer: Memory, older: Memory) -> bool:
    apart = newer.told - older.told
    if new.slot == ("name", ""):
        close = newer.conversation == older.conversation and apart <= AT_ONCE
        return close and old.slot[0] == "name" and new.value != old.value
    if new.slot != old.slot or (new.slot[0] == "when" and apart > SOON):
        return False
    if new.slot[0] == "do":
        # `I quit smoking` ends `I smoke every morning`, but not `I smoke salmon`.
        all_of_it = bool(new.value) or ALWAYS.issuperset(old.value)
        return new.holds != old.holds and _begins(old.value, new.value) and all_of_it
    if not new.holds:
        return old.holds and _begins(old.value, new.value)
    return old.holds and not (_begins(old.value, new.value) or _begins(new.value, old.value))


def _begins(value: tuple[str, ...], beginning: tuple[str, ...]) -> bool:
    return value[: len(beginning)] == beginning


# -- reading -----------------------------------------------------------------------------------


def read(text: str, lexicon: TextAnalyzer) -> Iterator[Claim]:
    """Yield the claims about the user that the patterns find in a text.

    Claims in doubtful sentences are left out.
    """
    for _, _, sentence in sentences(first_person(text), semicolons=True):
        plain = ASIDES.sub(" ", normalize(sentence)).strip()
        if sentence.rstrip().endswith("?") or UNREAL.search(plain):
            continue
        corrected = CORRECTED.search(plain) is not None
        plain = CORRECTED.sub("", plain)
        capitals = re.findall(r"(?<![.!?] )\b[A-Z]\w+", sentence)
        names = frozenset(name.lower() for name in capitals)
        previous_changed = False
        for clause in CLAUSE.split(plain):
            reader = _Clause(clause, corrected or previous_changed, names, lexicon)
            yield from reader.claims()
            previous_changed = clause.endswith("has changed")


class _Clause:
    def __init__(
        self, text: str, corrected: bool, names: frozenset[str], lexicon: TextAnalyzer
    ) -> None:
        self._gone = "anymore" in text
        self._change = corrected or self._gone or CHANGED.search(text) is not None
        self._corrected = corrected
        self._text = " ".join(LOOSE.sub(" ", text).split()).rstrip(" .!;,")
        self._names = names
        self._lexicon = lexicon

    def claims(self) -> Iterator[Claim]:
        """Yield the claim of the first interpretation that fits, if any."""
        for how in (
            *(self._home, self._work, self._by_pattern, self._age, self._name),
            *(self._when, self._count, self._status, self._given_up, self._do),
        ):
            found = how()
            if found is not None:
                yield found
                return

    def _match(self, pattern: str) -> re.Match[str] | None:
        return re.match(pattern, self._text)

    def _stems(self, text: str) -> tuple[str, ...]:
        stems = (" ".join(self._lexicon.content(word)) for word in content_words(text))
        return tuple(stem for stem in stems if stem)

    def _claim(self, slot: tuple[str, ...], value: str, *, change: bool = False) -> Claim | None:
        stems = self._stems(value)
        return Claim(slot, stems, not self._gone, change or self._change) if stems else None

    def _home(self) -> Claim | None:
        moved = self._match(
            r"(?:i|we) (?:have )?(?:moved|relocated)(?: house)?(?: back)?(?: from \w+)?"
            r"(?: over)? to (?P<value>[\w'-]+(?: [\w'-]+)?)"
        )
        found = moved or self._match(
            r"(?:i|we) (?:live|am living|are living) in (?P<value>[\w'-]+(?: [\w'-]+)?)"
        )
        words = found["value"].split() if found else []
        if not words or words[0] not in self._names:
            return None  # not the name of a place, e.g. `I moved to the next question`
        # `lisbon with` → `lisbon`; `new york` is unchanged.
        place = " ".join(word for word in words if word in self._names)
        return self._claim(("home",), place, change=moved is not None)

    def _work(self) -> Claim | None:
        left = self._match(r"i (?:have )?(?:quit|left|lost) my job(?: (?:at|with) (?P<value>.+))?$")
        if left:
            return Claim(("work",), self._stems(left["value"] or ""), False, True)
        begun = self._match(
            r"i (?:have )?(?:started|begun|got|have|found|took)"
            r" (?:a new job|working|a job|work) (?:at|for|with) (?P<value>.+)"
        )
        new = self._text.split("job")[0].endswith("new ")
        return self._claim(("work",), begun["value"], change=new) if begun else None

    def _by_pattern(self) -> Claim | None:
        for slot, pattern in PATTERNS:
            if found := self._match(pattern):
                what = found.groupdict().get("what")
                return self._claim((*slot, what) if what else slot, found["value"])
        return None

    def _age(self) -> Claim | None:
        aged = self._match(r"i (?:am|turned) (?P<value>[\w-]+)(?: years old)?$")
        if aged and (" years old" in self._text or " turned " in self._text):
            return self._claim(("my", "age"), aged["value"])
        return None

    def _name(self) -> Claim | None:
        whose = self._match(
            rf"{MINE}(?P<what>[a-z]+(?: [a-z]+)?)(?:'s name is| is called| is named|'s called)"
            r" (?:(?:mrs?|ms|miss|dr|doctor) )?(?P<value>[\w'-]+)$"
        )
        if whose:
            new = self._change and (self._corrected or whose["what"] in ONE_HOLDER)
            return Claim(("name", whose["what"]), (whose["value"],), True, new)
        named = self._match(
            r"(?:(?:his|her|its) name is|(?:she|he|it) is called) (?P<value>[\w'-]+)$"
        )
        if named and self._corrected:
            return Claim(("name", ""), (named["value"],), True, True)
        return None

    def _when(self) -> Claim | None:
        moved = self._match(
            r"(?:my|the|our) (?P<what>[\w' -]+?) (?:has been |was |has |is |got |have been )?"
            rf"(?:moved|changed|postponed|rescheduled|brought forward|put back) to {TIME}"
        )
        found = moved or self._match(
            rf"(?:my|the|our) (?P<what>[\w' -]+?) (?:is|are|starts?|comes?)(?: coming)?"
            rf" (?:on|at) {TIME}"
        )
        found = found or self._match(rf"(?P<what>i [\w' -]+?) at {TIME}")
        if not found or self._gone:
            return None
        at = found["value"]
        kind = "day" if "day" in at.split()[0] else "hour"
        what = " ".join(self._stems(found["what"]))
        return Claim(("when", kind, what), content_words(at), True, self._change or bool(moved))

    def _count(self) -> Claim | None:
        found = self._match(rf"(?:i|we) have (?P<value>{COUNT}) (?P<what>[\w' -]+)$")
        if not found or self._gone:
            return None
        return Claim(
            ("count", *self._stems(found["what"])),
            content_words(found["value"]),
            True,
            self._change,
        )

    def _status(self) -> Claim | None:
        found = self._match(rf"(?:i|we) (?P<how>(?:am|are|have|got|been| )+)(?P<value>{STATUS})$")
        if not found or self._gone:
            return None
        return self._claim(("status",), found["value"], change="got" in found["how"])

    def _given_up(self) -> Claim | None:
        parted = self._match(
            r"(?:i|we) (?:have )?(?:broke|broken|split) up with my (?P<value>\w+)$"
        )
        if parted:
            return Claim(("do", "have"), self._stems(parted["value"]), False, True)
        found = self._match(
            r"(?:i|we) (?:have )?(?:stopped|quit|gave up|given up)(?: on)?"
            r" (?P<verb>\w+)(?P<value>.*)$"
        )
        if not found or not found["verb"].endswith("ing"):
            return None
        slot = ("do", self._verb(found["verb"]))
        return Claim(slot, self._stems(found["value"]), False, True)

    def _do(self) -> Claim | None:
        if disliked := DISLIKE.match(self._text):
            value = self._stems(disliked["value"])
            return Claim(("do", "like"), value, self._gone, self._change)
        found = self._match(
            r"(?:i|we) (?P<am>am |are )?(?P<no>(?:do )?not )?(?P<verb>[a-z]+)(?P<value>.*)$"
        )
        if not found:
            return None
        progressive = found["verb"].endswith("ing")
        if bool(found["am"]) != progressive or found["verb"].endswith("ed"):
            return None
        holds = not (found["no"] or self._gone)
        value = self._stems(found["value"])
        return Claim(("do", self._verb(found["verb"])), value, holds, self._change)

    def _verb(self, word: str) -> str:
        stem = " ".join(self._stems(word)) or word
        return "like" if stem in LIKE else stem
