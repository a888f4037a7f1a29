"""The memory of a step of training, by a formula simple enough to check by hand; it imports no torch.

Weights, gradients and both of Adam's means take 16 bytes a parameter. A layer keeps for its backward pass
34 bytes a number of its hidden states where these have 16 bits, without the attention's own matrices, which
its kernels compute again (Korthikanti et al. 2022, section 4.1); with 32 bits twice as many, but for the
bytes of dropout. What automatic casting leaves in 32 bits lies between the two.
"""

import math
from dataclasses import dataclass

STATE = 16  # bytes of a parameter: four numbers of 32 bits
ACTIVATIONS = {"fp32": 66, "fp16": 50, "bf16": 50}  # bytes a layer, token and hidden number
USABLE = 0.9  # of a GPU's memory; the rest is for its context, for NCCL, and lost between blocks
PREDICTED = 0.15  # share of the tokens whose words are predicted, at BERT's rate
LOGIT = 12  # bytes of a logit over the vocabulary: it, its softmax and its gradient


@dataclass(frozen=True)
class StepMemory:
    """The sizes that the memory of a step follows from.

    Attributes:
        parameters: all that are trained.
        layers, hidden: of the encoder.
        tokens: of an example, with padding.
        vocabulary: over which words are predicted; 0 where none are.
        precision: ``fp32``, ``fp16`` or ``bf16``.
    """

    parameters: int
    layers: int
    hidden: int
    tokens: int
    vocabulary: int
    precision: str

    @property
    def example(self) -> float:
        """Bytes that an example keeps for the backward pass."""
        hidden_states = max(1, self.layers) * self.hidden * ACTIVATIONS[self.precision]  # or the embeddings'
        return self.tokens * (hidden_states + PREDICTED * self.vocabulary * LOGIT)

    def whole(self, examples: int) -> float:
        """Bytes of a step over so many examples at once, with the parameters."""
        return STATE * self.parameters + examples * self.example

    def fitting(self, memory: float) -> int:
        """The number of examples that a GPU of so many bytes holds beside the parameters; at least 1."""
        return max(1, int((USABLE * memory - STATE * self.parameters) // self.example))

    def micro_batch(self, examples: int, memory: float) -> int | None:
        """The examples of a part where a step is cut into as few equal parts as fit; None for one part."""
        parts = math.ceil(examples / self.fitting(memory))
        return None if parts == 1 else math.ceil(examples / parts)


def step_memory(objective, params: dict) -> StepMemory | None:
    """The memory of a step of an ``nn.Module``; None where the sizes of its encoder are not known."""
    configs = (getattr(module, "config", None) for module in objective.modules())
    config = next((candidate for candidate in configs if hasattr(candidate, "num_hidden_layers")), None)
    if config is None:
        return None
    return StepMemory(
        parameters=sum(parameter.numel() for parameter in objective.parameters()),
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        tokens=example_tokens(params),
        vocabulary=config.vocab_size if predicts_words(params) else 0,
        precision=params["precision"],
    )


def example_tokens(params: dict) -> int:
    """Tokens of an example of a training, with padding, from the parameters of its stage.

    It is one text of a pre-training. In fine-tuning it is a query with its passages, whose texts begin with
    the query where there is no ``query_length``.
    """
    if "texts_per_batch" in params:
        return params["length"]
    return params.get("query_length", 0) + params["passages_per_query"] * params["passage_length"]


def predicts_words(params: dict) -> bool:
    """Whether a training with these parameters predicts words, as pre-training does."""
    return "texts_per_batch" in params
