"""Stage ``initialise``: a BERT with random weights."""

from pathlib import Path

from transformers import BertConfig, BertForMaskedLM, set_seed

from repro.progress import Progress
from repro.retrieval.nn.checkpoint import load_tokenizer, save_model


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Write ``model/``: a BertForMaskedLM of the given size, and its tokenizer.

    Weights are drawn from N(0, ``deviation``²), by default 0.02 as in BERT.
    """
    tokenizer = load_tokenizer(inputs["tokenizer"] / "model")
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=params["hidden_size"],
        num_hidden_layers=params["layers"],
        num_attention_heads=params["heads"],
        intermediate_size=params["intermediate_size"],
        max_position_embeddings=params["max_positions"],
        hidden_dropout_prob=params["dropout"],
        attention_probs_dropout_prob=params["dropout"],
        initializer_range=params.get("deviation", 0.02),
        pad_token_id=tokenizer.pad_token_id,
    )
    set_seed(params["seed"])
    model = BertForMaskedLM(config)
    save_model(model, tokenizer, out / "model")
    return {"parameters": model.num_parameters(), "vocabulary": len(tokenizer)}
