"""For training: an encoder that reads a text with a list of items, and small layers on top of it.
The reader of forms, the reranker and the judge of turns use it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from peft import set_peft_model_state_dict
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from models.catalogue import Model
from models.encoder.packing import Input, Shapes
from scripts.train.lora import WEIGHTS, adapted, save_with_heads

HEAD_DROPOUT = 0.1


class PackedReader(nn.Module):
    """The published encoder with an adapter, and the layers on top of it.

    Args:
        shapes: returns the layers' shapes, given the number of dimensions of a state.
        half: whether to multiply in bfloat16.
    """

    def __init__(
        self,
        folder: str,
        rank: int,
        device: str,
        shapes: Callable[[int], Shapes],
        *,
        half: bool,
    ) -> None:
        super().__init__()
        self.encoder = adapted(folder, rank)
        self.dropout = nn.Dropout(HEAD_DROPOUT)
        made = shapes(self.encoder.config.hidden_size).items()
        self.layers = nn.ModuleDict({name: nn.Linear(read, out) for name, (out, read) in made})
        self.device, self._half = device, half
        self.to(device)

    def states(self, batch: Sequence[Input]) -> tuple[Tensor, Tensor]:
        """The states of the tokens, shape (inputs, tokens, dimensions), and the states at the ends
        of the items, shape (inputs, items, dimensions). Shorter inputs are padded."""
        ids = pad_sequence([torch.tensor(each.ids) for each in batch], batch_first=True)
        lengths = torch.tensor([len(each.ids) for each in batch])[:, None]
        keep = (torch.arange(ids.shape[1])[None] < lengths).long().to(self.device)
        ends = pad_sequence([torch.tensor(each.ends) for each in batch], batch_first=True)
        with torch.autocast(self.device, torch.bfloat16, enabled=self._half):
            states = self.encoder(input_ids=ids.to(self.device), attention_mask=keep)
        x = self.dropout(states.last_hidden_state.float())
        at = ends.to(self.device)[..., None].expand(-1, -1, x.shape[-1])
        return x, x.gather(1, at)

    def resume(self, folder: Path) -> None:
        """Take over the weights that `save` wrote."""
        weights = load_file(folder / WEIGHTS)
        for name, layer in self.layers.items():
            parts = {part: weights.pop(f"{name}.{part}").float() for part in ("weight", "bias")}
            layer.load_state_dict(parts)
        set_peft_model_state_dict(
            self.encoder, {name: each.float() for name, each in weights.items()}
        )

    @property
    def trained(self) -> list[nn.Parameter]:
        return [each for each in self.parameters() if each.requires_grad]

    def save(self, published: Model, folder: Path) -> None:
        """Write the adapter in peft's format, with the layers on top in the same file."""
        save_with_heads(self.encoder, dict(self.layers.items()), published, folder)
