"""The smallest real model describes exchanges, in a session and for the ablation."""

import json
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.events import Phase
from assistant.idle.activity import ActivityMonitor
from assistant.idle.jobs.document_expansion import DocumentExpansionJob
from assistant.idle.load_policy import LoadPolicy
from assistant.idle.scheduler import Scheduler
from assistant.memory.retrieval.document_expansion import DESCRIBED, expansion
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from assistant.memory.transcript.job_queue import JobQueue
from assistant.settings import Idle
from models.llm.lazy import LazyLanguageModel
from models.llm.llama import LlamaCpp
from scripts import eval_recall, make_derived
from tests.support.forgetting import bench
from tests.support.language import TINY, tiny_gguf

pytestmark = pytest.mark.real

SAID = ("Clara moved to Porto with her parrot.", "Thanks!")


@pytest.mark.long
async def test_answers_of_a_real_model_have_the_required_form(tmp_path: Path) -> None:
    llm = LazyLanguageModel(lambda: LlamaCpp(tiny_gguf(), context_tokens=1536))
    async with bench(tmp_path, Conversation.begin("ada")) as here:
        told = [here.tell(said) for said in SAID]
        await here.memory.settled()
        scheduler = Scheduler(
            [DocumentExpansionJob(here.transcript, here.memory, llm)],
            JobQueue(here.transcript, "ada"),
            ActivityMonitor(Phase.LISTENING),
            LoadPolicy(Idle()),
            Idle(),
            here.events.append,
        )
        try:
            assert await scheduler.run_until_empty() == len(SAID)
        finally:
            await scheduler.close()
            await llm.close()
        contents = DerivedOutputs(here.transcript, "ada").of(DESCRIBED)
        made = [expansion(contents[each.id]) for each in told]
        assert [bool(each.key) for each in made] == [True, False]
        for each in made:
            assert len(each.vectors) == bool(each.about) + len(each.questions)


@pytest.mark.long
def test_the_ablation_runs_from_conversations_to_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, cache = tmp_path / "talk.json", str(tmp_path / "cache.jsonl")
    turns = [{"dia_id": f"D1:{at}", "speaker": "Ann", "text": text} for at, text in enumerate(SAID)]
    asked = [{"question": "Who has a parrot?", "evidence": ["D1:0"], "category": 4}]
    talk = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    file.write_text(json.dumps([{"conversation": talk, "qa": asked}]))
    making = [str(file), "--cache", cache, "--model", TINY, "--json"]
    assert make_derived.main(making) == 0
    assert make_derived.main(making) == 0
    assert '"asked": 0' in capsys.readouterr().out
    assert eval_recall.main([str(file), "--made", cache, "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["questions"], found["cost"]["calls"], found["model"]) == (1, 1, TINY)
    assert found["cost"]["seconds_per_100_turns"] > 0
    assert eval_recall.main([str(file), "--made", cache, "--model", "none"]) == 1
    assert TINY in capsys.readouterr().err
