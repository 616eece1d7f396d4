"""The interface of a kind of idle work."""

from collections.abc import Sequence
from typing import Protocol


class Job(Protocol):
    """Between utterances, derives something (descriptions, facts, …) from exchanges or
    conversations.

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
        """Whether it needs little processor time, and so may run on battery."""
        ...

    @property
    def recurs(self) -> bool:
        """Whether other work keeps making it necessary: then `missing` is called before each batch,
        and must take no time."""
        ...

    @property
    def version(self) -> int:
        """The version of its prompt and rules. Subjects with output of another version are
        `missing` again."""
        ...

    async def missing(self, limit: int) -> Sequence[str]:
        """The first subjects that lack its output, in the order in which to process them: ids of
        exchanges or conversations, no words. This call has no side effects and is quick, since
        it is made whenever the queue runs dry. It can refill a lost queue, so nothing is lost.

        Raises:
            StoreError: the missing subjects can't be determined.
        """
        ...

    async def run(self, subjects: Sequence[str]) -> None:
        """Create the output for these subjects, in order, committing each in one transaction.

        It may be cancelled at any `await`, for example because somebody speaks; then it is called
        again with the same subjects. So it must skip those that already have their output, are not
        in the transcript or are hidden (`Transcript.conversation` omits hidden ones). A thread that
        it started runs on after a cancellation, so each call in a thread may take at most 20 ms.

        Raises:
            ModelError: a subject can't be processed now; each is retried by itself, a few times.
            StoreError: a store failed; no subject is to blame.
        """
        ...
