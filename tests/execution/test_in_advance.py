import threading

import numpy as np
import pytest

from geeps_caffe.execution.in_advance import Job, in_advance


def job(number, made, nbytes=8):
    def make():
        made.append((number, threading.get_ident()))
        return np.full(2, number, np.float32)

    return Job(nbytes, make)


def test_what_jobs_make_comes_in_their_order_from_one_other_thread():
    made = []
    results = list(in_advance(job(i, made) for i in range(9)))
    assert [array[0] for array in results] == list(range(9))
    assert [number for number, _ in made] == list(range(9))
    (thread,) = {thread for _, thread in made}
    assert thread != threading.get_ident()


def test_no_job_is_asked_for_that_would_make_too_many_bytes():
    made, asked = [], []

    def jobs():
        for i, nbytes in enumerate([8, 8, 8, 100, 8]):
            asked.append(i)
            yield job(i, made, nbytes)

    results = in_advance(jobs(), most=16)
    next(results)
    assert asked == [0, 1, 2] and len(made) <= 2  # two of 8 bytes; then one has to go
    assert [array[0] for array in results] == [1, 2, 3, 4]


def test_what_a_job_raises_comes_when_its_array_is_asked_for():
    def fails():
        raise ValueError("no values")

    results = in_advance([job(0, []), Job(8, fails), job(2, [])])
    next(results)
    with pytest.raises(ValueError, match="no values"):
        next(results)
