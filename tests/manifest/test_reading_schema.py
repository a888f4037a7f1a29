import pytest

from repro.errors import ManifestError
from repro.manifest.papers import readings
from repro.manifest.reading_schema import StudyPointer, study_pointer

READING = """\
- id: a
  kind: silence
  where: §1
  paper: not said
  choices: {x: 1}
  default: x
  study: [POINTER]
"""


def test_a_pointer_names_study_table_rows_and_the_stated_order():
    assert study_pointer("s_1/6/a.b-1 below a.c") == StudyPointer("s_1", "6", "a.b-1", "below", "a.c")


@pytest.mark.parametrize(
    "text", ["s/6/a", "s/6/a over b", "6/a below b", "s/6/a below b c", "s/6/a/c below b"]
)
def test_another_form_is_refused_with_the_file_and_its_line(text, tmp_path):
    path = tmp_path / "readings.yaml"
    path.write_text(READING.replace("POINTER", text))
    with pytest.raises(ManifestError, match="is not STUDY/TABLE/ROW") as error:
        readings(path)
    assert str(error.value).startswith(f"{path}:7: ")


def test_a_default_must_be_a_choice(tmp_path):
    path = tmp_path / "readings.yaml"
    path.write_text("- {id: a, kind: silence, where: x, paper: y, choices: {b: 1}, default: c}\n")
    with pytest.raises(ManifestError, match="default 'c' is not among the choices b"):
        readings(path)
