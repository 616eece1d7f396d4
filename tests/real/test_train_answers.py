"""Training an adapter of a language model, with a small model of random weights."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from assistant.errors import ModelFailed
from models.selection.profiles import TINY
from scripts import train_answers
from scripts.eval.answer_lessons import read_everyday, read_people

pytestmark = pytest.mark.filterwarnings(
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"
)

SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,  # large, so that no two predictions are alike
}


@pytest.fixture(scope="module")
def lessons() -> list[Any]:
    from scripts.train.answers import Lesson

    system = (1, 2, 3, 4)
    return [
        Lesson(system, [5, 6, 7], [8, 9]),
        Lesson(system, [10, 11, 12, 13, 14], [15, 16, 17]),
        Lesson(system, [18, 19], [20]),
    ]


@pytest.fixture
def model() -> Any:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(**SIZES)
    config._attn_implementation = "eager"
    return Qwen2ForCausalLM(config).bfloat16()


def test_a_pack_teaches_the_same_as_its_lessons_one_by_one(model: Any, lessons: list[Any]) -> None:
    from scripts.train.answers import loss_of, row_of

    together = loss_of(model, row_of(lessons)).item()
    alone = [loss_of(model, row_of([each])).item() for each in lessons]
    words = [len(each.answer) for each in lessons]
    expected = sum(x * n for x, n in zip(alone, words, strict=True)) / sum(words)
    assert together == pytest.approx(expected, abs=0.01)
    assert max(alone) - min(alone) > 0.05, "any order of the lessons would pass"


def test_packs_hold_each_lesson_once_with_others_of_the_same_system_message(
    lessons: list[Any],
) -> None:
    from scripts.train.answers import Lesson, packs

    every = [*lessons, *(Lesson((9,), [1] * size, [2]) for size in (3, 30, 4))]
    found = list(packs(every, 9, Random(0)))
    assert sorted(map(repr, (each for pack in found for each in pack))) == sorted(map(repr, every))
    for pack in found:
        assert len({each.system for each in pack}) == 1
        sizes = [len(each.prompt) + len(each.answer) for each in pack]
        assert sum(sizes) <= 9 or len(sizes) == 1
    assert any(len(pack) > 1 for pack in found)


def test_steps_lower_the_loss_and_the_written_adapter_is_that_of_the_upper_layer(
    model: Any, lessons: list[Any], tmp_path: Path
) -> None:
    import gguf

    from scripts.train.answers import NAMES, loss_of, row_of, save, trained_of, with_adapter
    from scripts.train.lora import Optimiser

    adapted = with_adapter(model, rank=2, first=1)
    row = row_of(lessons)
    before = loss_of(adapted.base_model.model, row).item()
    learning = Optimiser(trained_of(adapted), rate=2e-2, steps=20)
    for _ in range(20):
        learning.step(loss_of(adapted.base_model.model, row))
    assert loss_of(adapted.base_model.model, row).item() < before - 0.3

    file = tmp_path / "adapter.gguf"
    save(adapted, file)
    read = gguf.GGUFReader(file)
    assert read.fields["general.architecture"].contents() == "qwen2"
    assert read.fields["adapter.type"].contents() == "lora"
    assert read.fields["adapter.lora.alpha"].contents() == 4
    shapes = {each.name: tuple(map(int, reversed(each.shape))) for each in read.tensors}
    assert {name.rsplit(".", 2)[0] for name in shapes} == {f"blk.1.{x}" for x in NAMES.values()}
    assert shapes["blk.1.ffn_down.weight.lora_a"] == (2, 48)
    assert shapes["blk.1.ffn_down.weight.lora_b"] == (32, 2)
    assert all(each.data.any() for each in read.tensors)


def test_a_model_that_is_stored_otherwise_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lessons = tmp_path / "lessons.jsonl"
    wrong = ["--model", TINY.llm, "--lessons", str(lessons), "--out", str(tmp_path / "a.gguf")]
    assert train_answers.main(wrong) == ModelFailed.exit_code
    assert "llama" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_shipped_conversations_can_be_read() -> None:
    people = list(read_people())
    assert len(people) == 40
    assert all(len(each.answers) == len(each.person.questions) == 18 for each in people)
    kinds = {question.kind for each in people for question in each.person.questions}
    assert kinds == {"changed", "two", "time", "one", "person", "never", "talk"}
    assert all(
        bool(question.facts) is (question.kind not in ("never", "talk"))
        for each in people
        for question in each.person.questions
    )
    conversations = list(read_everyday())
    assert len(conversations) == 300
    assert all(1 <= len(each.turns) <= 3 for each in conversations)
    told = [answer for each in people for answer in each.answers]
    told += [answer for each in conversations for _, answer in each.turns]
    assert all(answer.strip() and not set(answer) & set("*#`") for answer in told)
