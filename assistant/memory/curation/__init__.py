"""Curation of memories: duplicates, conflicts, importance, expiry and facts.

Also exports the names that idle work needs to curate memories with a language model.
"""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.memory.curation import reconcile, statements
    from assistant.memory.curation.conflicts import may_have_changed
    from assistant.memory.curation.duplicates import (
        NEAREST,
        comparable,
        may_be_merged,
        may_be_same,
    )
    from assistant.memory.curation.extractive_summary import (
        MOST_WORDS,
        SummarySentence,
        borne_out,
        extract_sentences,
        select_sentences,
        written,
    )
    from assistant.memory.curation.facts import kind_of
    from assistant.memory.curation.grounding import is_grounded, without_unsupported
    from assistant.memory.curation.importance import (
        ImportanceRecord,
        importance_of,
        importance_record,
    )
    from assistant.memory.curation.materialize import is_wish
    from assistant.memory.records.ids import exchange_of, fact_id, own_exchange, telling
    from assistant.memory.records.memory import DERIVED_CONFIDENCE, MARKS, Memory
    from assistant.memory.retrieval import document_expansion
    from assistant.memory.retrieval.document_expansion import fingerprint
    from assistant.memory.store.maintenance import rewrite
    from assistant.memory.transcript import fact_rows, span_summaries
    from assistant.memory.transcript.derived_outputs import DerivedOutput, DerivedOutputs
    from assistant.memory.transcript.fact_rows import EXTRACTED, Fact, memories_of_facts
    from assistant.memory.transcript.span_summaries import SUMMARISED, Span
else:
    __getattr__ = exports(__name__)

__all__ = [
    "DERIVED_CONFIDENCE",
    "EXTRACTED",
    "MARKS",
    "MOST_WORDS",
    "NEAREST",
    "SUMMARISED",
    "DerivedOutput",
    "DerivedOutputs",
    "Fact",
    "ImportanceRecord",
    "Memory",
    "Span",
    "SummarySentence",
    "borne_out",
    "comparable",
    "document_expansion",
    "exchange_of",
    "extract_sentences",
    "fact_id",
    "fact_rows",
    "fingerprint",
    "importance_of",
    "importance_record",
    "is_grounded",
    "is_wish",
    "kind_of",
    "may_be_merged",
    "may_be_same",
    "may_have_changed",
    "memories_of_facts",
    "own_exchange",
    "reconcile",
    "rewrite",
    "select_sentences",
    "span_summaries",
    "statements",
    "telling",
    "without_unsupported",
    "written",
]
