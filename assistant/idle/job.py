"""The interface of an idle job."""

from collections.abc import Sequence
from typing import Protocol


class Job(Protocol):
    """Between utterances, derives data, such as facts or descriptions, from exchanges or
    conversations.

    The output names its sources and can be rebuilt from them. Its table refers to the exchange with
    `ON DELETE CASCADE`. Forgetting an exchange thus deletes the output too, and the transcript
    rejects output whose exchange has been deleted in the meantime.
    """

    @property
    def kind(self) -> str:
        """The name of the job, one word. It is used in the queue and in `assistant idle status`."""
        ...

    @property
    def priority(self) -> int:
        """The order of jobs: the one with the lowest number runs first."""
        ...

    @property
    def light(self) -> bool:
        """Whether the job needs little processor time, so that it may run on battery."""
        ...

    @property
    def recurs(self) -> bool:
        """Whether other work keeps creating new subjects. If so, `missing` is called before each
        batch and must return immediately."""
        ...

    @property
    def version(self) -> int:
        """The version of the job's prompt and rules. Subjects with output of another version count
        as `missing` again."""
        ...

    async def missing(self, limit: int) -> Sequence[str]:
        """Return the first subjects that lack output of this job, in the order in which to process
        them.

        Subjects are e.g. ids of exchanges, and contain no user text. The method has no side
        effects. It must be quick, because it is called whenever the queue is nearly empty. Thanks
        to this method, no work is lost if the queue is lost.

        Raises:
            StoreError: the missing subjects can't be determined.
        """
        ...

    async def run(self, subjects: Sequence[str]) -> None:
        """Create the output of these subjects, in order. Commit the output of each subject in one
        transaction.

        The call may be cancelled at any `await`, e.g. because somebody speaks. It is then repeated
        with the same subjects. So it must skip subjects that already have output, and subjects that
        are hidden or not in the transcript (`Transcript.conversation` omits hidden ones). A thread
        keeps running after a cancellation, so each call in a thread may take at most 20 ms.

        Raises:
            ModelError: a subject can't be processed now. Each subject is then retried alone, a few
                times.
            StoreError: a store failed. This is not counted as a failure of a subject.
        """
        ...
