"""The skill that sets timers, changes them, and says how long they still run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from assistant.intents import Command, CommandKind
from assistant.language.durations import seconds
from assistant.language.second_person import spoken_topic
from assistant.language.spoken_times import ordinal_words_of, spoken_duration
from assistant.memory import microseconds, time_of
from assistant.skills.due.choosing import Act, called, which
from assistant.skills.due.due_entries import DueEntries
from assistant.skills.due.due_times import Content, is_over
from assistant.skills.due.due_words import (
    RUNG_ALREADY,
    bare_name,
    left,
    listed,
    sentence,
    the_timer,
    timer_choice,
)
from assistant.skills.skill import Reply
from assistant.state import Entry, EntryKind

HOW_LONG = "For how long?"
HOW_MUCH = "By how much?"
NONE = "You have no timers."
NONE_PAUSED = "No timer is paused."
ALL_PAUSED = "No timer is running."
GONE = "That timer is gone."
_TIMER = EntryKind.TIMER
_SECOND = timedelta(seconds=1)
_MOMENTS = frozenset({"ends_at", "left_s", "rang_at", "snoozed_until"})


class Timers:
    """Sets timers, changes them, and says how long they still run. Several may run at once. The
    user picks one by its name or its length. If it is unclear which one is meant, the user is
    asked.

    Args:
        off_record: returns whether the session is off the record. Timers then get no names.
    """

    kinds = frozenset(
        {
            *(CommandKind.TIMER_SET, CommandKind.TIMER_LEFT, CommandKind.TIMER_ADD),
            *(CommandKind.TIMER_TAKE, CommandKind.TIMER_PAUSE, CommandKind.TIMER_RESUME),
            CommandKind.TIMER_CANCEL,
        }
    )

    def __init__(self, entries: DueEntries, off_record: Callable[[], bool]) -> None:
        self._entries = entries
        self._off_record = off_record

    async def carry_out(self, command: Command) -> Reply | None:
        match command.kind:
            case CommandKind.TIMER_SET:
                return await self._set(command.when, command.name)
            case CommandKind.TIMER_LEFT:
                return await self._left(command)
            case CommandKind.TIMER_ADD | CommandKind.TIMER_TAKE:
                return await self._change(command)
            case CommandKind.TIMER_PAUSE:
                return await self._one_of(command, self._pause)
            case CommandKind.TIMER_RESUME:
                return await self._one_of(command, self._resume)
            case _:
                return await self._one_of(command, self._cancel)

    async def ask(self, command: Command) -> Reply | None:
        if command.kind is CommandKind.TIMER_SET:
            length = seconds(command.when or "")
            if length is None:
                return None
            what = f"Shall I set a timer for {spoken_duration(length)}?"
        else:
            found, _ = await self._meant(command)
            if not found or (len(found) > 1 and not command.every):
                return await self.carry_out(command) if len(found) > 1 else None
            what = self._question(command, found)
        return Reply(what, if_yes=partial(self._agreed, command)) if what else None

    # -- inside ---------------------------------------------------------------------------------

    async def _agreed(self, command: Command) -> Reply:
        return await self.carry_out(command) or Reply(NONE)

    def _question(self, command: Command, found: Sequence[Entry]) -> str:
        """Return a question that asks whether the command is meant; empty if the command doesn't
        say how much time to add or to take off."""
        one = listed([the_timer(each.content) for each in found])
        length = seconds(command.when or "")
        match command.kind:
            case CommandKind.TIMER_ADD if length is not None:
                return f"Shall I add {spoken_duration(length)} to {one}?"
            case CommandKind.TIMER_TAKE if length is not None:
                return f"Shall I take {spoken_duration(length)} off {one}?"
            case CommandKind.TIMER_PAUSE:
                return f"Shall I pause {one}?"
            case CommandKind.TIMER_RESUME:
                return f"Shall I resume {one}?"
            case CommandKind.TIMER_CANCEL:
                return f"Shall I cancel {one}?"
            case CommandKind.TIMER_LEFT:
                return f"Do you want to know how long {one} has left?"
            case _:
                return ""

    async def _set(self, when: str | None, name: str | None, *, asked: bool = False) -> Reply:
        length = seconds(when or "", bare_minutes=asked)
        if length is None:
            return Reply(HOW_LONG, if_said=partial(self._told_length, name))
        called_so = "" if self._off_record() else bare_name(name or "")
        if seconds(called_so) == length:  # "a five minute timer"
            called_so = ""
        ends = self._entries.clocks.now() + length * _SECOND
        content = {"name": called_so, "length_s": length, "ends_at": microseconds(ends)}
        entry = await self._entries.add(_TIMER, content)
        words = spoken_duration(length)
        named = f"{the_timer(content).removeprefix('the ')}: {words}"
        text = named if called_so else f"{words}, starting now"
        return Reply(sentence(text), undo=partial(self._unset, entry.id))

    async def _told_length(self, name: str | None, words: str) -> Reply | None:
        known = seconds(words, bare_minutes=True) is not None
        return await self._set(words, name, asked=True) if known else None

    async def _unset(self, key: str) -> Reply:
        if await self._entries.has_rung(key):
            return Reply(RUNG_ALREADY)
        _, gone = await self._entries.remove([key])
        return Reply(f"Cancelled {the_timer(gone[0].content)}." if gone else GONE)

    async def _left(self, command: Command) -> Reply:
        found, _ = await self._meant(command)
        if not found:
            return await self._nothing(command)
        said = [self._says_left(each, alone=len(found) == 1) for each in found]
        return Reply(sentence(listed(said)))

    def _says_left(self, timer: Entry, *, alone: bool) -> str:
        still, content = left(self._left_s(timer.content)), timer.content
        if is_over(content):
            return f"{the_timer(content)} is done"
        if "left_s" in content:
            return f"{the_timer(content)} is paused with {still} left"
        plain = alone and not content["name"]
        return f"{still} left" if plain else f"{the_timer(content)} has {still} left"

    def _left_s(self, content: Content) -> float:
        if "left_s" in content:
            return float(content["left_s"])
        at = self._entries.due_at(content)
        return max(0.0, (at - self._entries.clocks.now()).total_seconds()) if at else 0.0

    async def _change(self, command: Command) -> Reply:
        """Add time to a timer, or take some off."""
        length = seconds(command.when or "")
        sign = 1 if command.kind is CommandKind.TIMER_ADD else -1
        if length is None:
            return Reply(HOW_MUCH, if_said=partial(self._told_change, command))
        return await self._one_of(command, partial(self._lengthen, sign * length))

    async def _told_change(self, command: Command, words: str) -> Reply | None:
        length = seconds(words, bare_minutes=True)
        if length is None:
            return None
        sign = 1 if command.kind is CommandKind.TIMER_ADD else -1
        return await self._one_of(command, partial(self._lengthen, sign * length))

    async def _lengthen(self, by_s: float, timers: Sequence[Entry]) -> Reply:
        if any(self._left_s(each.content) + by_s <= 0 for each in timers):
            shortest = min(timers, key=lambda each: self._left_s(each.content))
            still = left(self._left_s(shortest.content))
            return Reply(sentence(f"{the_timer(shortest.content)} has only {still} left"))
        changed = await self._entries.change([each.id for each in timers], self._by(by_s))
        if not changed:
            return Reply(GONE)
        did = "Added" if by_s > 0 else "Took off"
        still = listed([self._says_left(each.after, alone=len(changed) == 1) for each in changed])
        text = f"{did} {spoken_duration(abs(by_s))}. {sentence(still)}"
        rang = {
            each.before.id: _moments(each.before.content) if is_over(each.before.content) else None
            for each in changed
        }
        return Reply(text, undo=partial(self._put_back, by_s, rang))

    def _by(self, by_s: float) -> Callable[[Entry], Content | None]:
        """Return a function that lengthens a timer. A timer that has rung runs again, from now."""
        now = self._entries.clocks.now()

        def edit(timer: Entry) -> Content | None:
            content = dict(timer.content)
            if "left_s" in content:
                return {**content, "left_s": content["left_s"] + by_s}
            ends = time_of(content.pop("snoozed_until", content["ends_at"]))
            base = now if content.pop("rang_at", None) is not None else ends
            return {**content, "ends_at": microseconds(max(base, now) + by_s * _SECOND)}

        return edit

    async def _put_back(self, by_s: float, rang: Mapping[str, Content | None]) -> Reply:
        """Undo lengthening timers by `by_s`, if they still run. They may have been paused or
        resumed since, so the old times are not restored: `by_s` is taken off again. Timers that had
        rung are over again.

        Args:
            rang: id of a timer → the moments that it contained before, or None if it had not rung.
        """
        shorten = self._by(-by_s)
        for each in await self._entries.running(_TIMER):
            still = self._left_s(each.content)
            if each.id in rang and rang[each.id] is None and still <= by_s:
                text = f"{the_timer(each.content)} has only {left(still)} left, so I left it alone"
                return Reply(sentence(text))

        def edit(timer: Entry) -> Content | None:
            if is_over(timer.content):
                return None
            moments = rang[timer.id]
            return shorten(timer) if moments is None else {**_untimed(timer.content), **moments}

        back = await self._entries.change(rang, edit)
        if not back:
            return Reply(GONE)
        return Reply(sentence(listed([self._says_left(each.after, alone=False) for each in back])))

    async def _pause(self, timers: Sequence[Entry]) -> Reply:
        def edit(timer: Entry) -> Content | None:
            if "left_s" in timer.content:
                return None
            still = self._left_s(timer.content)
            return {**_untimed(timer.content), "left_s": still}

        changed = await self._entries.change([each.id for each in timers], edit)
        if not changed:
            return Reply(GONE)
        names = listed([the_timer(each.after.content) for each in changed])
        undo = partial(self._undo_by, self._resume, [each.after.id for each in changed])
        return Reply(f"Paused {names}.", undo=undo)

    async def _resume(self, timers: Sequence[Entry]) -> Reply:
        now = self._entries.clocks.now()

        def edit(timer: Entry) -> Content | None:
            if "left_s" not in timer.content:
                return None
            ends = now + timer.content["left_s"] * _SECOND
            return {**_untimed(timer.content), "ends_at": microseconds(ends)}

        changed = await self._entries.change([each.id for each in timers], edit)
        if not changed:
            return Reply(GONE)
        going = [self._says_left(each.after, alone=False) for each in changed]
        undo = partial(self._undo_by, self._pause, [each.after.id for each in changed])
        return Reply(sentence(listed(going)), undo=undo)

    async def _undo_by(self, act: Act, keys: Sequence[str]) -> Reply:
        """Undo a change by doing the opposite. This can't be undone itself."""
        found = [each for each in await self._entries.running(_TIMER) if each.id in keys]
        return replace(await act(found), undo=None) if found else Reply(GONE)

    async def _cancel(self, timers: Sequence[Entry]) -> Reply:
        removal, gone = await self._entries.remove([each.id for each in timers])
        if not gone:
            return Reply(GONE)
        names = listed([the_timer(each.content) for each in gone])
        return Reply(f"Cancelled {names}.", undo=partial(self._bring_back, removal))

    async def _bring_back(self, removal: str) -> Reply:
        back, late = await self._entries.restore(removal)
        going = [self._says_left(each, alone=False) for each in back]
        going += [f"{the_timer(each.content)} would be done by now" for each in late]
        return Reply(sentence(listed(going)) if going else GONE)

    # -- which timer ----------------------------------------------------------------------------

    async def _one_of(self, command: Command, act: Act) -> Reply:
        """Act on the timer that is meant. If only some of the words fit, ask first."""
        found, fits = await self._meant(command)
        if not found:
            return await self._nothing(command)
        question = "" if fits else self._question(command, found)
        if question and (command.every or len(found) == 1):
            return Reply(question, if_yes=partial(act, found))
        return await which(found, self._choices(found), act, every=command.every)

    def _choices(self, found: Sequence[Entry]) -> list[str]:
        """Return what each timer is called in a question, soonest first. If two have the same name
        or length, the time left is added. If that doesn't tell them apart, their order does."""
        names = [timer_choice(each.content) for each in found]
        if len(set(names)) < len(names):
            still = [left(self._left_s(each.content)) for each in found]
            names = [f"{name} with {rest} left" for name, rest in zip(names, still, strict=True)]
        if len(set(names)) < len(names):
            names = [f"the {ordinal_words_of(n)} to end" for n in range(1, len(names) + 1)]
        return names

    async def _meant(self, command: Command) -> tuple[list[Entry], bool]:
        """Return the timers that a command may mean, and whether all of its words fit."""
        found = await self._entries.running(_TIMER)
        if not found and command.kind in (CommandKind.TIMER_ADD, CommandKind.TIMER_CANCEL):
            found = await self._entries.lately_rung(_TIMER)
        if command.kind in (CommandKind.TIMER_PAUSE, CommandKind.TIMER_RESUME):
            paused = command.kind is CommandKind.TIMER_RESUME
            found = [each for each in found if ("left_s" in each.content) is paused]
        name = bare_name(command.name or "")
        length = seconds(name)
        if not name:
            return found, True
        if length is not None:
            return [each for each in found if each.content["length_s"] == length], True
        fitting, fits = called(found, name, lambda each: str(each.content["name"]))
        only_unnamed = len(found) == 1 and not found[0].content["name"]
        if not fitting and (only_unnamed or command.every):
            return found, True
        return fitting, fits

    async def _nothing(self, command: Command) -> Reply:
        """Say that there is no such timer."""
        name = spoken_topic(bare_name(command.name or ""))
        if not await self._entries.running(_TIMER):
            return Reply(NONE)
        if name and not command.every:
            return Reply(f"There's no {name} timer.")
        return Reply(NONE_PAUSED if command.kind is CommandKind.TIMER_RESUME else ALL_PAUSED)


def _untimed(content: Content) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key not in _MOMENTS}


def _moments(content: Content) -> Content:
    return {key: content[key] for key in _MOMENTS & content.keys()}
