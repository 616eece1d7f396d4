"""A kind of idle work."""

from collections.abc import Sequence
from typing import Protocol


class Job(Protocol):
    """What is made, between utterances, of exchanges or conversations: descriptions, facts, …

    What it makes carries its sources and can be made again. Its table refers to the exchange with
    `ON DELETE CASCADE`, so that forgetting takes the output along, and a result that comes too late
    is refused by the transcript.
    """

    @property
    def kind(self) -> str:
        """One word, as `assistant idle status` shows it, and under which it is queued."""
        ...

    @property
    def priority(self) -> int:
        """The lowest goes first."""
        ...

    @property
    def light(self) -> bool:
        """It takes little of the processor, and may run on battery."""
        ...

    @property
    def recurs(self) -> bool:
        """Other work makes it necessary again and again: before each batch it is asked what is
        `missing`, which takes it no time."""
        ...

    @property
    def version(self) -> int:
        """Of its prompt and rules. What was made by another one is `missing` again."""
        ...

    async def missing(self, limit: int) -> Sequence[str]:
        """The first subjects that lack its output, in the order in which they are wanted: ids of
        exchanges or conversations, no words. Changes nothing, and is quick: it is asked whenever
        the queue runs dry. So a lost queue loses nothing.

        Raises:
            StoreError: it can't be known.
        """
        ...

    async def run(self, subjects: Sequence[str]) -> None:
        """Make its output for these, in order, and commit each subject's in one transaction.

        It may be cancelled at any `await`, and is when somebody speaks; it is called again then
        with the same subjects. So it passes over what has its output, what is not in the transcript
        and what is hidden (`Transcript.conversation` leaves that out). A thread that it has given
        work goes on after the cancellation: such pieces take 20 ms at most.

        Raises:
            ModelError: a subject can't be done now; each is tried again by itself, a few times.
            StoreError: a store fails; nobody is to blame but the store.
        """
        ...
