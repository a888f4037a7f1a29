"""``repro report figures``, and the selection of figures."""

POINT = "costa/figure-4/bm25/dev.rr10"


def test_without_anything_measured_it_says_so_and_draws_nothing(repro, folders):
    said = repro("report figures costa --table figure-4 --scale tiny")
    assert said.status == 0 and (said.out, said.err[:15]) == ("", "nothing to draw")
    assert not list((folders / "results/figures").rglob("*.svg"))


def test_a_measured_point_is_drawn_with_its_numbers_beside_it(repro, measured):
    assert repro(f"run {POINT} --scale tiny").status == 0
    said = repro("report figures costa --table figure-4 --scale tiny")
    drawn = measured / "results/figures/tiny/costa-figure4.svg"
    assert said.out.split() == [str(drawn)] and drawn.exists()
    text = drawn.with_suffix(".csv").read_text()
    assert text.splitlines()[1].startswith("MARCO Dev Passage,MRR@10,BM25,,0.3877")
    again = drawn.read_bytes()
    repro("report figures costa --table figure-4 --scale tiny")
    assert drawn.read_bytes() == again


def test_a_point_of_a_figure_has_an_address_like_any_cell(repro, folders):
    [one] = repro(f"compare {POINT} --scale tiny --format json").json
    assert (one["id"], one["printed"], one["verdict"]) == (POINT, "-", "not run")


def test_a_figure_selects_its_points_and_an_exhibit_its_node(repro, folders):
    points = repro("compare costa --table figure-4 --scale tiny --format json").json
    assert len(points) == (2 * 4 + 1) * 4
    nodes = repro("plan costa --table figure-3 --scale tiny --format json").json
    assert [n["stage"] for n in nodes].count("project") == 2
    nodes = repro("plan cpdae --table 4 --scale tiny --format json").json
    assert nodes[-1]["stage"] == "inspect_text"


def test_a_view_that_cannot_be_made_here_is_told_with_its_remedy(repro, folders):
    said = repro("run costa --table figure-3")
    lines = [line for line in said.err.splitlines() if line.startswith("blocked: ")]
    assert said.status == 4 and [line.rpartition(" ")[2] for line in lines] == [
        "[costa/figure-3/seed]",
        "[costa/figure-3/costa]",
    ]
