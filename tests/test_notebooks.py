from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_nothing(path, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="the extra `dev` has nbclient and ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="the extra `dev` has nbclient and ipykernel")
    pytest.importorskip("ipykernel", reason="the extra `dev` has nbclient and ipykernel")
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR", "REPRO_STORE"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    notebook = nbformat.read(path, as_version=4)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert code and not any(c.outputs for c in code)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = {kind for cell in code for output in cell.outputs for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
    assert not (tmp_path / "repro_store").exists()


def test_there_is_one():
    assert NOTEBOOKS
