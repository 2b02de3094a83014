// Samples the program that it is loaded into by V8's own profiler:
//
//     SAMPLE_FILE=out.folded SAMPLE_SECONDS=2 SAMPLE_DELAY=1 node --require ./sample.js forwarder.js ADDRESS ADDRESS
//
// Another thread starts and stops the profiler, as a forwarder never returns to its event loop.
'use strict';

const { Worker, isMainThread } = require('node:worker_threads');

const INTERVAL_US = 1000;

/** Stacks of a profile from a time on, root first, and how often each was seen. */
function folded({ nodes, samples, timeDeltas }, fromUs) {
  const stacks = new Map();
  const walk = (node, above) => {
    const stack = node.callFrame.functionName === '(root)' ? 'forwarder' : `${above};${node.callFrame.functionName || '(anonymous)'}`;
    stacks.set(node.id, stack);
    for (const child of node.children ?? []) walk(byId.get(child), stack);
  };
  const byId = new Map(nodes.map((node) => [node.id, node]));
  walk(nodes[0], '');
  const counts = new Map();
  let passedUs = 0;
  samples.forEach((id, n) => {
    passedUs += timeDeltas[n];
    if (passedUs >= fromUs) counts.set(stacks.get(id), (counts.get(stacks.get(id)) ?? 0) + 1);
  });
  return [...counts].map(([stack, count]) => `${stack} ${count}\n`).join('');
}

if (isMainThread) {
  new Worker(__filename, { execArgv: [] }).unref();
} else {
  const { writeFileSync } = require('node:fs');
  const { Session } = require('node:inspector');
  const { SAMPLE_FILE, SAMPLE_SECONDS, SAMPLE_DELAY } = process.env;
  const session = new Session();
  session.connectToMainThread();
  // An answer that is waited for does not keep a thread running.
  const alive = setInterval(() => {}, 1000);
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
  const stop = () =>
    session.post('Profiler.stop', (error, answer) => {
      writeFileSync(SAMPLE_FILE, error ? '' : folded(answer.profile, 1e6 * SAMPLE_DELAY));
      clearInterval(alive);
    });
  // From the beginning: what was compiled before has no places of inlined functions.
  session.post('Profiler.start', () => setTimeout(stop, 1000 * (Number(SAMPLE_DELAY) + Number(SAMPLE_SECONDS))));
}
