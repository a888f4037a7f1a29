"""Checkpoints by name with the vocabulary size of the real ones, narrow and of two layers."""

import random
from pathlib import Path

from tests.standins.sizes import Sizes
from tests.standins.text import words

VOCABULARY = 30_522
LAYERS = 2
MARKS = "!\"#$%&'()*+,-./0123456789:;<=>?@[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~é—“”Ã©"
# model -> class of transformers, and what differs from the width that all have
CHECKPOINTS = {
    "bert-base-uncased": ("BertForPreTraining", {}),
    "caskcsg/cotmae_base_msmarco_reranker": ("BertForSequenceClassification", {"num_labels": 1}),
    "google/electra-base-discriminator": ("ElectraForPreTraining", {}),
    "google/electra-base-generator": ("ElectraForMaskedLM", {"divided_by": 3}),
    "Luyu/co-condenser-marco-retriever": ("BertModel", {}),
}


def vocabulary() -> list[str]:
    """30,522 entries, specials and unused ones where BERT has them; every third word is left to be pieced."""
    unused = [f"[unused{number}]" for number in range(994)]
    entries = ["[PAD]", *unused[:99], "[UNK]", "[CLS]", "[SEP]", "[MASK]", *unused[99:]]
    known = dict.fromkeys([*entries, *MARKS, *(f"##{mark}" for mark in MARKS)])
    known |= dict.fromkeys(word for place, word in enumerate(words()) if place % 3 != 2)
    draw = random.Random(0)
    while len(known) < VOCABULARY:
        word, length = draw.choice(words()), draw.randint(2, 4)
        known.setdefault(
            draw.choice((f"##{word[-length:]}", f"##{word[length - 1 : length + 2]}", word[: length + 1]))
        )
        known.pop("##", None)
    return list(known)


def make(data: Path, sizes: Sizes) -> None:
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    entries = vocabulary()
    for name, (kind, differs) in CHECKPOINTS.items():
        folder = data / "models" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "vocab.txt").write_text("\n".join(entries) + "\n", encoding="utf-8")
        tokenizer = transformers.BertTokenizerFast(
            str(folder / "vocab.txt"), do_lower_case=True, model_max_length=512
        )
        tokenizer.save_pretrained(folder)
        model = getattr(transformers, kind)
        torch.manual_seed(sizes.seed)
        model(model.config_class(**_shape(kind, sizes.hidden, **differs))).save_pretrained(folder)


def _shape(kind: str, width: int, *, divided_by: int = 1, **differs: int) -> dict[str, int]:
    hidden = width // divided_by
    shape = {"hidden_size": hidden, "intermediate_size": 4 * hidden, "num_hidden_layers": LAYERS}
    shape |= {"num_attention_heads": 4, "vocab_size": VOCABULARY, **differs}
    return shape | ({"embedding_size": width} if kind.startswith("Electra") else {})
