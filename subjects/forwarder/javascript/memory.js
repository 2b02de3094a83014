'use strict';

const fs = require('node:fs');
const { map, addressOf } = require('./mapping.node');

const HUGE_PAGE_BYTES = 2 << 20;
const BUFFER_BYTES = 2048;
const PAGE_BYTES = 4096;
const BUFFERS_PER_PAGE = HUGE_PAGE_BYTES / BUFFER_BYTES;
// Entries of /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst): bits 0 to 54 are the number of the frame.
const FRAME_MASK = (1n << 55n) - 1n;

let files = 0;

/** Maps huge pages for so many bytes: the memory as an ArrayBuffer, and the bus address of each page as a number. */
function allocate(bytes) {
  const number = Math.ceil(bytes / HUGE_PAGE_BYTES);
  const memory = map(`/mnt/huge/forwarder-${process.pid}-${files++}`, number * HUGE_PAGE_BYTES, true);
  const start = addressOf(memory);
  const pagemap = fs.openSync('/proc/self/pagemap', 'r');
  const entry = Buffer.alloc(8);
  const pages = [];
  for (let page = 0; page < number; page++) {
    fs.readSync(pagemap, entry, 0, 8, ((start + page * HUGE_PAGE_BYTES) / PAGE_BYTES) * 8);
    const frame = Number(entry.readBigUInt64LE() & FRAME_MASK);
    if (frame === 0) throw new Error('no physical addresses: run as root');
    pages.push(frame * PAGE_BYTES);
  }
  fs.closeSync(pagemap);
  return { memory, pages };
}

/**
 * Buffers of both devices. As a stack, the one that was given back last is used next; as a ring, the one that was given back
 * first.
 */
class Pool {
  constructor(buffers, isRing) {
    const { memory, pages } = allocate(buffers * BUFFER_BYTES);
    this.bytes = new Uint8Array(memory);
    // Bus addresses have more than 32 bits: two words each, as in descriptors.
    this.low = new Uint32Array(pages.map((page) => page % 2 ** 32));
    this.high = new Uint32Array(pages.map((page) => Math.floor(page / 2 ** 32)));
    this.indices = new Int32Array(buffers);
    this.isRing = isRing;
    this.free = 0;
    this.head = 0;
    for (let index = buffers - 1; index >= 0; index--) this.give(index);
  }

  /** Takes a buffer of a pool that has a free one. */
  take() {
    this.free--;
    if (!this.isRing) return this.indices[this.free];
    const index = this.indices[this.head];
    this.head = this.head + 1 === this.indices.length ? 0 : this.head + 1;
    return index;
  }

  give(index) {
    let end = this.free++;
    if (this.isRing) {
      end += this.head;
      if (end >= this.indices.length) end -= this.indices.length;
    }
    this.indices[end] = index;
  }

  addressLow(index) {
    return this.low[(index / BUFFERS_PER_PAGE) | 0] + (index % BUFFERS_PER_PAGE) * BUFFER_BYTES;
  }

  addressHigh(index) {
    return this.high[(index / BUFFERS_PER_PAGE) | 0];
  }

  /** Increases a byte of the frame in a buffer. */
  touch(index, place) {
    this.bytes[index * BUFFER_BYTES + place]++;
  }
}

module.exports = { allocate, Pool, BUFFER_BYTES };
