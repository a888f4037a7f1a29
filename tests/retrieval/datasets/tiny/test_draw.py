from repro.retrieval.datasets.tiny.world import Draw

EXPECTED = [13, 23, 86, 28, 4]
OTHER = 75


def test_equal_seeds_give_equal_choices_in_every_version_of_python():
    draw = Draw("seed")
    assert [draw.below(100) for _ in range(5)] == EXPECTED
    assert [Draw("seed").below(100), Draw("other").below(100)] == [EXPECTED[0], OTHER]


def test_a_sample_has_no_repetition_and_every_item_may_be_first():
    draw = Draw("x")
    firsts = set()
    for _ in range(200):
        sample = draw.sample("abcdef", 4)
        assert len(set(sample)) == 4 <= len(set("abcdef") | set(sample))
        firsts.add(sample[0])
    assert firsts == set("abcdef")


def test_chances_come_true_as_often_as_they_should():
    draw = Draw("y")
    hits = sum(draw.chance(0.2) for _ in range(5000))
    assert abs(hits - 1000) < 4 * 28.3  # standard deviation sqrt(5000 * 0.2 * 0.8) = 28.3
    assert not draw.chance(0.0) and draw.chance(1.0)
