"""Long-term memory: stores what was said and learned, recalls it, and deletes it on request.

`open_memory` is the entry point.
"""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.memory.curation.correction_statements import is_worth_keeping, stands_alone
    from assistant.memory.curation.correction_values import says_unknown, with_value
    from assistant.memory.curation.corrections import Correction
    from assistant.memory.curation.statements import is_private
    from assistant.memory.forgetting import spoken_replies
    from assistant.memory.forgetting.answer_origins import AnsweredTurn, Things, ToldItem
    from assistant.memory.forgetting.answered_turns import AnsweredTurns
    from assistant.memory.forgetting.executor import ForgettingExecutor
    from assistant.memory.forgetting.resolver import ForgetRequest, NothingMeant, Resolver
    from assistant.memory.forgetting.selection import ForgetPlan
    from assistant.memory.home_copy import HomeStores
    from assistant.memory.records.data_location import FindsWords, RemovesWords
    from assistant.memory.records.hidden import HiddenItems
    from assistant.memory.records.ids import ADDED_BY_USER, origin_of, short
    from assistant.memory.records.memory import Memory, MemoryKind, MemoryState
    from assistant.memory.records.stored_values import microseconds, time_of
    from assistant.memory.replay import read_recording
    from assistant.memory.retrieval.encoding import QueryEncoder
    from assistant.memory.retrieval.reranking import Reranking
    from assistant.memory.retrieval.results import RecalledForTurn
    from assistant.memory.service import MemoryService, open_memory
    from assistant.memory.store.location import store_location
    from assistant.memory.store.tombstones import mark_of
    from assistant.memory.store.write_priority import low_priority
    from assistant.memory.transcript.conversation_recordings import (
        Recording,
        Recordings,
        is_sealed,
    )
    from assistant.memory.transcript.database import AT_ONCE, Transcript
    from assistant.memory.transcript.job_queue import Batch, Count, FailedJob, JobQueue
    from assistant.memory.transcript.recorder import Recorder
    from assistant.memory.user_memory import UserMemory
    from assistant.memory.user_statements import StoredStatement, UserStatements
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ADDED_BY_USER",
    "AT_ONCE",
    "AnsweredTurn",
    "AnsweredTurns",
    "Batch",
    "Correction",
    "Count",
    "FailedJob",
    "FindsWords",
    "ForgetPlan",
    "ForgetRequest",
    "ForgettingExecutor",
    "HiddenItems",
    "HomeStores",
    "JobQueue",
    "Memory",
    "MemoryKind",
    "MemoryService",
    "MemoryState",
    "NothingMeant",
    "QueryEncoder",
    "RecalledForTurn",
    "Recorder",
    "Recording",
    "Recordings",
    "RemovesWords",
    "Reranking",
    "Resolver",
    "StoredStatement",
    "Things",
    "ToldItem",
    "Transcript",
    "UserMemory",
    "UserStatements",
    "is_private",
    "is_sealed",
    "is_worth_keeping",
    "low_priority",
    "mark_of",
    "microseconds",
    "open_memory",
    "origin_of",
    "read_recording",
    "says_unknown",
    "short",
    "spoken_replies",
    "stands_alone",
    "store_location",
    "time_of",
    "with_value",
]
