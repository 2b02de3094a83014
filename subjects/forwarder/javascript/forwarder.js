// Forwards frames between two ports, both ways: forwarder.js ADDRESS ADDRESS. README.md one directory up describes the
// options, which are the same in every language. JavaScript has no prefetch, so that FORWARDER_PREFETCH does nothing.
'use strict';

const { Device } = require('./ixgbe');
const { Pool } = require('./memory');

const NO_TOUCH = -1;

function number(name, otherwise, low, high) {
  const text = process.env[name];
  if (!text) return otherwise;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
  if (!(value >= low && value <= high)) throw new Error(`${name}: expected ${low} to ${high}, found ${text}`);
  return value;
}

function forward(from, to, pool, buffers, lengths, touch) {
  const received = from.rxBatch(buffers, lengths);
  if (received === 0) {
    // Buffers that were sent are all that an empty pool can get.
    if (pool.free === 0) to.cleanUp();
    return;
  }
  if (touch !== NO_TOUCH) {
    for (let n = 0; n < received; n++) pool.touch(buffers[n], touch);
  }
  // What finds no room is dropped, as waiting would only delay what comes next.
  for (let sent = to.txBatch(buffers, lengths, received); sent < received; sent++) pool.give(buffers[sent]);
}

function run(addresses) {
  if (addresses.length !== 2) throw new Error('usage: forwarder.js ADDRESS ADDRESS');
  const kind = process.env.FORWARDER_POOL || 'stack';
  if (kind !== 'stack' && kind !== 'ring') throw new Error(`FORWARDER_POOL: expected stack or ring, found ${kind}`);
  const batch = number('FORWARDER_BATCH', 32, 1, 512);
  const clean = number('FORWARDER_CLEAN', 32, 1, 256);
  const touch = process.env.FORWARDER_TOUCH === 'none' ? NO_TOUCH : number('FORWARDER_TOUCH', 1, 0, 59);
  const pool = new Pool(number('FORWARDER_BUFFERS', 8192, 2112, 65536), kind === 'ring');
  const [first, second] = addresses.map((address) => new Device(address, pool, clean));
  const buffers = new Int32Array(batch);
  const lengths = new Int32Array(batch);
  for (;;) {
    forward(first, second, pool, buffers, lengths, touch);
    forward(second, first, pool, buffers, lengths, touch);
  }
}

try {
  run(process.argv.slice(2));
} catch (error) {
  console.error(`forwarder: ${error.message}`);
  process.exitCode = 1;
}
