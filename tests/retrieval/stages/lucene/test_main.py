from repro.retrieval.stages.lucene.__main__ import TRIMMED, json_document


def test_what_java_strips_ends_with_the_blank():
    assert " \t\n\x00\x1f".strip(TRIMMED) == "" and "!\u00a0".strip(TRIMMED) == "!\u00a0"


def test_flat_contents_are_title_and_text():
    row = {"id": "d1", "title": "On moss", "text": "Moss is green."}
    assert json_document(row, multifield=False) == {"id": "d1", "contents": "On moss\nMoss is green."}


def test_an_empty_title_leaves_no_line():
    row = {"id": "d1", "title": "", "text": "Moss is green."}
    assert json_document(row, multifield=False) == {"id": "d1", "contents": "Moss is green."}


def test_a_document_with_an_address_begins_with_it():
    row = {"id": "d1", "url": "http://moss.example", "title": "On moss", "text": "Moss is green."}
    assert json_document(row, multifield=False)["contents"] == "http://moss.example\nOn moss\nMoss is green."


def test_with_several_fields_the_title_stands_apart():
    row = {"id": "d1", "title": "On moss", "text": "Moss is green."}
    document = json_document(row, multifield=True)
    assert document == {"id": "d1", "title": "On moss", "contents": "Moss is green."}
