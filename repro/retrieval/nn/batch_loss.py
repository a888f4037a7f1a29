"""The forward pass of losses in which the texts of a batch meet."""

import torch
from torch import nn

Tensors = dict[str, torch.Tensor]


class BatchLoss(nn.Module):
    """``losses`` of what ``represent`` makes of a batch; both are the objective's own."""

    def forward(self, batch: Tensors) -> Tensors:
        """The named losses of a whole batch."""
        return self.losses(self.represent(batch))
