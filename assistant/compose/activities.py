"""Creates forms and tasks, on which the user and the assistant work over several turns."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial

from assistant.compose.state import UserState
from assistant.context import ShortTermMemory
from assistant.errors import StoreError
from assistant.event_bus import EventBus
from assistant.events import Event, Notice, Phase, Severity, StateChanged
from assistant.forms import FormLibrary, FormReader
from assistant.idle import ActivityMonitor
from assistant.language.stemming import TextAnalyzer
from assistant.memory import UserStatements
from assistant.paths import Home
from assistant.settings import Settings
from assistant.skills import Activities, FormActivity, Remark, TaskActivity
from assistant.voice import Dialogue
from models.interfaces import SlotReader


async def open_activities(
    home: Home,
    settings: Settings,
    bus: EventBus,
    dialogue: Dialogue,
    window: ShortTermMemory,
    state: UserState,
    reader: SlotReader | None,
    statements: UserStatements | None,
    remark: Callable[[Remark], object],
    stack: AsyncExitStack,
) -> Activities:
    """Resume the form or task that an earlier session left open. Pass it what is said, and show it
    to the model.

    Args:
        reader: finds a form's values in an utterance; None without a model for the language.
        statements: stores what was settled in a task; None without a long-term memory.
        remark: makes a remark once the current turn has been answered.
    """

    def off_record() -> bool:
        return dialogue.off_record

    lexicon, library = TextAnalyzer(settings.persona.language), FormLibrary(home.forms)
    filling = FormReader(reader) if reader else None
    english = lexicon.language == "en"
    forms = FormActivity(library, state.store, off_record, filling, english=english)
    tasks = TaskActivity(state.store, lexicon, off_record, statements)
    room = ActivityMonitor(Phase.LISTENING)
    quiet = partial(room.lasting, 0.0)
    activities = Activities((forms, tasks), lambda: window.conversation, quiet, remark)
    for problem in await asyncio.to_thread(library.problems):
        bus.emit(Notice(str(problem), Severity.WARNING, problem.mend))
    try:
        await activities.load()
    except StoreError as error:
        bus.emit(Notice(str(error), Severity.WARNING, error.mend))
    shown = activities.block()

    def follow(event: Event) -> None:
        nonlocal shown
        room.watch(event)
        forms.watch(event)
        tasks.watch(event)
        activities.watch(event)
        if isinstance(event, StateChanged) and activities.block() != shown:
            shown = activities.block()
            dialogue.refresh()

    stack.callback(bus.subscribe(follow))
    window.show_state(activities.block)
    stack.callback(asyncio.create_task(activities.run()).cancel)
    return activities
