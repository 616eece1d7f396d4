"""Memory desks, built: of a home in which no assistant runs, and of one that runs."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache

from assistant.compose.engines import build_query_encoder
from assistant.encryption.vault import Vault, open_vault
from assistant.errors import StoreDamaged, StoreError
from assistant.events import Event, Notice
from assistant.ipc.messages import Request, Row
from assistant.language.stemming import TextAnalyzer
from assistant.memory.admin import MemoryAdmin
from assistant.memory.admin_requests import handle_request
from assistant.memory.curation.curator import CurationPolicy
from assistant.memory.due_purges import purge_due_at_start
from assistant.memory.forgetting.offline_executor import Hiding
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.lifetimes import Lifetimes
from assistant.memory.retrieval.document_expansion import ExpansionWeights
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.vectors.tiers import Tiers
from assistant.memory.store.location import store_location
from assistant.memory.store.open_table import folder_of
from assistant.memory.store.repair import open_store
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from models.selection.requested import select_models

logger = logging.getLogger(__name__)

BuildMemory = Callable[[str], UserMemory]
"""The long-term memory of a user, loaded; may raise StoreError and ModelError."""
RequestHandler = Callable[[Request], Iterator[Row]]
"""Carries a request out; in a thread of the door's. May raise AssistantError."""


@contextmanager
def open_memory_admin(
    home: Home,
    settings: Settings,
    find_encoder: Callable[[Settings], QueryEncoder] | None = None,
    tell: Callable[[Notice], None] | None = None,
    vault: Vault | None = None,
) -> Iterator[MemoryAdmin]:
    """The desk of the settings' user, where no assistant has the memories open. Blocking.

    Args:
        find_encoder: may raise ModelError; default: the profile's. Called when it is needed.
        tell: told what became of a damaged store; default: the log is.
        vault: of the home, and left open. Default: opened without asking anybody.

    Raises:
        StoreError: the memories can't be opened. StoreInUse: another process has them open.
    """
    home.create()
    with ExitStack() as stack:
        if vault is None:
            vault = open_vault(home, settings)
            stack.callback(vault.close)
        key = vault.key
        place = store_location(home, settings, key)
        table = open_store(place, tell or _log)
        stack.callback(table.close)

        @cache
        def open_transcript() -> Transcript:
            transcript = Transcript.open(home.transcript, key)
            stack.callback(transcript.close)
            return transcript

        user = settings.general.user
        if home.transcript.exists() or table.forgotten.unfinished:
            gone = _told_of(user, tell or _log)
            purge_due_at_start(open_transcript(), done=gone)(table)

        def open_memory() -> UserMemory:
            encoder = (find_encoder or profile_encoder)(settings)
            stack.callback(encoder.close)
            encoder.load()
            memory = load_user_memory(user, table, encoder, settings, open_transcript())
            stack.callback(lambda: asyncio.run(memory.close()))
            return memory

        try:
            yield MemoryAdmin(
                user,
                table,
                open_transcript,
                open_memory,
                lifetimes=Lifetimes.of(settings.memory),
                folder=place.folder,
                lexicon=TextAnalyzer(settings.persona.language),
                grace_s=settings.forget.grace_s,
            )
        except StoreDamaged:
            table.distrust()  # whoever opens it next has it set aside and made anew
            raise


class MemoryRequests:
    """The desks of a running assistant: of its own user, and of others whom a command names.

    Args:
        memory: of the assistant's own user, loaded.
        build: makes another user's on the same table.
        hiding: how the own user has things forgotten; default: as all others, on the disk.
        others: what answers requests that are not about memories, by their `act`.
    """

    def __init__(
        self,
        memory: UserMemory,
        transcript: Transcript,
        build: BuildMemory,
        settings: Settings,
        hiding: Hiding | None = None,
        others: Mapping[str, RequestHandler] | None = None,
    ) -> None:
        self._others = others or {}
        self._memory = memory
        self._table: MemoryTable | None = None
        self._transcript = transcript
        self._build = build
        self._lifetimes = memory.policy.lifetimes
        self._settings = settings
        self._hiding = hiding
        self._desks: dict[str, MemoryAdmin] = {}

    def answer(self, request: Request) -> Iterator[Row]:
        """For `Door`: carry a request out at the desk of the user that it names, and no other's."""
        other = self._others.get(str(request.get("act")))
        if other is not None:
            return other(request)
        table = self._memory.table
        if table is not self._table:  # the store was opened, or opened again
            self._table = table
            self._desks = {}
        self._purge_due(table)
        return handle_request(self._of(table, str(request.get("user", ""))), request)

    def _purge_due(self, table: MemoryTable) -> None:
        """Of those for whom no session runs."""
        for user in self._transcript.hiding():
            try:
                self._of(table, user).forgetting.hiding.purge_due()
            except StoreError as error:
                logger.warning("what is to be forgotten stays hidden for now: %s", error)

    def _of(self, table: MemoryTable, user: str) -> MemoryAdmin:
        if user not in self._desks:
            self._desks[user] = self._desk(table, user)
        return self._desks[user]

    def _desk(self, table: MemoryTable, user: str) -> MemoryAdmin:
        own = user == self._memory.user_id
        return MemoryAdmin(
            user,
            table,
            lambda: self._transcript,
            lambda: self._build(user),
            memory=self._memory if own else None,
            lifetimes=self._lifetimes,
            folder=folder_of(table.uri),
            lexicon=TextAnalyzer(self._settings.persona.language),
            hiding=self._hiding if own else None,
            grace_s=self._settings.forget.grace_s,
        )


def load_user_memory(
    user: str,
    table: MemoryTable,
    encoder: QueryEncoder,
    settings: Settings,
    transcript: Transcript | None,
) -> UserMemory:
    """A user's memory on an open table, loaded; not on the event loop. The encoder is ready."""
    lexicon = TextAnalyzer(settings.persona.language)
    tiers, policy = Tiers.of(settings.memory), CurationPolicy.of(settings.memory)
    memory = UserMemory(
        user,
        lambda: table,
        encoder,
        lexicon,
        Ranking(),
        _log,
        tiers=tiers,
        policy=policy,
        enrichment=ExpansionWeights.of(settings.idle),
    )
    memory.store.owns_table = False
    asyncio.run(memory.load(transcript))
    return memory


def profile_encoder(settings: Settings) -> QueryEncoder:
    """Raises ModelMissing when it was not pulled."""
    return build_query_encoder(select_models(settings), settings.memory.encoder)


def _log(event: Event) -> None:
    if isinstance(event, Notice):
        logger.warning("%s", event.text)


def _told_of(user: str, tell: Callable[[Notice], None]) -> Callable[[HiddenItems, Receipt], None]:
    """A sentence on what of the user's was due and is gone now."""

    def done(hidden: HiddenItems, receipt: Receipt) -> None:
        if hidden.user != user:
            return
        where = ", ".join(each.name for each in receipt.searched if each.found)
        tell(
            Notice(
                f"What was forgotten at {hidden.asked.astimezone():%H:%M:%S} is gone for good;"
                f" looked for in {receipt.files:,} files, {receipt.bytes / 1e6:.1f} MB:"
                f" {f'still found in {where}' if where else 'nothing found'}."
            )
        )

    return done
