"""A driver whose accesses to the device are functions in C, called through ctypes: what a helper costs."""

import ctypes

import registers as regs
from ixgbe import COMMAND, RING_ENTRIES, Device
from memory import start_of


def load(library):
    """The class of devices that use a library with the functions of helpers.h."""
    functions = ctypes.CDLL(library)
    pointer, word, half = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
    status, put, write = functions.helper_status, functions.helper_set, functions.helper_write
    status.restype, status.argtypes = word, [pointer, half]
    put.restype, put.argtypes = None, [pointer, half, word, word]
    write.restype, write.argtypes = None, [pointer, half, half]

    class HelperDevice(Device):
        def __init__(self, address, pool, clean_batch):
            self.start = None
            super().__init__(address, pool, clean_batch)
            self.start, self.receive_start, self.transmit_start = (
                start_of(view.obj) for view in (self.registers, self.receive.words, self.transmit.words))

        def write(self, offset, value):
            if self.start is None:
                super().write(offset, value)
            else:
                write(self.start, offset, value)

        def rx_batch(self, number):
            ring, free, addresses, start = self.receive, self.pool.free, self.pool.addresses, self.receive_start
            buffers, index = ring.buffers, ring.index
            packets = []
            while len(packets) < number and free:
                found = status(start, index)
                if not found & regs.RXD_DD:
                    break
                length = found >> 32 & 0xFFFF
                if self._is_whole(found, length):
                    packets.append((buffers[index], length))
                    buffers[index] = free.pop()
                put(start, index, addresses[buffers[index]], 0)
                index = (index + 1) % RING_ENTRIES
            if index != ring.index:
                ring.index = index
                self.write(regs.rdt(0), (index - 1) % RING_ENTRIES)
            return packets

        def clean_up(self):
            ring, batch = self.transmit, self.clean_batch
            while (ring.index - self.clean) % RING_ENTRIES >= batch:
                last = (self.clean + batch - 1) % RING_ENTRIES
                if not status(self.transmit_start, last) >> 32 & regs.TXD_WB_DD:
                    return
                self.pool.free.extend(ring.buffers[(self.clean + n) % RING_ENTRIES] for n in range(batch))
                self.clean = (last + 1) % RING_ENTRIES

        def tx_batch(self, packets):
            self.clean_up()
            ring, addresses, start = self.transmit, self.pool.addresses, self.transmit_start
            buffers, index = ring.buffers, ring.index
            sent = min((self.clean - index - 1) % RING_ENTRIES, len(packets))
            for buffer, length in packets[:sent]:
                put(start, index, addresses[buffer], COMMAND | length | length << regs.TXD_OLINFO_PAYLEN_SHIFT + 32)
                buffers[index] = buffer
                index = (index + 1) % RING_ENTRIES
            ring.index = index
            self.write(regs.tdt(0), index)
            return sent

    return HelperDevice
