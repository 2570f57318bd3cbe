"""Whether the pages that an LMDB file's records lie in are all there.

The library maps a file and trusts it: to read behind its end kills the process. Yet a
whole file may end before its last page: one that was given back by the transaction
that had taken it is never written. So the tree of pages is walked here, in the format
of LMDB 0.9 for 64 bits (`mdb.c`), in this machine's order of bytes:

    page    its number (8 bytes), unused (2), flags (2), where its places end (2), ...
            and from byte 16 on the places of its nodes (2 each)
    node    in a branch: a page's number (6), the key's size (2), the key
            in a leaf: the value's size (4), flags (2), the key's size (2), the key,
            and the value, or the number (8) of the first of the pages that it fills
"""

import mmap
import struct
from collections.abc import Iterator
from typing import TypeAlias

_HEADER = 16
_BRANCH, _LEAF = 1, 2
_BIG, _TREE = 1, 2  # of a node: what its value is, if not the value itself
_TREE_ROOT = 40  # in the description of a tree
_ROOT = 128  # of the records' tree, in pages 0 and 1; the later transaction counts
_ROOT_AND_TRANSACTION = struct.Struct("=Q8xQ")
_NO_PAGE = 2**64 - 1  # the root of a tree without keys

_Pages: TypeAlias = tuple[int, int, bool]  # the first, how many, whether of the tree


def is_whole(file: str, page_bytes: int) -> bool:
    """Whether no page of a record is missing at the end of the file."""
    with (
        open(file, "rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        try:
            return _walk(content, page_bytes)
        except struct.error:  # a page ends within
            return False


def _walk(content: mmap.mmap, page_bytes: int) -> bool:
    there = len(content) // page_bytes
    heads = [
        _ROOT_AND_TRANSACTION.unpack_from(content, page * page_bytes + _ROOT)
        for page in (0, 1)
    ]
    root, _ = max(heads, key=lambda head: head[1])
    row: list[_Pages] = [(root, 1, True)] if root != _NO_PAGE else []
    for _ in range(there + 1):  # a tree that is damaged may lead back to itself
        if any(first + count > there for first, count, _ in row):
            return False
        trees = [first for first, _, is_tree in row if is_tree]
        row = [
            pages
            for first in trees
            for pages in _next_pages(content, first * page_bytes, page_bytes)
        ]
        if not row:
            break
    return True


def _next_pages(content: mmap.mmap, start: int, page_bytes: int) -> Iterator[_Pages]:
    """The pages that the nodes of a page lead to."""
    flags, end = struct.unpack_from("=HH", content, start + 10)
    kind = flags & ~0x10  # that it was changed is no matter
    if kind not in (_BRANCH, _LEAF):
        return
    for (place,) in struct.iter_unpack("=H", content[start + _HEADER : start + end]):
        node = start + place
        low, high, flags, key = struct.unpack_from("=HHHH", content, node)
        value = node + 8 + key
        if kind == _BRANCH:
            yield low | high << 16 | flags << 32, 1, True
        elif flags & _BIG:
            (first,) = struct.unpack_from("=Q", content, value)
            size = low | high << 16
            yield first, -(-(_HEADER + size) // page_bytes), False
        elif flags & _TREE:
            (root,) = struct.unpack_from("=Q", content, value + _TREE_ROOT)
            if root != _NO_PAGE:
                yield root, 1, True
