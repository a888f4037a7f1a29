"""Artefacts of views with numbers of a test's own."""

import json

import numpy as np


def save_views(folder, prefix, *, dense=None, sparse=None):
    """The artefact of dense rows (N, H), of sparse rows given in full (N, V), or of both."""
    folder.mkdir(parents=True)
    widths = {"dense": None, "sparse": None}
    if dense is not None:
        widths["dense"], count = dense.shape[1], len(dense)
        np.save(folder / "vectors.npy", dense.astype(np.float32))
    if sparse is not None:
        widths["sparse"], count = sparse.shape[1], len(sparse)
        rows, places = sparse.nonzero()
        np.save(folder / "indptr.npy", np.searchsorted(rows, np.arange(count + 1)))
        np.save(folder / "indices.npy", places.astype(np.int32))
        np.save(folder / "values.npy", sparse[rows, places].astype(np.float32))
    (folder / "views.json").write_text(json.dumps(widths))
    (folder / "ids.txt").write_text("".join(f"{prefix}{row}\n" for row in range(count)))
    return folder
