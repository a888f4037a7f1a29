import pytest

from repro.errors import UsageError
from repro.machine.shard import Shard, blocks, only_shard, shard, share


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "3/", "/8", "a/b", "-1/2", "1/0", "1/2/3", ""])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(UsageError, match=r"--shard is .*\. Give its number and their count"):
        Shard.parse(text)


def test_without_a_shard_a_process_has_all_blocks():
    assert shard().whole and list(blocks(50, 10)) == [0, 10, 20, 30, 40] and share(45, 10) == 45


@pytest.mark.parametrize("shards, ranks", [(1, 1), (3, 1), (1, 2), (3, 2), (7, 2), (2, 3)])
def test_shards_and_their_processes_have_every_block_once(shards, ranks):
    seen = []
    for number in range(1, shards + 1):
        with only_shard(Shard.parse(f"{number}/{shards}")):
            assert shard().whole == (shards == 1)
            mine = [list(blocks(115, 10, rank=rank, ranks=ranks)) for rank in range(ranks)]
            assert share(115, 10, ranks=ranks) == sum(min(10, 115 - first) for first in mine[0])
        seen += [first for one in mine for first in one]
    assert sorted(seen) == list(range(0, 115, 10))
    assert shard().whole
