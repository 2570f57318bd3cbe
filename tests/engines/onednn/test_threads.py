from geeps_caffe.engines.onednn.threads import (
    hold_blas_to_one_thread,
    openmp_threads,
    prepare_environment,
    set_openmp_threads,
)


def test_threads_wait_a_moment_then_sleep():
    environment = {}
    prepare_environment(None, environment)
    assert environment == {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "10000"}


def test_what_the_user_set_about_waiting_stays():
    environment = {"OMP_WAIT_POLICY": "active"}
    prepare_environment(None, environment)
    assert environment == {"OMP_WAIT_POLICY": "active"}


def test_the_number_of_threads_is_set_for_openmp():
    environment = {}
    prepare_environment(3, environment)
    assert environment["OMP_NUM_THREADS"] == "3"


def test_openmp_takes_the_number_at_any_time(api):
    set_openmp_threads(api.library, 1)
    assert openmp_threads(api.library) == 1
    set_openmp_threads(api.library, 2)
    assert openmp_threads(api.library) == 2


def test_the_blas_of_numpy_is_found():
    assert all("blas" in path or "mkl" in path for path in hold_blas_to_one_thread())
