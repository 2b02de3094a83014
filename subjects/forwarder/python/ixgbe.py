"""A user-space driver for the Intel 82599: one receive and one transmit queue."""

import mmap
import os
import struct
import time

import registers as regs
from memory import BUFFER_BYTES, allocate

RING_ENTRIES = 1024  # a power of two
TIMEOUT_S = 10
# The shortest frame on a wire without its frame check sequence (IEEE 802.3, 4.4.2).
FRAME_BYTES_MIN = 60
COMMAND = regs.TXD_EOP | regs.TXD_RS | regs.TXD_IFCS | regs.TXD_DEXT | regs.TXD_DTYP_DATA


def open_registers(address):
    """Takes a device from its kernel driver, makes it bus master, and maps BAR 0."""
    directory = f"/sys/bus/pci/devices/{address}"
    try:
        with open(f"{directory}/driver/unbind", "w") as unbind:
            unbind.write(address)
    except FileNotFoundError:
        pass
    # PCI 3.0, 6.2.2: bit 2 of the command register, at 4.
    config = os.open(f"{directory}/config", os.O_RDWR)
    (command,) = struct.unpack("<H", os.pread(config, 2, 4))
    os.pwrite(config, struct.pack("<H", command | 1 << 2), 4)
    os.close(config)
    with open(f"{directory}/resource0", "r+b") as resource:
        return mmap.mmap(resource.fileno(), 0)


class Ring:
    """Descriptors of two words each, as a view of numbers, and the buffer of each."""

    def __init__(self):
        memory, pages = allocate(RING_ENTRIES * 16)
        self.words = memoryview(memory).cast("Q")
        # Addresses that no memory has, so that a device that starts too early finds nothing to overwrite.
        for word in range(2 * RING_ENTRIES):
            self.words[word] = 0xFFFF_FFFF_FFFF_FFFF
        self.address = pages[0]
        self.buffers = [0] * RING_ENTRIES
        self.index = 0


class Device:
    """An 82599. Packets are pairs of a buffer's index and a length."""

    def __init__(self, address, pool, clean_batch):
        self.registers = memoryview(open_registers(address)).cast("I")
        self.pool = pool
        self.clean_batch = clean_batch
        self.clean = 0
        # Within a received frame whose last buffer has not come yet.
        self.is_inside = False
        # 4.6.3: interrupts off, reset, interrupts off again, EEPROM and DMA ready
        self.write(regs.EIMC, regs.EIMC_ALL_MASK)
        self.write(regs.CTRL, regs.CTRL_RST | regs.CTRL_LRST)
        self.await_bits(regs.CTRL, regs.CTRL_RST | regs.CTRL_LRST, 0, "reset")
        time.sleep(0.01)
        self.write(regs.EIMC, regs.EIMC_ALL_MASK)
        self.await_bits(regs.EEC, regs.EEC_ARD, regs.EEC_ARD, "EEPROM")
        self.await_bits(regs.RDRXCTL, regs.RDRXCTL_DMAIDONE, regs.RDRXCTL_DMAIDONE, "DMA initialisation")
        # 4.6.4
        autoc = self.read(regs.AUTOC) & ~(regs.AUTOC_LMS_MASK | regs.AUTOC_PMA_PMD_10G_MASK)
        self.write(regs.AUTOC, autoc | regs.AUTOC_LMS_10G_SERIAL | regs.AUTOC_RESTART_AN)
        self._set_up_receive()
        self._set_up_transmit()
        self.await_bits(regs.LINKS, regs.LINKS_UP, regs.LINKS_UP, "link")

    def read(self, offset):
        return self.registers[offset // 4]

    def write(self, offset, value):
        self.registers[offset // 4] = value

    def set(self, offset, bits):
        self.write(offset, self.read(offset) | bits)

    def clear(self, offset, bits):
        self.write(offset, self.read(offset) & ~bits)

    def await_bits(self, offset, mask, value, step):
        until = time.monotonic() + TIMEOUT_S
        while self.read(offset) & mask != value:
            if time.monotonic() > until:
                raise TimeoutError(f"{step}: no answer within {TIMEOUT_S} s")
            time.sleep(0.001)

    def _set_up_receive(self):
        """4.6.7"""
        self.clear(regs.RXCTRL, regs.RXCTRL_RXEN)
        self.write(regs.rxpbsize(0), regs.RXPBSIZE_128KB)
        for n in range(1, 8):
            self.write(regs.rxpbsize(n), 0)
        self.set(regs.HLREG0, regs.HLREG0_RXCRCSTRP)
        self.set(regs.RDRXCTL, regs.RDRXCTL_CRCSTRIP)
        self.set(regs.FCTRL, regs.FCTRL_BAM | regs.FCTRL_MPE | regs.FCTRL_UPE)
        split = self.read(regs.srrctl(0)) & ~(regs.SRRCTL_DESCTYPE_MASK | regs.SRRCTL_BSIZEPACKET_MASK)
        split |= regs.SRRCTL_DESCTYPE_ADVANCED | regs.SRRCTL_DROP_EN | BUFFER_BYTES // 1024
        self.write(regs.srrctl(0), split)
        self.receive = ring = Ring()
        self._write_ring(ring, regs.rdbal(0), regs.rdbah(0), regs.rdlen(0))
        self.write(regs.rdh(0), 0)
        self.write(regs.rdt(0), 0)
        self.set(regs.CTRL_EXT, regs.CTRL_EXT_NS_DIS)
        self.clear(regs.dca_rxctrl(0), regs.DCA_RXCTRL_RESERVED_12)
        for index in range(RING_ENTRIES):
            buffer = self.pool.free.pop()
            ring.buffers[index] = buffer
            ring.words[2 * index] = self.pool.addresses[buffer]
            ring.words[2 * index + 1] = 0
        self.set(regs.RXCTRL, regs.RXCTRL_RXEN)
        self.set(regs.rxdctl(0), regs.RXDCTL_ENABLE)
        self.await_bits(regs.rxdctl(0), regs.RXDCTL_ENABLE, regs.RXDCTL_ENABLE, "receive queue")
        # All descriptors but one: with all of them the ring would look empty.
        self.write(regs.rdt(0), RING_ENTRIES - 1)

    def _set_up_transmit(self):
        """4.6.8"""
        self.set(regs.HLREG0, regs.HLREG0_TXCRCEN | regs.HLREG0_TXPADEN)
        self.write(regs.txpbsize(0), regs.TXPBSIZE_40KB)
        for n in range(1, 8):
            self.write(regs.txpbsize(n), 0)
        self.write(regs.DTXMXSZRQ, 0xFFFF)
        self.clear(regs.RTTDCS, regs.RTTDCS_ARBDIS)
        self.transmit = ring = Ring()
        self._write_ring(ring, regs.tdbal(0), regs.tdbah(0), regs.tdlen(0))
        self.write(regs.tdh(0), 0)
        self.write(regs.tdt(0), 0)
        # Thresholds as DPDK has them.
        thresholds = 36 << regs.TXDCTL_PTHRESH_SHIFT | 8 << regs.TXDCTL_HTHRESH_SHIFT | 4 << regs.TXDCTL_WTHRESH_SHIFT
        self.write(regs.txdctl(0), thresholds)
        self.write(regs.DMATXCTL, regs.DMATXCTL_TE)
        self.set(regs.txdctl(0), regs.TXDCTL_ENABLE)
        self.await_bits(regs.txdctl(0), regs.TXDCTL_ENABLE, regs.TXDCTL_ENABLE, "transmit queue")

    def _write_ring(self, ring, low, high, length):
        self.write(low, ring.address & 0xFFFF_FFFF)
        self.write(high, ring.address >> 32)
        self.write(length, RING_ENTRIES * 16)

    def _is_whole(self, status, length):
        """True for a frame in one buffer, of a length that a wire and a buffer can have. Others are dropped, buffer by buffer."""
        is_end, was_inside = bool(status & regs.RXD_EOP), self.is_inside
        self.is_inside = not is_end
        return is_end and not was_inside and FRAME_BYTES_MIN <= length <= BUFFER_BYTES

    def rx_batch(self, number):
        """Up to `number` received packets."""
        ring, free, addresses = self.receive, self.pool.free, self.pool.addresses
        words, buffers, index = ring.words, ring.buffers, ring.index
        packets = []
        while len(packets) < number and free:
            status = words[2 * index + 1]
            if not status & regs.RXD_DD:
                break
            length = status >> 32 & 0xFFFF
            if self._is_whole(status, length):
                packets.append((buffers[index], length))
                buffers[index] = free.pop()
            words[2 * index] = addresses[buffers[index]]
            words[2 * index + 1] = 0
            index = (index + 1) % RING_ENTRIES
        if index != ring.index:
            ring.index = index
            # One behind: a tail that equals the head would say that the ring is empty.
            self.write(regs.rdt(0), (index - 1) % RING_ENTRIES)
        return packets

    def clean_up(self):
        """Frees what was sent, a batch at a time: only the last descriptor of one is read."""
        ring, batch = self.transmit, self.clean_batch
        while (ring.index - self.clean) % RING_ENTRIES >= batch:
            last = (self.clean + batch - 1) % RING_ENTRIES
            if not ring.words[2 * last + 1] >> 32 & regs.TXD_WB_DD:
                return
            self.pool.free.extend(ring.buffers[(self.clean + n) % RING_ENTRIES] for n in range(batch))
            self.clean = (last + 1) % RING_ENTRIES

    def tx_batch(self, packets):
        """Sends packets from the front as far as there is room. Returns how many."""
        self.clean_up()
        ring, addresses = self.transmit, self.pool.addresses
        words, buffers, index = ring.words, ring.buffers, ring.index
        room = (self.clean - index - 1) % RING_ENTRIES
        sent = min(room, len(packets))
        for buffer, length in packets[:sent]:
            words[2 * index] = addresses[buffer]
            words[2 * index + 1] = COMMAND | length | length << regs.TXD_OLINFO_PAYLEN_SHIFT + 32
            buffers[index] = buffer
            index = (index + 1) % RING_ENTRIES
        ring.index = index
        self.write(regs.tdt(0), index)
        return sent
