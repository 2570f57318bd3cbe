import pytest

from geeps_caffe.errors import ParameterServerError
from geeps_caffe.paramserver import Kind, Local
from geeps_caffe.paramserver.recording import Recorder


def training():
    recorder = Recorder("train")
    read = recorder.open(Kind.READ, "w")
    update = recorder.open(Kind.PRE_UPDATE, "w")
    recorder.close(Kind.UPDATE, update)
    recorder.close(Kind.POST_READ, read)
    return recorder


def test_a_recording_knows_where_each_table_is_used_last():
    recorder = training()
    recorder.open(Kind.CLOCK)
    recording = recorder.finish()
    assert recording.clocked
    assert recording.updates == {"w": (2,)}
    assert recording.last_use == {"w": 3}


def test_updates_without_a_clock_are_refused():
    with pytest.raises(ParameterServerError, match="call virtual_clock"):
        training().finish()


def test_a_test_recording_only_reads():
    recorder = Recorder("test")
    recorder.close(Kind.POST_READ, recorder.open(Kind.READ, "w"))
    assert not recorder.finish().clocked


def test_what_is_opened_must_be_closed():
    recorder = Recorder("test")
    recorder.open(Kind.READ, "w")
    with pytest.raises(ParameterServerError, match=r"read\(0\) of 'w' is never closed"):
        recorder.finish()


def test_nothing_follows_the_clock():
    recorder = Recorder("train")
    recorder.open(Kind.CLOCK)
    recorder.close(Kind.POST_READ, recorder.open(Kind.READ, "w"))
    with pytest.raises(ParameterServerError, match=r"clock\(0\) is not the last"):
        recorder.finish()


def test_an_empty_recording_is_refused():
    with pytest.raises(ParameterServerError, match="'train' is empty"):
        Recorder("train").finish()


@pytest.mark.parametrize(
    ("kind", "handle", "message"),
    [
        (Kind.POST_READ, 7, "no such handle"),
        (Kind.UPDATE, 0, "not of a pre_update"),
        (Kind.POST_READ, 0, "is closed"),
    ],
)
def test_a_closing_call_needs_its_opening_handle(kind, handle, message):
    with pytest.raises(ParameterServerError, match=message):
        training().close(kind, handle)


def test_a_local_array_has_one_shape():
    recorder = Recorder("train")
    for shape in ((2, 3), (3, 2)):
        local = Local("data", shape)
        recorder.close(
            Kind.POST_LOCAL_ACCESS, recorder.open(Kind.LOCAL_ACCESS, local=local)
        )
    with pytest.raises(ParameterServerError, match=r"as \(3, 2\) float32, before"):
        recorder.finish()
