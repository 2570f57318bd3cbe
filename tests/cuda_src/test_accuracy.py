import numpy as np
import pytest

from tests.cuda_src.build import run

FILE = "accuracy.cu"
#: Best; second of three; equal to two others; ignored; nan; no class; nan.
SCORES = np.array(
    [[3, 1, 2], [1, 2, 3], [5, 5, 5], [9, 1, 1], [1, np.nan, 1], [0, 0, 0], [0, 0, 0]],
    np.float32,
)
LABELS = np.array([0, 1, 2, 7, 1, 3, np.nan], np.float32)
RANKS = [1, 2, 3, 0, 4, -1, -1]


def test_ranks_of_rows():
    ranks = np.empty(7, np.float32)
    run(FILE, "label_ranks_rows", 7, SCORES, LABELS, ranks, 3, 1, 7)
    assert ranks.tolist() == RANKS


def test_ranks_where_classes_are_apart():
    scores = np.stack([SCORES, SCORES[::-1]], axis=2).copy()
    labels = np.stack([LABELS, LABELS[::-1]], axis=1).copy()
    ranks = np.empty((7, 2), np.float32)
    run(FILE, "label_ranks", 14, scores, labels, ranks, 3, 2, 1, 7)
    assert ranks.T.tolist() == [RANKS, RANKS[::-1]]


@pytest.mark.parametrize(("top_k", "hits"), [(1, 1), (2, 2), (3, 3)])
def test_hits(top_k, hits):
    sums = np.empty((2, 3), np.float32)
    ranks = np.array(RANKS, np.float32)
    run(FILE, "count_hits", 2, ranks, sums, 7, 4, top_k)
    assert sums.sum(axis=0).tolist() == [hits, 4, 2]
