'use strict';

const fs = require('node:fs');
const regs = require('./registers');
const { allocate, BUFFER_BYTES } = require('./memory');
const { map } = require('./mapping.node');

const RING_ENTRIES = 1024; // a power of two
const MASK = RING_ENTRIES - 1;
const TIMEOUT_MS = 10_000;
/** The shortest frame on a wire without its frame check sequence (IEEE 802.3, 4.4.2). */
const FRAME_BYTES_MIN = 60;
const COMMAND = regs.TXD_EOP | regs.TXD_RS | regs.TXD_IFCS | regs.TXD_DEXT | regs.TXD_DTYP_DATA;

// Registers, and words of descriptors that a device writes, are accessed through Atomics: nothing is kept, left out or moved
// across them by the compiler, and on x86-64 the processor keeps their order.

const sleeper = new Int32Array(new SharedArrayBuffer(4));

function sleepMs(ms) {
  Atomics.wait(sleeper, 0, 0, ms);
}

/** Takes a device from its kernel driver, makes it bus master, and maps BAR 0. */
function openRegisters(address) {
  const directory = `/sys/bus/pci/devices/${address}`;
  if (fs.existsSync(`${directory}/driver/unbind`)) fs.writeFileSync(`${directory}/driver/unbind`, address);
  const config = fs.openSync(`${directory}/config`, 'r+');
  // PCI 3.0, 6.2.2: bit 2 of the command register, at 4.
  const command = Buffer.alloc(2);
  fs.readSync(config, command, 0, 2, 4);
  command[0] |= 1 << 2;
  fs.writeSync(config, command, 0, 2, 4);
  fs.closeSync(config);
  const resource = `${directory}/resource0`;
  return new Uint32Array(map(resource, fs.statSync(resource).size, false));
}

/** Descriptors of four words each, and the buffer of each. */
class Ring {
  constructor() {
    const { memory, pages } = allocate(RING_ENTRIES * 16);
    this.words = new Uint32Array(memory, 0, RING_ENTRIES * 4);
    // Addresses that no memory has, so that a device that starts too early finds nothing to overwrite.
    this.words.fill(0xffffffff);
    this.address = pages[0];
    this.buffers = new Int32Array(RING_ENTRIES);
    this.index = 0;
  }

  set(index, low, high, command, status) {
    const at = index * 4;
    this.words[at] = low;
    this.words[at + 1] = high;
    this.words[at + 2] = command;
    this.words[at + 3] = status;
  }
}

/** An Intel 82599 with one receive and one transmit queue. */
class Device {
  constructor(address, pool, cleanBatch) {
    this.registers = openRegisters(address);
    this.pool = pool;
    this.cleanBatch = cleanBatch;
    this.receive = new Ring();
    this.transmit = new Ring();
    this.clean = 0;
    // Within a received frame whose last buffer has not come yet.
    this.isInside = false;
    // 4.6.3: interrupts off, reset, interrupts off again, EEPROM and DMA ready
    this.write(regs.EIMC, regs.EIMC_ALL_MASK);
    this.write(regs.CTRL, regs.CTRL_RST | regs.CTRL_LRST);
    this.await(regs.CTRL, regs.CTRL_RST | regs.CTRL_LRST, 0, 'reset');
    sleepMs(10);
    this.write(regs.EIMC, regs.EIMC_ALL_MASK);
    this.await(regs.EEC, regs.EEC_ARD, regs.EEC_ARD, 'EEPROM');
    this.await(regs.RDRXCTL, regs.RDRXCTL_DMAIDONE, regs.RDRXCTL_DMAIDONE, 'DMA initialisation');
    // 4.6.4
    this.clearBits(regs.AUTOC, regs.AUTOC_LMS_MASK | regs.AUTOC_PMA_PMD_10G_MASK);
    this.setBits(regs.AUTOC, regs.AUTOC_LMS_10G_SERIAL | regs.AUTOC_RESTART_AN);
    this.setUpReceive();
    this.setUpTransmit();
    this.await(regs.LINKS, regs.LINKS_UP, regs.LINKS_UP, 'link');
  }

  read(offset) {
    return Atomics.load(this.registers, offset >>> 2);
  }

  write(offset, value) {
    Atomics.store(this.registers, offset >>> 2, value);
  }

  setBits(offset, bits) {
    this.write(offset, this.read(offset) | bits);
  }

  clearBits(offset, bits) {
    this.write(offset, this.read(offset) & ~bits);
  }

  await(offset, mask, value, step) {
    for (let waited = 0; (this.read(offset) & mask) !== value; waited++) {
      if (waited > TIMEOUT_MS) throw new Error(`${step}: no answer within ${TIMEOUT_MS} ms`);
      sleepMs(1);
    }
  }

  /** 4.6.7 */
  setUpReceive() {
    this.clearBits(regs.RXCTRL, regs.RXCTRL_RXEN);
    this.write(regs.rxpbsize(0), regs.RXPBSIZE_128KB);
    for (let n = 1; n < 8; n++) this.write(regs.rxpbsize(n), 0);
    this.setBits(regs.HLREG0, regs.HLREG0_RXCRCSTRP);
    this.setBits(regs.RDRXCTL, regs.RDRXCTL_CRCSTRIP);
    this.setBits(regs.FCTRL, regs.FCTRL_BAM | regs.FCTRL_MPE | regs.FCTRL_UPE);
    this.clearBits(regs.srrctl(0), regs.SRRCTL_DESCTYPE_MASK | regs.SRRCTL_BSIZEPACKET_MASK);
    this.setBits(regs.srrctl(0), regs.SRRCTL_DESCTYPE_ADVANCED | regs.SRRCTL_DROP_EN | (BUFFER_BYTES / 1024));
    this.writeRing(this.receive, regs.rdbal(0), regs.rdbah(0), regs.rdlen(0));
    this.write(regs.rdh(0), 0);
    this.write(regs.rdt(0), 0);
    this.setBits(regs.CTRL_EXT, regs.CTRL_EXT_NS_DIS);
    this.clearBits(regs.dcaRxctrl(0), regs.DCA_RXCTRL_RESERVED_12);
    for (let index = 0; index < RING_ENTRIES; index++) {
      this.receive.buffers[index] = this.pool.take();
      this.giveToDevice(index);
    }
    this.setBits(regs.RXCTRL, regs.RXCTRL_RXEN);
    this.setBits(regs.rxdctl(0), regs.RXDCTL_ENABLE);
    this.await(regs.rxdctl(0), regs.RXDCTL_ENABLE, regs.RXDCTL_ENABLE, 'receive queue');
    // All descriptors but one: with all of them the ring would look empty.
    this.write(regs.rdt(0), MASK);
  }

  /** 4.6.8 */
  setUpTransmit() {
    this.setBits(regs.HLREG0, regs.HLREG0_TXCRCEN | regs.HLREG0_TXPADEN);
    this.write(regs.txpbsize(0), regs.TXPBSIZE_40KB);
    for (let n = 1; n < 8; n++) this.write(regs.txpbsize(n), 0);
    this.write(regs.DTXMXSZRQ, 0xffff);
    this.clearBits(regs.RTTDCS, regs.RTTDCS_ARBDIS);
    this.writeRing(this.transmit, regs.tdbal(0), regs.tdbah(0), regs.tdlen(0));
    this.write(regs.tdh(0), 0);
    this.write(regs.tdt(0), 0);
    // Thresholds as DPDK has them.
    const thresholds =
      (36 << regs.TXDCTL_PTHRESH_SHIFT) | (8 << regs.TXDCTL_HTHRESH_SHIFT) | (4 << regs.TXDCTL_WTHRESH_SHIFT);
    this.write(regs.txdctl(0), thresholds);
    this.write(regs.DMATXCTL, regs.DMATXCTL_TE);
    this.setBits(regs.txdctl(0), regs.TXDCTL_ENABLE);
    this.await(regs.txdctl(0), regs.TXDCTL_ENABLE, regs.TXDCTL_ENABLE, 'transmit queue');
  }

  writeRing(ring, low, high, length) {
    this.write(low, ring.address % 2 ** 32);
    this.write(high, Math.floor(ring.address / 2 ** 32));
    this.write(length, RING_ENTRIES * 16);
  }

  /** Gives the buffer of a receive descriptor to the device. */
  giveToDevice(index) {
    const buffer = this.receive.buffers[index];
    this.receive.set(index, this.pool.addressLow(buffer), this.pool.addressHigh(buffer), 0, 0);
  }

  /** True for a frame in one buffer, of a length that a wire and a buffer can have. Others are dropped, buffer by buffer. */
  isWhole(status, length) {
    const isEnd = (status & regs.RXD_EOP) !== 0;
    const wasInside = this.isInside;
    this.isInside = !isEnd;
    return isEnd && !wasInside && length >= FRAME_BYTES_MIN && length <= BUFFER_BYTES;
  }

  /** Fills both arrays with received frames: the index of the buffer and the length of each. Returns their number. */
  rxBatch(buffers, lengths) {
    const { receive, pool } = this;
    let index = receive.index;
    let received = 0;
    while (received < buffers.length && pool.free > 0) {
      const status = Atomics.load(receive.words, index * 4 + 2);
      if ((status & regs.RXD_DD) === 0) break;
      const length = receive.words[index * 4 + 3] & 0xffff;
      if (this.isWhole(status, length)) {
        buffers[received] = receive.buffers[index];
        lengths[received] = length;
        receive.buffers[index] = pool.take();
        received++;
      }
      this.giveToDevice(index);
      index = (index + 1) & MASK;
    }
    if (index !== receive.index) {
      receive.index = index;
      // One behind: a tail that equals the head would say that the ring is empty.
      this.write(regs.rdt(0), (index - 1) & MASK);
    }
    return received;
  }

  /** Frees what was sent, a batch at a time: only the last descriptor of one is read. */
  cleanUp() {
    const { transmit, pool, cleanBatch } = this;
    while (((transmit.index - this.clean) & MASK) >= cleanBatch) {
      const last = (this.clean + cleanBatch - 1) & MASK;
      if ((Atomics.load(transmit.words, last * 4 + 3) & regs.TXD_WB_DD) === 0) return;
      for (let n = 0; n < cleanBatch; n++) pool.give(transmit.buffers[(this.clean + n) & MASK]);
      this.clean = (last + 1) & MASK;
    }
  }

  /** Sends so many frames from the front as far as there is room. Returns how many. */
  txBatch(buffers, lengths, number) {
    this.cleanUp();
    const { transmit, pool } = this;
    let index = transmit.index;
    let sent = 0;
    for (; sent < number; sent++) {
      const next = (index + 1) & MASK;
      if (next === this.clean) break;
      const buffer = buffers[sent];
      const length = lengths[sent];
      const payload = length << regs.TXD_OLINFO_PAYLEN_SHIFT;
      transmit.set(index, pool.addressLow(buffer), pool.addressHigh(buffer), COMMAND | length, payload);
      transmit.buffers[index] = buffer;
      index = next;
    }
    transmit.index = index;
    this.write(regs.tdt(0), index);
    return sent;
  }
}

module.exports = { Device };
