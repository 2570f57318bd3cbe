from geeps_caffe.paramserver.hosts.places import Places


def test_ranks_are_numbered_host_by_host():
    places = Places(("a", "b", "c"), (2, 1, 3), host=2)
    assert places.ranks == 6
    assert [list(places.ranks_of(host)) for host in range(3)] == [
        [0, 1],
        [2],
        [3, 4, 5],
    ]
    assert [places.host_of(rank) for rank in range(6)] == [0, 0, 1, 2, 2, 2]
    assert places.local == range(3, 6)
    assert places.others == [0, 1]


def test_a_host_is_named_with_its_ranks():
    places = Places(("a", "b"), (2, 1))
    assert places.describe(0) == "host a (ranks 0 to 1)"
    assert places.describe(1) == "host b (rank 2)"
