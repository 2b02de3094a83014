"""DMA memory in huge pages, and a pool of packet buffers in it."""

import ctypes
import mmap
import os

HUGE_PAGE_BYTES = 2 << 20
BUFFER_BYTES = 2048
# Entries of /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst): bits 0 to 54 are the number of the frame.
FRAME_MASK = (1 << 55) - 1
MAP_HUGETLB = 0x40000
MAP_POPULATE = 0x8000

_files = 0


def start_of(memory):
    """Address of a mapping in this process, which the mapping itself does not tell."""
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def allocate(size):
    """Maps huge pages for `size` bytes. Returns the mapping, and the bus address of each page."""
    global _files
    pages = -(-size // HUGE_PAGE_BYTES)
    path = f"/mnt/huge/forwarder-{os.getpid()}-{_files}"
    _files += 1
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        os.unlink(path)
        os.ftruncate(file, pages * HUGE_PAGE_BYTES)
        memory = mmap.mmap(file, pages * HUGE_PAGE_BYTES, mmap.MAP_SHARED | MAP_HUGETLB | MAP_POPULATE)
    finally:
        os.close(file)
    start = start_of(memory)
    addresses = []
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        for page in range(pages):
            pagemap.seek((start + page * HUGE_PAGE_BYTES) // mmap.PAGESIZE * 8)
            frame = int.from_bytes(pagemap.read(8), "little") & FRAME_MASK
            if frame == 0:
                raise PermissionError("no physical addresses: run as root")
            addresses.append(frame * mmap.PAGESIZE)
    return memory, addresses


class Pool:
    """Buffers of both devices. A packet is the index of its buffer; the one that was given back last is used next."""

    def __init__(self, buffers):
        self.memory, pages = allocate(buffers * BUFFER_BYTES)
        per_page = HUGE_PAGE_BYTES // BUFFER_BYTES
        self.addresses = [pages[n // per_page] + n % per_page * BUFFER_BYTES for n in range(buffers)]
        self.free = list(range(buffers))
