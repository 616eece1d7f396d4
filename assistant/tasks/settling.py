"""Finds what the user may have settled about a task, in their own words. English only.

Something that is only considered, asked or reported, or is about other people, settles nothing. The
assistant's words only show what a "yes" or a "no" refers to and which question the user answers. If
they repeat the user's words, they also show that the user has settled something. The assistant's
words never become a line of the task, unless the user agrees to them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assistant.language.dialogue_acts import is_courtesy
from assistant.language.normalisation import content_words, numbers_in
from assistant.language.numbers import numbers
from assistant.language.word_lists import words_of
from assistant.memory import is_private, says_unknown
from assistant.tasks import patterns as p
from assistant.tasks.clauses import Clause, clauses
from assistant.tasks.proposals import agreement, asks, proposed
from assistant.tasks.subjects import names_part, other_end, subjects

MOST_WORDS = 14
"""A line with more words than this is cut between two clauses."""
LONGEST = 24
"""Maximum number of words of a line."""
LONGEST_ANSWER = 12
"""Maximum number of words of an answer without a verb: "four nights, from the third of May"."""
LONGEST_CONTINUATION = 8
MOST = 6
"""Maximum number of lines from one utterance."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that the user's words may settle.

    `certain` is set if the form of the words alone shows that they settle it. `ours` is set if they
    probably do ("we need a cot"), provided that they are about the task. `corrects` is set if they
    say that they replace something earlier. `drops` is set if they take something back.
    `others` is set if they say what somebody else does. `bare` is set if they have no verb and
    answer no question. `offered` is set if the words are the assistant's, and may have nothing to
    do with a plan: "Would you like a joke?"
    """

    text: str
    certain: bool = True
    ours: bool = True
    corrects: bool = False
    drops: bool = False
    others: bool = False
    bare: bool = False
    offered: bool = False


def candidates(said: str, before: str = "") -> list[Candidate]:
    """Return what an utterance may settle, in order.

    Args:
        before: the assistant's words to which the utterance replies; empty if unknown.
    """
    if is_private(said):
        return []
    agrees, rest = agreement(said)
    made = proposed(before, said) if agrees is not None else None
    offer, offered = (made.what, not made.plans) if made is not None else ("", False)
    found = _last_words(_found(said, asks(before)))[:MOST]
    if offer and agrees and not _hesitates(said, found):
        found = [each for each in found if not _says(offer, each.text)]
        corrects = p.CORRECTS.search(said) is not None
        if not any(_says(each.text, offer) for each in found):
            found = [Candidate(offer, corrects=corrects, offered=offered), *found]
        return found[:MOST]
    if offer and agrees is False and not found and not content_words(rest):
        return [Candidate(f"not {offer}", drops=True, offered=offered)]
    return found


def _hesitates(said: str, found: Sequence[Candidate]) -> bool:
    """Whether a yes is followed by a question or a doubt, but not by a plan."""
    parts = list(clauses(said))
    doubts = any(not part or any(each.doubtful for each in part) for part in parts)
    return doubts and not any(each.certain for each in found)


def _says(text: str, other: str) -> bool:
    """Whether a text contains all content words of another."""
    return set(content_words(text)) >= set(content_words(other))


def _last_words(found: Iterator[Candidate]) -> list[Candidate]:
    """Drop candidates that the same utterance corrects: "Half six. No, we start at seven"."""
    kept: list[Candidate] = []
    for each in found:
        own = [one for one in kept if not (one.others or one.drops)]
        if each.corrects and own and not each.drops:
            shared = subjects(own[-1].text) & subjects(each.text)
            ends = other_end(own[-1].text, each.text)
            if (shared and not ends) or p.INSTEAD.search(each.text):
                kept.remove(own[-1])
        kept.append(replace(each, text=_trimmed(each.text)))
    return kept


def _found(said: str, question: str) -> Iterator[Candidate]:
    corrected, first = False, True
    for sentence in clauses(said):
        open_: Candidate | None = None
        thing = ""
        for clause in sentence:
            marked = p.CORRECTS.search(clause.lead) is not None
            corrected = corrected or (marked and not (first and p.OPPOSES.match(clause.lead)))
            first = False
            if p.ABSENT.match(clause.text):
                corrected, open_ = True, None
                continue
            if clause.doubtful or not clause.text:
                if p.UNSURE.search(clause.text):
                    open_ = None
                elif not clause.text and open_ is not None:
                    open_ = replace(open_, corrects=open_.corrects or marked)
                elif open_ is not None:
                    yield open_
                    open_ = None
                continue
            if open_ is not None and _opposes(clause, open_):
                open_ = replace(open_, text=f"{open_.text}, {clause.text}", corrects=True)
                continue
            new = _settles(clause, question)
            joins = open_ is not None and _continues(clause, open_)
            if open_ is not None and joins and (new is None or _is_part(new, clause)):
                open_ = replace(open_, text=f"{open_.text}, {clause.text}")
                continue
            if new is not None and p.ONLY_POINTS.match(new.text):
                if open_ is not None:
                    open_ = replace(open_, text=f"{open_.text}, {new.text}")
                continue
            joined = bool(thing) and new is not None and p.PRONOUN.search(new.text) is not None
            if new is not None and joined:
                new = replace(new, text=f"{thing}, {new.text}")
            alone = new is None or new.bare
            thing = clause.text if alone and not p.SELF.match(clause.text) else ""
            if open_ is not None and not joined:
                yield open_
            open_ = None
            if new is not None:
                open_ = replace(new, corrects=new.corrects or marked or corrected)
        if open_ is not None:
            yield open_


def _continues(clause: Clause, open_: Candidate) -> bool:
    """Whether a clause adds to the one before it: "from Monday, for three nights"."""
    words = len(clause.text.split())
    return (
        words <= LONGEST_CONTINUATION
        and not open_.others
        and len(open_.text.split()) + words <= MOST_WORDS
        and not p.SELF.match(clause.text)
        and not p.FINITE.search(clause.text)
        and not p.CORRECTS.search(clause.lead)
        and not p.OUT.match(clause.text)
        and not is_courtesy(clause.text)
    )


def _opposes(clause: Clause, open_: Candidate) -> bool:
    """Whether a clause names the old value that the previous clause has replaced: "forty boxes, not
    thirty"."""
    found = p.RATHER_NOT.match(clause.text)
    if found is None:
        return False
    shared = subjects(found["what"]) & subjects(open_.text)
    return bool(shared) or bool(numbers_in(found["what"]) and numbers_in(open_.text))


def _is_part(new: Candidate, clause: Clause) -> bool:
    """Whether a candidate is its clause's whole text. Such a clause may continue another."""
    return new.text == clause.text and not new.drops


def _settles(clause: Clause, question: str) -> Candidate | None:
    """Return what a clause may settle; None if it settles nothing."""
    text = clause.text
    corrects = p.CORRECTS.search(text) is not None
    if p.PERSON_ONLY.match(text) or p.TOPIC.match(text):
        return None
    if _person(text) and (p.FINITE.search(text) or not p.WHO.search(question)):
        return _made(text, certain=False, ours=False, others=True)
    if found := p.DROP.match(text):
        return _made(f"not {found['what']}", drops=True)
    if p.OUT.match(text):
        return _made(text, drops=True)
    if found := p.LET.match(text):
        changed = p.MAKE.match(found["rest"])
        rest = changed["rest"] if changed else _without(p.TENTATIVE, found["rest"])
        return _made(rest, corrects=corrects)
    if p.LET_ANYTHING.match(text):
        return None
    own = _own_plan(text, question, corrects=corrects)
    if own is not None:
        return own
    if found := p.MAKE.match(text):
        return _made(found["rest"], corrects=corrects)
    if (found := p.SUITS.match(text)) and not p.FINITE.search(found["what"]):
        return _made(found["what"], certain=bool(question), corrects=corrects)
    if found := p.FRONTED.match(text):
        return _made(text, certain=False, corrects=corrects)
    found = p.IS.match(text)
    if found and not p.COMPLAINS.match(found["rest"]):
        pointing = found["what"].lower() in ("it", "there")
        about = names_part(found["what"]) or (pointing and bool(subjects(found["rest"])))
        return _made(text, certain=about and bool(question), ours=about, corrects=corrects)
    if found:
        return None
    return _answer(text, question, corrects=corrects)


def _own_plan(text: str, question: str, *, corrects: bool) -> Candidate | None:
    """Return a candidate for a clause about the user's own plans; None for any other clause."""
    alone = text[:2].lower() in ("i ", "i'")
    for pattern in (p.HAVE, p.WILL, p.DONE, p.GOING, p.WANT, p.OUGHT, p.PLAIN):
        if found := pattern.match(text):
            groups = found.groupdict()
            rest = groups.get("kept") or groups["rest"]
            plain = _without(p.TENTATIVE, rest)
            if pattern is p.HAVE or (pattern is p.WILL and p.BEGINS_STATE.match(rest)):
                plain = text
            elif pattern is p.WANT:
                plain = _without(p.FAVOURS, plain)
            return _made(
                plain,
                certain=pattern is p.DONE or (pattern is p.WILL and not alone),
                ours=not alone or bool(question),
                corrects=corrects,
            )
    return None


def _without(pattern: re.Pattern[str], text: str) -> str:
    """Remove what the pattern matches from the beginning of a text."""
    found = pattern.match(text)
    return text[found.end() :] if found else text


def _person(text: str) -> bool:
    return p.PERSON.match(text) is not None


def _answer(text: str, question: str, *, corrects: bool) -> Candidate | None:
    """Return a candidate for a short clause without a verb; None for any other clause."""
    short = len(text.split()) <= LONGEST_ANSWER
    if (
        not short
        or p.SELF.match(text)
        or p.FINITE.search(text)
        or says_unknown(text)
        or is_courtesy(text)
    ):
        return None
    return _made(
        text, certain=bool(question), ours=bool(question), corrects=corrects, bare=not question
    )


def _made(
    text: str,
    *,
    certain: bool = True,
    ours: bool = True,
    corrects: bool = False,
    drops: bool = False,
    others: bool = False,
    bare: bool = False,
) -> Candidate | None:
    """Return a candidate in the user's own words; None if the words name nothing, or leave a choice
    open."""
    words = " ".join(text.split()).strip(" ,.;:!")
    plain = _trimmed(words)
    if not plain or p.POINTS.fullmatch(plain) or re.search(r"\bor\b", plain, re.IGNORECASE):
        return None
    if len(plain.split()) > LONGEST or not content_words(plain):
        return None
    return Candidate(_lowered(words), certain, ours, corrects, drops, others, bare)


def _lowered(words: str) -> str:
    """Lower-case the first word if it is a common one, which may have begun a sentence."""
    first = words.split(" ", 1)[0]
    plain = first.lower().rstrip(",").partition("'")[0]
    known = plain in words_of("second_person", "function") or plain in numbers() or plain == "we"
    return f"{first.lower()}{words[len(first) :]}" if known else words


def _trimmed(words: str) -> str:
    """Return a line without filler at its end, such as "please". A long line is cut between two
    clauses."""
    while (bare := p.TRAILING.sub("", words)) != words:
        words = bare
    return p.CUTS.split(words)[0].rstrip(" ,") if len(words.split()) > MOST_WORDS else words
