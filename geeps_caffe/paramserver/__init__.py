"""The GeePS parameter server: tables that several workers read and update.

`Client` is all that a program needs; see `client` for its calls.
"""

from geeps_caffe.paramserver.client import Client
from geeps_caffe.paramserver.connect import open_client, open_store
from geeps_caffe.paramserver.launch import launch
from geeps_caffe.paramserver.limits import Limits
from geeps_caffe.paramserver.local import LocalStore
from geeps_caffe.paramserver.recording import Access, Kind, Local, Recording
from geeps_caffe.paramserver.remote import RemoteStore
from geeps_caffe.paramserver.scheme import ADD, ASYNC, Scheme
from geeps_caffe.paramserver.store import Store
from geeps_caffe.paramserver.table import ROW_WIDTH, Segment, Table, row_blocks

__all__ = [
    "ADD",
    "ASYNC",
    "ROW_WIDTH",
    "Access",
    "Client",
    "Kind",
    "Limits",
    "Local",
    "LocalStore",
    "Recording",
    "RemoteStore",
    "Scheme",
    "Segment",
    "Store",
    "Table",
    "launch",
    "open_client",
    "open_store",
    "row_blocks",
]
