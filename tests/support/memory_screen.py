"""The memory tab on a real store, without the rest of the screen. A real request handler carries
out its requests, in a session that really forgets; the clock is set by hand."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from assistant.context.conversation import Conversation
from assistant.events import Event
from assistant.ipc import Row
from assistant.memory.admin import MemoryAdmin
from assistant.memory.admin_requests import handle_request
from tests.support.forgetting import Bench, bench
from tests.support.panes import PaneApp
from tests.support.patience import PATIENCE_S
from tests.support.screens import ToldSession
from ui.screen.memory.detail import MemoryDetail
from ui.screen.memory.tab import MemoryTab
from ui.screen.memory.table import MemoryList
from ui.session.state import ScreenState, fold

APART_S = 60
WORKERS = {"list", "look", "pages", "detail", "mark", "edit", "forget", "dialog"}


class LocalSession(ToldSession):
    """A session whose assistant runs in this process."""

    def __init__(self, desk: MemoryAdmin, told: Bench) -> None:
        super().__init__()
        self._desk = desk
        self._bench = told

    async def ask(self, request: Mapping[str, Any]) -> list[Row]:
        """Convert request and rows to JSON and back, as the socket does."""
        self.asked.append(dict(request))
        asked: Row = json.loads(json.dumps(request))
        rows = await asyncio.to_thread(lambda: list(handle_request(self._desk, asked)))
        while self._bench.events:
            self.tell(self._bench.events.pop(0))
        found: list[Row] = json.loads(json.dumps(rows))
        return found


@dataclass
class Stage:
    """The memory tab and the session behind it."""

    app: PaneApp
    pilot: Pilot[None]
    session: LocalSession
    desk: MemoryAdmin
    bench: Bench
    state: ScreenState = field(default_factory=ScreenState)

    def hear(self, event: Event, at: datetime) -> None:
        fold(self.state, event, at)
        self.tab.show(self.state)

    @property
    def tab(self) -> MemoryTab:
        return self.app.query_one(MemoryTab)

    @property
    def table(self) -> MemoryList:
        return self.app.query_one(MemoryList)

    @property
    def detail(self) -> MemoryDetail:
        return self.app.query_one(MemoryDetail)

    @property
    def here(self) -> str:
        """The text under the cursor."""
        row = self.table.here
        return str(row["text"]) if row is not None else ""

    def rows(self) -> list[Row]:
        rows = (self.table.row(index) for index in range(self.table.total))
        return [row for row in rows if row is not None]

    def texts(self) -> list[str]:
        return [str(row["text"]) for row in self.rows()]

    async def press(self, *keys: str) -> None:
        """Press these keys, each once the effects of the previous key are drawn."""
        for key in keys:
            await self.pilot.press(key)
            await self.settled()

    async def settled(self) -> None:
        """Return once the results of all requests are drawn."""
        await self.pilot.pause()
        if self._busy():
            async with asyncio.timeout(PATIENCE_S):
                while self._busy():
                    await asyncio.sleep(0.01)
            await self.pilot.pause()

    def _busy(self) -> bool:
        unfinished = {each.group for each in self.app.workers if not each.is_finished}
        if len(self.app.screen_stack) > 1:  # a dialogue is open: these wait for its answer
            unfinished -= {"mark", "edit", "forget", "dialog"}
        return bool(unfinished & WORKERS) or self.tab.waiting

    async def until(self, what: Callable[[], object]) -> None:
        """Wait until this condition holds and its effects are drawn."""
        async with asyncio.timeout(PATIENCE_S):
            while not what():
                await asyncio.sleep(0.01)
        await self.settled()


@asynccontextmanager
async def stage(
    folder: Path, size: tuple[int, int] = (100, 24), told: tuple[str, ...] = ()
) -> AsyncIterator[Stage]:
    """The memory tab of a session in which these exchanges were told."""
    folder.mkdir(exist_ok=True)
    # The request handler uses the real clock, so the session's clock must end at the present.
    begun = datetime.now(UTC) - timedelta(seconds=APART_S * len(told))
    async with bench(folder, Conversation.begin("ada"), begun) as behind:
        for said in told:
            behind.tell(said)
            behind.pass_time(APART_S)
        await behind.memory.settled()
        desk = behind.desk
        session = LocalSession(desk, behind)

        def now() -> datetime:
            return behind.clock[0].astimezone()

        app = PaneApp(MemoryTab(session, now))
        async with app.run_test(size=size) as pilot:
            here = Stage(app, pilot, session, desk, behind)
            here.tab.soon_s = 0.01
            await session.start(here.hear, lambda _: None)
            here.tab.show(here.state)
            here.table.focus()
            await here.settled()
            yield here
