"""The scores that the card of an exported encoder lists."""

from repro.exchange.encoder_export import MeasuredEncoder, _compared_cells
from repro.manifest.cells import cell
from repro.running.plan import plan
from repro.running.scale import scale
from repro.running.workspace import Workspace


def test_of_a_row_with_several_models_a_card_has_the_cells_of_its_own(tmp_path):
    workspace, tiny = Workspace.open(tmp_path / "store", tmp_path / "results"), scale("tiny")
    passages, documents = (cell(f"cpdae/1/cpdae/dev-{kind}") for kind in ("passage.rr10", "doc.rr100"))
    for own, kind in ((passages, "passage"), (documents, "doc")):
        [measurement] = plan([own], scale=tiny, machine=workspace.machine).measurements
        model = MeasuredEncoder.of(measurement.runs[0]).model
        listed = [c.cell.column.id for c in _compared_cells(measurement, model, workspace, tiny)]
        assert own.column.id in listed and all(kind in column for column in listed)
