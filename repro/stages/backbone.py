"""Stage ``backbone``: a released checkpoint, from the user's folder or the hub."""

from pathlib import Path

from repro.errors import BlockedError
from repro.progress import Progress


def run(params: dict, inputs: dict, out: Path, progress: Progress) -> dict:
    """Write ``model/``: the checkpoint ``name`` at ``revision``, in safetensors and float32, with its
    tokenizer.

    ``params["source"]`` says where it is: ``{"kind": "folder", "path": …}`` or ``{"kind": "hub"}``, which
    tries the hub's cache first. A checkpoint without a masked-language head (a released retriever, say) is
    written without one, so that no invented weights become part of the artefact. Code that comes with a
    checkpoint is never run.

    Raises:
        BlockedError: it cannot be read or fetched.
    """
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    from repro.nn.checkpoint import quiet, save_model

    name, revision, source = params["name"], params["revision"], params["source"]
    where = source["path"] if source["kind"] == "folder" else name
    options = {} if source["kind"] == "folder" else {"revision": revision}
    how = {"dtype": "float32", "output_loading_info": True, **options}
    with quiet():
        try:
            tokenizer = AutoTokenizer.from_pretrained(where, **options)
            model, report = AutoModelForMaskedLM.from_pretrained(where, **how)
            whole = not report["missing_keys"]
            if not whole:
                model, report = AutoModel.from_pretrained(where, **how)
                check_whole(report, optional=("pooler",))
        except (OSError, ValueError, KeyError) as error:
            raise _unreadable(name, where, source["kind"], error) from error
    save_model(model, tokenizer, out / "model")
    return {
        "parameters": model.num_parameters(),
        "vocabulary": len(tokenizer),
        "masked_language_head": whole,
        "commit": getattr(model.config, "_commit_hash", None),
    }


def check_whole(report: dict, *, optional: tuple[str, ...]) -> None:
    """Raise ValueError for a missing weight that is not optional: it would be drawn at random."""
    lost = sorted(key for key in report["missing_keys"] if not key.startswith(optional))
    if lost:
        raise ValueError(f"its weights do not fit the architecture it names, {lost[0]} is not among them")


def _unreadable(name: str, where: str, kind: str, error: Exception) -> BlockedError:
    reason = str(error).strip().split("\n")[0].rstrip(".")
    if kind == "folder":
        return BlockedError(
            f"{where} is not a checkpoint of {name} that transformers can read ({reason})",
            "put config.json, the weights and the tokenizer's files there",
        )
    if isinstance(error, (ValueError, KeyError)):
        return BlockedError(
            f"the checkpoint {name} is of a kind that transformers cannot read ({reason})",
            "convert it and put it into $REPRO_DATA/models, or choose another reading of the row",
        )
    return BlockedError(
        f"the checkpoint {name} could not be fetched from the hub ({reason})",
        f"connect to the network, or put it into $REPRO_DATA/models/{name}",
    )
