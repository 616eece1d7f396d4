"""The skill that takes notes, reads them and removes them."""

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from functools import partial

from assistant.events import Event
from assistant.intents import Command, CommandKind
from assistant.language.numbers import number_word
from assistant.language.second_person import second_person, spoken_phrase, spoken_topic
from assistant.language.sentences import as_sentence
from assistant.language.stemming import TextAnalyzer
from assistant.language.word_lists import words_of
from assistant.memory import says_unknown, spoken_replies
from assistant.skills.removed_entries import RemovedEntries
from assistant.skills.skill import BRING_BACK, UNDO_IT, Choice, Reply, last_done
from assistant.skills.spoken_statements import NOTHING, OFF_RECORD, sentence, that
from assistant.state import Entry, EntryKind, StateStore

WHAT = "What should I note?"
NO_NOTES = "You don't have any notes."
WHICH = "Which note shall I remove?"
KEPT = "All right, I'll keep it."
ALL_KEPT = "All right, I'll keep them."
GONE = "That note is gone."
MOST = 3
"""Maximum number of notes that are read out, or named in a question."""
RECENT_S = 600.0
"""For this many seconds, "delete that note" means what was noted or read last."""


class Notes:
    """Keeps what the user dictates. A note's content is {"text": str}.

    Args:
        lexicon: compares notes with the subject that the user names.
        off_record: returns whether the session is off the record. Nothing is noted then.
        now: returns the seconds of a clock that never goes back.
    """

    kinds = frozenset({CommandKind.NOTE_ADD, CommandKind.NOTE_READ, CommandKind.NOTE_REMOVE})

    def __init__(
        self,
        store: StateStore,
        lexicon: TextAnalyzer,
        off_record: Callable[[], bool],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._lexicon = lexicon
        self._english = lexicon.language == "en"
        self._off_record = off_record
        self._now = now
        self._removed = RemovedEntries(store)
        self._named: tuple[tuple[str, ...], float] = ((), float("-inf"))
        """Ids of the notes that were added or read last, and when."""

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        self._removed.watch(event)

    async def carry_out(self, command: Command) -> Reply:
        match command.kind:
            case CommandKind.NOTE_ADD:
                return await self._add(command.words)
            case CommandKind.NOTE_READ:
                return await self._read(command.words)
        return await self._remove(command.words)

    async def ask(self, command: Command) -> Reply | None:
        do = partial(self.carry_out, command)
        if command.kind is CommandKind.NOTE_ADD:
            if self._off_record():
                return None
            text = sentence(command.words or "")
            note = f"note {that(text, english=self._english)}" if text else "take a note"
            return Reply(f"Shall I {note}?", if_yes=do)
        if command.kind is CommandKind.NOTE_READ:
            about = self._about(command.words)
            what = f"what you noted{about}" if about else "your notes"
            found = await self._meant(command.words)
            return Reply(f"Shall I read {what}?", if_yes=do) if found else None
        reply = await self._remove(command.words, sure=False)
        return reply if reply.asks else None

    # -- adding ---------------------------------------------------------------------------------

    async def _add(self, words: str | None) -> Reply:
        if self._off_record():
            return Reply(OFF_RECORD)
        text = sentence(words or "")
        if not text:
            return Reply(WHAT, if_said=self._dictated)
        [note] = await asyncio.to_thread(self._store.add, EntryKind.NOTE, [{"text": text}])
        self._name([note])
        return Reply(
            f"Noted: {self._phrase(note)}.",
            undo=partial(self._take_back, note.id),
            undo_question=partial(self._shall_take_back, note.id),
        )

    async def _dictated(self, words: str) -> Reply | None:
        """Take the answer to "What should I note?"."""
        if says_unknown(words, only=True):
            return Reply(NOTHING)
        return await self._add(words) if sentence(words) else None

    async def _take_back(self, key: str) -> Reply:
        gone = await asyncio.to_thread(self._store.remove, [key])
        return Reply("All right, I've dropped that note." if gone else GONE)

    async def _shall_take_back(self, key: str) -> str:
        note = await asyncio.to_thread(self._store.get, key)
        return last_done(f"note this: {self._phrase(note)}", UNDO_IT) if note else ""

    # -- reading --------------------------------------------------------------------------------

    async def _read(self, words: str | None) -> Reply:
        found = await self._meant(words)
        if not found:
            return Reply(await self._none(words))
        self._name(found[:MOST])
        texts = [self._whole(each) for each in found[:MOST]]
        if len(found) == 1:
            return Reply(f"You noted: {texts[0]}")
        more = len(found) - MOST
        count = f"You have {number_word(len(found))} notes{self._about(words)}"
        text = f"{count}, the newest first. {' '.join(texts)}"
        return Reply(f"{text} And {number_word(more)} more." if more > 0 else text)

    async def _none(self, words: str | None) -> str:
        """Return the reply if the user can't mean any note."""
        every = await asyncio.to_thread(self._all)
        return f"I have no note{self._about(words)}." if every else NO_NOTES

    # -- removing -------------------------------------------------------------------------------

    async def _remove(self, words: str | None, *, sure: bool = True) -> Reply:
        if _pointer(words) != "any":
            found = await self._meant(words)
        else:
            every = await asyncio.to_thread(self._all)
            keys, at = self._named
            recent = keys if self._now() - at < RECENT_S else ()
            found = [each for each in every if each.id in recent]
            if not found:
                return self._shall_remove_any(every)
        if not found:
            return Reply(await self._none(words))
        if len(found) > 1:
            return self._which(found, words)
        if not (sure and self._fits(found[0], words)):
            return self._shall_remove(found[0])
        return await self._do_remove([found[0].id])

    def _shall_remove_any(self, every: Sequence[Entry]) -> Reply:
        """Ask which note to remove if the user has named none."""
        if not every:
            return Reply(NO_NOTES)
        if len(every) == 1:
            return self._shall_remove(every[0])
        return Reply(WHICH, if_said=self._told_which)

    async def _told_which(self, words: str) -> Reply | None:
        """Take the user's answer about which note they mean. Return None if no note fits."""
        found = await self._meant(words)
        if len(found) == 1:
            return await self._do_remove([found[0].id])
        return self._which(found, words) if found else None

    def _shall_remove(self, note: Entry) -> Reply:
        question = f"Shall I remove this note: {self._phrase(note)}?"
        return Reply(question, if_yes=partial(self._do_remove, [note.id]), if_no=KEPT, deletes=1)

    def _which(self, found: Sequence[Entry], words: str | None) -> Reply:
        """Ask which of several notes to remove, or whether to remove them all."""
        keys = [each.id for each in found]
        if len(found) > MOST or _pointer(words) == "every":
            text = f"That's {number_word(len(found))} notes. Shall I remove them all?"
            act = partial(self._do_remove, keys)
            return Reply(text, if_yes=act, if_no=ALL_KEPT, deletes=len(found))
        choices = [
            Choice(self._phrase(each), partial(self._do_remove, [each.id])) for each in found
        ]
        return Reply(
            spoken_replies.either([each.name for each in choices]),
            choices=(*choices, Choice("", partial(self._do_remove, keys))),
            if_no=ALL_KEPT,
            deletes=len(found),
        )

    async def _do_remove(self, keys: Sequence[str]) -> Reply:
        removal, gone = await asyncio.to_thread(self._removed.remove, keys)
        if not gone:
            return Reply(GONE)
        return Reply(
            f"Removed {self._these(gone)}.",
            undo=partial(self._restore, removal),
            undo_question=partial(self._shall_restore, removal),
        )

    async def _restore(self, removal: str) -> Reply:
        back = await asyncio.to_thread(self._removed.restore, removal)
        if not back:
            return Reply(spoken_replies.NOTHING_TO_UNDO)
        self._name(back)
        return Reply(f"All right, I've brought back {self._these(back)}.")

    async def _shall_restore(self, removal: str) -> str:
        kept = self._removed.kept(removal)
        return last_done(f"remove {self._these(kept)}", BRING_BACK) if kept else ""

    # -- which notes ----------------------------------------------------------------------------

    def _all(self) -> list[Entry]:
        """Return all notes, newest first."""
        found = self._store.entries(EntryKind.NOTE)
        return sorted(found, key=lambda each: each.created)[::-1]

    async def _meant(self, words: str | None) -> list[Entry]:
        """Return the notes that may be meant, newest first: those that share the most words with
        the subject. If `words` name no subject, return the newest note if they ask for it, or else
        all notes."""
        every = await asyncio.to_thread(self._all)
        pointer = _pointer(words)
        if words is None or pointer:
            return every[:1] if pointer == "newest" else every
        wanted = self._lexicon.content_and_numbers(words)
        shared = [len(wanted & self._lexicon.content_and_numbers(_text(each))) for each in every]
        best = max(shared, default=0)
        return [each for each, n in zip(every, shared, strict=True) if n == best > 0]

    def _fits(self, note: Entry, words: str | None) -> bool:
        """Return whether a note contains all words of the subject. If it contains only some, the
        user may mean a note that doesn't exist."""
        if words is None or _pointer(words):
            return True
        content = self._lexicon.content_and_numbers
        return content(words) <= content(_text(note))

    def _name(self, notes: Sequence[Entry]) -> None:
        self._named = (tuple(each.id for each in notes), self._now())

    # -- in words -------------------------------------------------------------------------------

    def _about(self, words: str | None) -> str:
        """Return e.g. " about your boiler"; empty if the words name no subject."""
        if words is None or _pointer(words):
            return ""
        subject = re.sub(r"^(?:about|on|regarding)\s+", "", words.strip(), flags=re.IGNORECASE)
        return f" about {spoken_topic(subject, english=self._english)}"

    def _phrase(self, note: Entry) -> str:
        """Return the beginning of a note as part of a sentence."""
        return spoken_phrase(_text(note), english=self._english)

    def _whole(self, note: Entry) -> str:
        """Return a note as it is read out. Unlike a phrase, it is never cut."""
        turned = second_person(_text(note)) if self._english else None
        return as_sentence(turned or _text(note))

    def _these(self, notes: Sequence[Entry]) -> str:
        if len(notes) > 1:
            return f"{number_word(len(notes))} notes"
        return f"this note: {self._phrase(notes[0])}"


def _text(note: Entry) -> str:
    return str(note.content["text"])


def _pointer(words: str | None) -> str:
    """Return how words that name no subject refer to notes: "newest", "every" or "any". Return an
    empty string if they name a subject."""
    said = set(re.findall(r"[\w']+", (words or "").lower())) - words_of("notes", "any")
    for pointer in ("newest", "every"):
        if said and said <= words_of("notes", pointer):
            return pointer
    return "" if said else "any"
