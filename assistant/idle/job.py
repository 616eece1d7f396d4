"""The interface of a kind of idle work."""

from collections.abc import Sequence
from typing import Protocol


class Job(Protocol):
    """Derives something from exchanges or conversations between utterances: descriptions, facts, …

    Its output names its sources and can be rebuilt. Its table refers to the exchange with
    `ON DELETE CASCADE`, so that forgetting deletes the output too, and the transcript refuses a
    result that comes too late.
    """

    @property
    def kind(self) -> str:
        """One word: its name in the queue and in `assistant idle status`."""
        ...

    @property
    def priority(self) -> int:
        """The lowest runs first."""
        ...

    @property
    def light(self) -> bool:
        """Whether it needs little of the processor, and may run on battery."""
        ...

    @property
    def recurs(self) -> bool:
        """Whether other work keeps making it necessary: then `missing` is called before each batch,
        and must take no time."""
        ...

    @property
    def version(self) -> int:
        """The version of its prompt and rules. Output of another version is `missing` again."""
        ...

    async def missing(self, limit: int) -> Sequence[str]:
        """The first subjects that lack its output, in the order to do them: ids of exchanges or
        conversations, no words. It has no side effects and is quick, since it is called whenever
        the queue runs dry. Because of it, losing the queue loses nothing.

        Raises:
            StoreError: it can't be determined.
        """
        ...

    async def run(self, subjects: Sequence[str]) -> None:
        """Make the output for these subjects, in order, committing each in one transaction.

        It may be cancelled at any `await`, and is when somebody speaks; then it is called again
        with the same subjects. So it must skip those that have their output, are not in the
        transcript or are hidden (`Transcript.conversation` omits these). A thread that it started
        runs on after a cancellation, so each call in a thread may take 20 ms at most.

        Raises:
            ModelError: a subject can't be done now; each is retried by itself, a few times.
            StoreError: a store failed; no subject is to blame.
        """
        ...
