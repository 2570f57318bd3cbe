"""Where records come from, in what order, and how they become batches.

DATABASES is the table from `backend` in data_param to its reader.
"""

from geeps_caffe.data.database import Database
from geeps_caffe.data.leveldb import LevelDb
from geeps_caffe.data.lmdb import Lmdb

DATABASES: dict[str, type[Lmdb] | type[LevelDb]] = {"LMDB": Lmdb, "LEVELDB": LevelDb}


def open_database(path: str, backend: str) -> Database:
    """The database at `path`; `backend` is "LMDB" or "LEVELDB", in any case.

    Raises:
        DataError: there is none, or one of another kind.
    """
    return DATABASES[backend.upper()](path)


__all__ = ["DATABASES", "Database", "open_database"]
