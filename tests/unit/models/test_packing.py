"""A text and items are packed into inputs of an encoder; layers that don't fit are refused."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from assistant.errors import ModelCorrupt
from models.encoder.packing import Limits, inputs, read_layers, special_ids
from models.encoder.weights import Array

CLS, SEP = 1, 2
LIMITS = Limits(text=96, item=32, at_once=448)
SHAPES = {"one": (2, 4), "two": (1, 8)}


def test_the_text_comes_first_and_each_item_ends_with_a_separator() -> None:
    [made] = inputs([11, 12, 13], [[21, 22], [31]], LIMITS, CLS, SEP)
    assert made.ids == [CLS, 11, 12, 13, SEP, 21, 22, SEP, 31, SEP]
    assert (made.text, made.text_end, made.ends) == (3, 4, [7, 9])


def test_long_texts_and_items_are_cut_off() -> None:
    [made] = inputs([11] * 500, [[21] * 500, [31]], LIMITS, CLS, SEP)
    assert made.text == LIMITS.text
    assert made.ids[LIMITS.text + 1 :] == [SEP, *[21] * LIMITS.item, SEP, 31, SEP]


@pytest.mark.parametrize("said", [0, 5, LIMITS.text])
def test_items_that_do_not_fit_into_one_input_come_in_further_ones(said: int) -> None:
    items = [[20 + number] * (1 + 7 * number % LIMITS.item) for number in range(60)]
    made = list(inputs([11] * said, items, LIMITS, CLS, SEP))
    assert len(made) > 2
    found = []
    for each in made:
        assert len(each.ids) <= LIMITS.at_once
        assert each.ids[: said + 2] == [CLS, *[11] * said, SEP]
        starts = [said + 2, *(end + 1 for end in each.ends)]
        found += [each.ids[start:end] for start, end in zip(starts, each.ends, strict=False)]
        assert {each.ids[end] for end in each.ends} == {SEP}
    assert found == items
    assert list(inputs([11], [], LIMITS, CLS, SEP)) == []


def test_a_tokenizer_without_special_tokens_is_refused() -> None:
    known = Tokenizer(WordLevel({"[UNK]": 0, "[SEP]": SEP, "[CLS]": CLS}, unk_token="[UNK]"))
    assert special_ids(known) == (CLS, SEP)
    with pytest.raises(ValueError, match="unpack"):
        special_ids(Tokenizer(WordLevel({"[UNK]": 0, "[SEP]": SEP}, unk_token="[UNK]")))


def layers() -> dict[str, Array]:
    return {
        f"{name}.{part}": np.ones(shape if part == "weight" else shape[:1], np.float16)
        for name, shape in SHAPES.items()
        for part in ("weight", "bias")
    }


@pytest.mark.parametrize("key", layers())
def test_layers_that_are_missing_or_have_other_shapes_are_refused(tmp_path: Path, key: str) -> None:
    whole = layers()
    save_file(whole, tmp_path / "adapter_model.safetensors")
    found = read_layers(tmp_path, "cooking", SHAPES)
    assert {name: weight.shape for name, (weight, _) in found.items()} == SHAPES
    assert all(part.dtype == np.float32 for layer in found.values() for part in layer)
    cut = {**whole, key: np.ascontiguousarray(whole[key][..., :-1])}
    absent = {each: value for each, value in whole.items() if each != key}
    single = {**whole, key: np.array(1, np.float32)}
    for wrong in (cut, absent, single):
        save_file(wrong, tmp_path / "adapter_model.safetensors")
        with pytest.raises(ModelCorrupt, match=r"adapter for cooking in .* can't be read") as told:
            read_layers(tmp_path, "cooking", SHAPES)
        assert "\n" not in str(told.value)


def test_a_missing_or_broken_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelCorrupt, match="adapter for cooking"):
        read_layers(tmp_path / "nowhere", "cooking", SHAPES)
    file = tmp_path / "adapter_model.safetensors"
    save_file(layers(), file)
    whole = file.read_bytes()
    for damaged in (b"", whole[:100], whole[:-10], b"\xff" * 100):
        file.write_bytes(damaged)
        with pytest.raises(ModelCorrupt, match="adapter for cooking"):
            read_layers(tmp_path, "cooking", SHAPES)
