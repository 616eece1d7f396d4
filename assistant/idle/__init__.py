"""Background work between utterances: when it may run, which jobs there are, and how they are
queued."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.idle.activity import ActivityMonitor
    from assistant.idle.job import Job
    from assistant.idle.jobs.compaction import CompactionJob
    from assistant.idle.jobs.consolidation import ConsolidationJob
    from assistant.idle.jobs.document_expansion import DocumentExpansionJob
    from assistant.idle.jobs.embedding import EmbeddingJob
    from assistant.idle.jobs.expansion_prompt import ABOUT, QUESTIONS
    from assistant.idle.jobs.fact_extraction import FactExtractionJob
    from assistant.idle.jobs.importance import ImportanceJob
    from assistant.idle.jobs.speed_benchmark import SpeedBenchmarkJob
    from assistant.idle.jobs.summarisation import SummarisationJob
    from assistant.idle.load_policy import LoadPolicy
    from assistant.idle.requests import ACT, IdleAdmin
    from assistant.idle.scheduler import Scheduler
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ABOUT",
    "ACT",
    "QUESTIONS",
    "ActivityMonitor",
    "CompactionJob",
    "ConsolidationJob",
    "DocumentExpansionJob",
    "EmbeddingJob",
    "FactExtractionJob",
    "IdleAdmin",
    "ImportanceJob",
    "Job",
    "LoadPolicy",
    "Scheduler",
    "SpeedBenchmarkJob",
    "SummarisationJob",
]
