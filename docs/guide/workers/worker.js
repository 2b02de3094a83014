// A worker in Node: measures its own work and gives prony the values.
//
//   prony bench 'node worker.js 20000' 'node worker.js 40000'
"use strict";
const fs = require("node:fs");

// What is measured: put your own work here.
function work(steps) {
  let x = 88172645;
  for (let step = 0; step < steps; step++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
  }
  return x;
}

let sink = 0;

// Measures `loops` loops and writes wall and CPU time of one; returns the wall time of all, in seconds.
function measure(loops, warmup) {
  const begin = process.hrtime.bigint();
  const used = process.cpuUsage();
  for (let loop = 0; loop < loops; loop++) sink ^= work(steps);
  const { user, system } = process.cpuUsage(used);
  const times = { wall: Number(process.hrtime.bigint() - begin) / 1e9, cpu: (user + system) / 1e6 };
  for (const [metric, seconds] of Object.entries(times)) {
    const value = { metric, value: seconds / loops, unit: "s", loops, warmup };
    if (seconds > 0) fs.writeSync(out, JSON.stringify(value) + "\n");
  }
  return times.wall;
}

const out = Number(process.env.PRONY_FD ?? 1);
const steps = Number(process.argv[2] ?? 20000);
let loops = Number(process.env.PRONY_LOOPS ?? 0);
if (loops === 0) {
  // The first time nobody knows yet how many loops make a value long enough: double until it is. The
  // compiler in V8 learns meanwhile, so all of this is warming up.
  for (loops = 1; measure(loops, true) < Number(process.env.PRONY_MIN_TIME ?? 0.1); loops *= 2);
} else {
  for (let left = Number(process.env.PRONY_WARMUPS ?? 1); left > 0; left--) measure(loops, true);
}
for (let left = Number(process.env.PRONY_VALUES ?? 1); left > 0; left--) measure(loops, false);
