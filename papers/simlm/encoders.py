"""Pre-training of SimLM and of the baselines of Table 7 (§3.1, §5, Tables 7, 8, 10-12, Figure 3)."""

from collections.abc import Mapping
from typing import Any

from papers.baselines.encoders import CONDENSER
from papers.baselines.two_stage import marco_passages
from repro.graph import Node
from repro.retrieval import recipe
from repro.retrieval.recipe import Objective, Optimisation
from repro.retrieval.recipe.request import Request

SIMLM = Objective(
    "simlm",
    2,
    "papers.simlm.replaced_language_modelling:ReplacedLanguageModelling",
    passes={"encoders": 1, "layers": 2, "heads": 2, "frozen_encoders": 2, "frozen_heads": 0.8},
)
ENC_DEC_MLM = Objective("enc-dec-mlm", 1, "papers.simlm.enc_dec_mlm:EncoderDecoderMaskedLanguageModel")
ENC_DEC_RTD = Objective("enc-dec-rtd", 2, "papers.simlm.enc_dec_rtd:EncoderDecoderReplacedTokenDetection")
AUTOENCODER = Objective("autoencoder", 1, "papers.simlm.autoencoder:AutoEncoder")
MLM = Objective("pair-mlm", 1, "papers.simlm.mlm:PairMaskedLanguageModel", "unit=whole-word|bernoulli")
ENCODER_RATE, DECODER_RATE = 0.3, 0.5  # Table 11
LENGTH = 144  # Table 11


def bert(request: Request) -> Node:
    """Return the checkpoint of BERT_base, the start of every training (Table 11)."""
    return recipe.backbone(request.reading("backbone-models")["bert"], revision="main")


def roberta(request: Request) -> Node:
    """Return the checkpoint of RoBERTa_base (Table 1)."""
    return recipe.backbone(request.reading("backbone-models")["roberta"], revision="main")


def electra(request: Request) -> Node:
    """Return the checkpoint of ELECTRA_base's discriminator (Tables 1 and 5)."""
    return recipe.backbone(request.reading("electra-models")["discriminator"], revision="main")


def simlm(
    request: Request,
    *,
    corpus: str = "msmarco",
    encoder_rate: float = ENCODER_RATE,
    decoder_rate: float = DECODER_RATE,
    training: str = "frozen",
    steps: int | None = None,
) -> Node:
    """Pre-train SimLM: replaced language modelling through the bottleneck (§3.1).

    Args:
        corpus: msmarco or wikipedia, with different passages, lengths and steps (Table 11).
        encoder_rate, decoder_rate: replace rates (Table 8).
        training: how the generator is trained: frozen, joint or joint-from-random (Table 12).
        steps: a number of steps other than Table 11's (Figure 3).
    """
    ask = request.reading
    rates = {"encoder_rate": encoder_rate, "decoder_rate": decoder_rate}
    filling = {"dropout": ask("generator-dropout"), "draws": ask("replacement-draws")}
    options = {
        "masks": _masks(request, ask("generator-input"), unit=ask("masking-unit")) | rates,
        "replacement": {"training": training, **filling},
        "generator_weight": ask("generator-loss-weight") if training != "frozen" else 0.0,
        "decoder": _decoder(request),
        "token_loss": ask("token-loss-reduction"),
    }
    own = _pretrained(request, SIMLM, options, corpus=corpus, steps=steps, generator=_generator(request))
    plain = (encoder_rate, decoder_rate, training, steps) == (ENCODER_RATE, DECODER_RATE, "frozen", None)
    return recipe.released_or(own, ask("pretrained-model")[corpus] if plain else None)


def enc_dec_mlm(request: Request) -> Node:
    """Pre-train SimLM's two networks with masked language modelling in both (§5.1)."""
    ask = request.reading
    options = {
        "masks": _masks(request, ask("enc-dec-mlm-masking"), unit=ask("enc-dec-mlm-unit")),
        "decoder": _decoder(request),
        "per": ask("token-loss-reduction")["per"],
    }
    return _pretrained(request, ENC_DEC_MLM, options)


def enc_dec_rtd(request: Request) -> Node:
    """Pre-train SimLM's two networks with replaced token detection in both (§5.1)."""
    ask = request.reading
    options = {
        "masks": _masks(request, ask("generator-input"), unit=ask("masking-unit")),
        "dropout": ask("generator-dropout"),
        "draws": ask("replacement-draws"),
        "decoder": _decoder(request),
        "token_loss": ask("token-loss-reduction"),
        "weight": ask("rtd-loss"),
    }
    return _pretrained(request, ENC_DEC_RTD, options, generator=_generator(request))


def autoencoder(request: Request) -> Node:
    """Pre-train SimLM's two networks to reconstruct the text from the bottleneck alone (§5.1)."""
    options = {"decoder": _decoder(request), "token_loss": request.reading("token-loss-reduction")}
    return _pretrained(request, AUTOENCODER, options)


def condenser(request: Request) -> Node:
    """Pre-train Condenser here, with a mask rate of 30 % (§5.1)."""
    ask = request.reading
    options = {
        "masking": {"rate": 0.3, **ask("condenser-masking")},
        "unit": ask("condenser-unit"),
        **ask("condenser-variant"),
        "quota": ask("condenser-quota"),
        "late": ask("condenser-late-loss"),
    }
    return _pretrained(request, CONDENSER, options)


def mlm(request: Request, *, steps: int | None = None) -> Node:
    """Continue BERT's own objective with a mask rate of 30 % (§5.1, reading: pretraining-input)."""
    masking, unit = {"rate": 0.3, **request.reading("mlm-masking")}, request.reading("mlm-unit")
    if unit == "bernoulli":
        masking |= request.reading("mlm-draw")
    return _pretrained(request, MLM, {"masking": masking, "unit": unit, "reduction": "mean"}, steps=steps)


ENCODERS = {
    "bert": bert,
    "roberta": roberta,
    "electra": electra,
    "simlm": simlm,
    "enc-dec-mlm": enc_dec_mlm,
    "enc-dec-rtd": enc_dec_rtd,
    "autoencoder": autoencoder,
    "condenser": condenser,
    "mlm": mlm,
}


def _pretrained(
    request: Request,
    objective: Objective,
    options: Mapping[str, Any],
    *,
    corpus: str = "msmarco",
    steps: int | None = None,
    generator: Node | None = None,
) -> Node:
    """Return BERT trained further as in Table 11: 80k or 200k steps of 2048 texts at 3e-4."""
    ask = request.reading
    passages = marco_passages(request) if corpus == "msmarco" else recipe.corpus("dpr-w100")
    length = LENGTH if corpus == "msmarco" else ask("nq-lengths")["pretraining"]
    titles = ask("pretraining-input") == "pair"
    tokens = recipe.tokenize(
        passages,
        model=bert(request),
        length=length,
        policy=ask("pretraining-truncation") if titles else "truncate",
        titles=titles,
        separator="[SEP]",
    )
    return recipe.pretrain(
        tokens,
        objective=objective,
        options=options,
        optimisation=Optimisation(
            batch_size=2048,
            max_steps=steps or ask("pretraining-epochs")[corpus],
            learning_rate=3e-4,
            warmup_steps=4000,
            schedule=ask("warm-up-shape"),
            **ask("optimiser"),
            precision=ask("pretraining-precision"),
            seed=ask("pretraining-seed"),
        ),
        generator=generator,
    )


def _generator(request: Request) -> Node:
    return recipe.backbone(request.reading("electra-models")["generator"], revision="main")


def _masks(request: Request, replaced: Mapping[str, float], *, unit: str) -> dict[str, Any]:
    rates = {"encoder_rate": ENCODER_RATE, "decoder_rate": DECODER_RATE}
    return {"unit": unit, "superset": request.reading("decoder-mask"), **replaced, **rates}


def _decoder(request: Request) -> dict[str, Any]:
    """Return options of the decoder: two layers, copied from BERT's last two (§4.1)."""
    ask = request.reading
    return {
        "layers": 2,
        "segments": ask("decoder-segments"),
        "slot": ask("bottleneck-slot"),
        "shared_head": ask("shared-head"),
    }
