// The time line of a demo. All texts of the demo are set as text, never as markup.
const demo = JSON.parse(one('timeline').textContent);
const units = demo.calls.length, each = demo.each;
const ends = []; demo.ends.reduce((all, delta, unit) => ends[unit] = all + delta, 0);
const startOf = unit => unit > 0 ? ends[unit - 1] : 0;
const whole = Math.max(1, ends[units - 1]);
const hasReplay = demo.replay.length > 0, divergedUnit = demo.diverged && each ? Math.floor(demo.diverged[0] / each) : -1;
const columns = (cells, width) => { const all = Array.from({length: width}, () => []); cells.forEach((v, at) => all[at % width].push(v)); return all; };
const bytesText = n => n >= 1e9 ? (n / 1e9).toPrecision(3) + ' GB' : n >= 1e6 ? (n / 1e6).toPrecision(3) + ' MB' : n >= 1e3 ? (n / 1e3).toPrecision(3) + ' kB' : n + ' B';
const timeText = us => us >= 1e6 ? (us / 1e6).toPrecision(4) + ' s' : us >= 1e3 ? (us / 1e3).toPrecision(3) + ' ms' : us.toPrecision(3) + ' µs';
const group = n => n.toLocaleString('en');
const unitName = unit => each === 0 ? 'slice ' + group(unit) : each === 1 ? (unit < demo.frames ? 'frame ' + group(unit) : 'behind the last frame')
  : unit * each < demo.frames ? `frames ${group(unit * each)} to ${group(Math.min(demo.frames, (unit + 1) * each) - 1)}` : 'behind the last frame';

// Lanes from top to bottom. Values are per unit, or cells of those units that have any. Lanes of one kind have one scale, and one heading
// that says what they show.
const work = demo.busy, took = ends.map((end, unit) => end - startOf(unit));
const lanes = [];
if (hasReplay) lanes.push({name: 'replay', about: 'time of each frame', high: 38, dense: demo.replay.map(t => t / 10), colour: 's1', text: timeText, tallest: true});
lanes.push(each ? {name: 'recorded', about: 'work; light: with the wait', high: 38, dense: took, inner: work, colour: 's3', text: timeText, tallest: true}
  : {name: 'calls', about: 'calls', high: 38, dense: demo.calls, colour: 's3', text: group, tallest: false});
for (const lane of demo.clients) {
  const [at, inN, inB, outN, outB] = columns(lane.cells, 5);
  lanes.push({name: lane.name, about: 'bytes: ↑ out, ↓ in', high: 17, at, down: inB, up: outB, counts: [inN, outN], colour: 's5', other: 's6', text: bytesText, scale: 'clients'});
}
for (const lane of demo.threads) { const [at, n] = columns(lane.cells, 2); lanes.push({name: lane.name, about: 'calls of each thread', high: 12, at, up: n, colour: 's4', text: group, scale: 'threads'}); }
const GAP = 5, HEADING = 17, AXIS = 22;
// Names stand to the left of their lanes.
const gutter = () => canvas.clientWidth < 600 ? 84 : 150;
const isFirst = at => at === 0 || lanes[at].about !== lanes[at - 1].about;
const rowHigh = lane => Math.max(12, lane.high) + GAP;
const canvas = one('lanes'), overview = one('overview');
let from = 0, to = whole, chosen = divergedUnit >= 0 ? divergedUnit : 0, hits = [], wordsFor = new Map(), queued = false;

const unitAt = us => { let low = 0, high = units - 1; while (low < high) { const middle = (low + high) >> 1; if (ends[middle] > us) high = middle; else low = middle + 1; } return low; };
const colour = name => getComputedStyle(root).getPropertyValue('--' + name).trim();
const fit = (canvas, high) => {
  const wide = canvas.clientWidth || 300, dense = devicePixelRatio || 1;
  canvas.width = Math.round(wide * dense); canvas.height = Math.round(high * dense); canvas.style.height = high + 'px';
  const pen = canvas.getContext('2d'); pen.scale(dense, dense); pen.clearRect(0, 0, wide, high); pen.font = '12px system-ui, sans-serif';
  return [pen, wide];
};
const shortened = (pen, text, room, fromStart = false) => {
  let shown = text;
  while (shown.length > 3 && pen.measureText(shown).width > room) shown = fromStart ? '…' + shown.slice(2) : shown.slice(0, -2) + '…';
  return shown;
};
// One bar for each unit, or for each pixel where units are narrower: the tallest of its units, or all of them together.
const bars = (lane, key, x, wide) => {
  const found = new Map(), cells = lane[key], first = unitAt(from), last = unitAt(to);
  const put = (unit, v) => {
    if (!v || unit < first || unit > last) return;
    const left = Math.max(0, x(startOf(unit))), right = Math.min(wide, x(ends[unit])), column = right - left < 1.5 ? Math.floor(left) : left;
    const old = found.get(column);
    if (!old) found.set(column, [v, Math.max(1, right - left - (right - left > 4 ? 1 : 0))]);
    else { old[0] = lane.tallest ? Math.max(old[0], v) : old[0] + v; old[1] = Math.max(old[1], right - column); }
  };
  if (lane.at) lane.at.forEach((unit, at) => put(unit, cells[at])); else for (let unit = first; unit <= last; unit++) put(unit, cells[unit]);
  return found;
};
const scaled = (values, lane) => {
  const sorted = [...values].sort((a, b) => a - b), most = sorted[sorted.length - 1] || 1, middle = sorted[sorted.length >> 1] || most;
  const isLog = most / middle > (lane.tallest ? 20 : 8), least = Math.max(sorted[0] || 1, most / 1e4);
  return {most, isLog, share: v => isLog ? Math.max(0.02, Math.log(Math.max(v, least) / least) / Math.log(most / least || 2) * 0.98 + 0.02) : v / most};
};
const draw = () => {
  queued = false;
  const high = lanes.reduce((all, lane, at) => all + rowHigh(lane) + (isFirst(at) ? HEADING : 0), AXIS);
  const [pen, all_] = fit(canvas, high), names = gutter(), wide = all_ - names, x = us => (us - from) / (to - from) * wide;
  pen.save(); pen.translate(names, 0); pen.beginPath(); pen.rect(0, 0, wide, high); pen.clip();
  const ink = colour('ink'), soft = colour('soft'), rule = colour('rule');
  // Time, at the smallest round steps that fit.
  const rough = (to - from) / Math.max(2, wide / 70), power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find(n => n * power >= rough) * power;
  pen.strokeStyle = rule; pen.fillStyle = soft; pen.textAlign = 'center'; pen.lineWidth = 1;
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
    const place = Math.round(x(tick)) + 0.5;
    // Beside the headings, not through them.
    let above = 0;
    for (const [at, lane] of lanes.entries()) {
      if (isFirst(at)) above += HEADING;
      pen.beginPath(); pen.moveTo(place, above); pen.lineTo(place, above + rowHigh(lane)); pen.stroke(); above += rowHigh(lane);
    }
    const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step / 1e6))));
    const label = (tick / 1e6).toFixed(digits) + ' s', half = pen.measureText(label).width / 2;
    pen.fillText(label, Math.max(half, Math.min(wide - half, place)), high - 6);
  }
  // What is chosen, and what was found.
  const left = x(startOf(chosen)), right = x(ends[chosen]);
  pen.fillStyle = colour('link'); pen.globalAlpha = 0.2; pen.fillRect(left - 1, 0, Math.max(3, right - left + 2), high - AXIS); pen.globalAlpha = 1;
  if (divergedUnit >= 0) { pen.fillStyle = colour('bad'); pen.fillRect(x(startOf(divergedUnit)) - 1, 0, 2, high - AXIS); }
  pen.fillStyle = colour('warn');
  for (const unit of hits) { const place = x((startOf(unit) + ends[unit]) / 2); if (place >= 0 && place <= wide) pen.fillRect(place - 1, 0, 2, 7); }
  // Lanes that are compared have one scale.
  const drawn = lanes.map(lane => [bars(lane, lane.dense ? 'dense' : 'up', x, wide), lane.down ? bars(lane, 'down', x, wide) : new Map()]);
  const tops = drawn.map(sides => sides.flatMap(side => [...side.values()].map(bar => bar[0]))), scales = new Map();
  lanes.forEach((lane, at) => { if (!scales.has(lane.scale ?? lane)) scales.set(lane.scale ?? lane, scaled(lane.scale ? tops.filter((_, other) => lanes[other].scale === lane.scale).flat() : tops[at], lane)); });
  pen.save();
  let top = 0;
  for (const [at, lane] of lanes.entries()) {
    const scale = scales.get(lane.scale ?? lane), [up, down] = drawn[at];
    if (isFirst(at)) {
      const same = lanes.flatMap((other, of) => other.about === lane.about ? drawn[of].map(side => side.size) : []), isEmpty = !same.some(Boolean);
      const most = isEmpty ? '' : `${scale.isLog ? 'log, ' : ''}to ${lane.text(scale.most)}`;
      pen.fillStyle = soft; pen.textAlign = 'right'; pen.fillText(most, wide - 2, top + 13);
      pen.textAlign = 'left'; pen.fillText(shortened(pen, lane.about, wide - pen.measureText(most).width - 14), 2, top + 13);
      top += HEADING;
    }
    const base = top + lane.high;
    const split = lane.down ? base - lane.high / 2 : base, reach = lane.down ? lane.high / 2 : lane.high;
    pen.fillStyle = colour(lane.colour); pen.globalAlpha = lane.inner ? 0.38 : 1;
    for (const [column, [v, width]] of up) { const tall = Math.max(1, scale.share(v) * reach); pen.fillRect(column, split - tall, width, tall); }
    pen.globalAlpha = 1;
    if (lane.inner) for (const [column, [v, width]] of bars({...lane, dense: lane.inner}, 'dense', x, wide)) { const tall = Math.max(1, scale.share(v) * reach); pen.fillRect(column, split - tall, width, tall); }
    if (lane.down) { pen.fillStyle = colour(lane.other); for (const [column, [v, width]] of down) pen.fillRect(column, split, width, Math.max(1, scale.share(v) * reach)); }
    pen.fillStyle = rule; pen.fillRect(0, split, wide, 1);
    top += rowHigh(lane);
  }
  pen.restore(); pen.restore();
  // Each name once, beside its lane; of an address the end says more than the start.
  top = 0; pen.textAlign = 'left'; pen.fillStyle = ink;
  for (const [at, lane] of lanes.entries()) {
    if (isFirst(at)) top += HEADING;
    pen.fillText(shortened(pen, lane.name, names - 8, true), 0, top + Math.max(12, lane.high) / 2 + 4);
    top += rowHigh(lane);
  }
  canvas.dataset.from = Math.round(from); canvas.dataset.to = Math.round(to); canvas.dataset.chosen = chosen;
  // All of the time, and which part of it is below.
  const [small, all] = fit(overview, 34), place = us => names + us / whole * (all - names), lane = lanes.find(lane => lane.inner) ?? lanes[0], saved = [from, to];
  [from, to] = [0, whole];
  small.fillStyle = ink; small.fillText(shortened(small, 'overview', names - 8), 0, 21);
  const found = bars(lane, 'dense', place, all), scale = scaled([...found.values()].map(bar => bar[0]), lane);
  [from, to] = saved;
  small.fillStyle = colour(lane.colour);
  for (const [column, [v, width]] of found) { const tall = Math.max(1, scale.share(v) * 32); small.fillRect(column, 34 - tall, width, tall); }
  small.fillStyle = colour('page'); small.globalAlpha = 0.75; small.fillRect(names, 0, place(from) - names, 34); small.fillRect(place(to), 0, all - place(to), 34);
  small.globalAlpha = 1; small.strokeStyle = colour('link'); small.lineWidth = 1.5; small.strokeRect(place(from) + 0.75, 0.75, Math.max(2, place(to) - place(from) - 1.5), 32.5);
};
const redraw = () => { if (!queued) { queued = true; requestAnimationFrame(draw); } };
const window_ = (low, high) => {
  const span = Math.min(whole, Math.max(whole / 2e6, 20, high - low));
  from = Math.max(0, Math.min(whole - span, low)); to = from + span; redraw();
};
const zoom = (factor, at = (startOf(chosen) + ends[chosen]) / 2) => {
  at = Math.min(to, Math.max(from, at)); const share = (at - from) / (to - from), span = (to - from) * factor; window_(at - share * span, at + (1 - share) * span);
};
const facts = unit => {
  const parts = [unitName(unit), 'at ' + (startOf(unit) / 1e6).toFixed(6) + ' s'];
  if (hasReplay && demo.replay[unit]) parts.push('replay ' + timeText(demo.replay[unit] / 10));
  if (each) parts.push('recorded ' + timeText(took[unit]) + (work[unit] ? ', of which work ' + timeText(work[unit]) : ''));
  parts.push(group(demo.calls[unit]) + (demo.calls[unit] === 1 ? ' call' : ' calls'));
  const moved = lanes.filter(lane => lane.down).reduce((all, lane) => {
    const at = lane.at.indexOf(unit); if (at < 0) return all;
    return [all[0] + lane.counts[0][at], all[1] + lane.down[at], all[2] + lane.counts[1][at], all[3] + lane.up[at]];
  }, [0, 0, 0, 0]);
  if (moved[0]) parts.push(`in ${group(moved[0])} × ${bytesText(moved[1])}`);
  if (moved[2]) parts.push(`out ${group(moved[2])} × ${bytesText(moved[3])}`);
  return parts;
};
const choose = (unit, follow = true) => {
  chosen = Math.max(0, Math.min(units - 1, unit));
  if (follow && (startOf(chosen) < from || ends[chosen] > to)) { const half = (to - from) / 2, middle = (startOf(chosen) + ends[chosen]) / 2; window_(middle - half, middle + half); }
  one('said').textContent = facts(chosen).join(' · '); redraw();
};

// One frame opened into its calls. A run of fewer calls is listed as it is.
const FOLDED_LEAST = 4;
let most = 300, opened = -1;
const open = (unit, scroll = true) => {
  if (unit !== opened) most = 300;
  opened = unit; choose(unit);
  const flat = demo.opened[unit], body = one('calls').querySelector('tbody'), start = startOf(unit);
  one('opened').hidden = false; one('which').textContent = unitName(unit).replace(/^./, letter => letter.toUpperCase());
  body.replaceChildren();
  if (!flat) {
    const ask = each ? `prony demo dump DEMO --frames ${unit * each}..${(unit + 1) * each}` : 'prony demo dump DEMO';
    one('about').textContent = demo.calls[unit] ? `its ${group(demo.calls[unit])} calls are not on this page: \`${ask}\` prints them, \`prony demo view --frames\` chooses others` : 'no calls';
    one('more').hidden = true;
  } else {
    const [after, thread, text, times, record] = columns(flat, 5), callOf = at => demo.texts[text[at]].split('(')[0];
    let shown = Math.min(most, after.length);
    const listed = times.reduce((all, n) => all + n, 0);
    one('about').textContent = `${facts(unit).slice(1).join(' · ')}${listed < demo.calls[unit] ? ` · the first ${group(listed)} calls are on this page` : ''}`;
    const isDiverged = at => Boolean(demo.diverged) && unit === divergedUnit && record[at] <= demo.diverged[1] && demo.diverged[1] < record[at] + times[at];
    const listCall = (at, before) => {
      const row = body.insertRow(before ? before.sectionRowIndex : -1), cell = (words, isNumber) => { const cell = row.insertCell(); cell.textContent = words; if (isNumber) cell.className = 'n'; };
      cell('+' + timeText(after[at] || 0).replace('0.00 µs', '0'), true);
      if (demo.names.length > 1) { cell(demo.names[thread[at]].replace('process ', 'p').replace(', thread ', ' t').replace('thread ', 't'), true); row.lastChild.title = demo.names[thread[at]]; }
      cell(demo.texts[text[at]], false); cell(times[at] > 1 ? '× ' + group(times[at]) : '', true);
      if (wordsFor.has(text[at])) row.className = 'hit';
      if (isDiverged(at)) row.className = 'diverged';
      return row;
    };
    for (let at = 0; at < shown;) {
      // A run of the same call is one line until it is opened, unless something in it is marked.
      let end = at + 1;
      while (end < after.length && thread[end] === thread[at] && callOf(end) === callOf(at)) end++;
      const run = [...Array(end - at).keys()].map(by => at + by);
      if (run.length < FOLDED_LEAST || run.some(call => wordsFor.has(text[call]) || isDiverged(call))) {
        for (const call of run.slice(0, shown - at)) listCall(call);
        at = Math.min(end, shown);
        continue;
      }
      const all = run.reduce((sum, call) => sum + times[call], 0), first = listCall(at), name = callOf(at), button = document.createElement('button');
      first.cells[first.cells.length - 2].replaceChildren(button); first.lastChild.textContent = '';
      button.textContent = `${name} × ${group(all)}`; button.setAttribute('aria-expanded', 'false');
      button.onclick = () => { const next = first.nextElementSibling; for (const call of run) if (next) listCall(call, next); else listCall(call); button.setAttribute('aria-expanded', 'true'); button.disabled = true; };
      // A folded run counts as one line.
      shown = Math.min(after.length, shown + run.length - 1);
      at = end;
    }
    one('more').hidden = shown >= after.length;
  }
  if (scroll) one('opened').scrollIntoView({block: 'nearest'});
};
one('more').onclick = () => { most *= 4; open(opened, false); };

// Search: a number is a frame, a number with s a time, anything else words of calls and of clients.
let next = -1;
const search = () => {
  const words = one('search').value.trim().toLowerCase(); hits = []; wordsFor = new Map(); next = -1;
  const said = text => { one('found').textContent = text; redraw(); };
  if (!words) return said('');
  const time = /^([0-9]+(?:\.[0-9]+)?) ?s$/.exec(words), frame = /^(?:frame )?([0-9][0-9,]*)$/.exec(words);
  if (time) { hits = [unitAt(Math.min(whole, +time[1] * 1e6))]; return said(unitName(hits[0])); }
  if (frame) {
    const unit = Math.floor(+frame[1].replaceAll(',', '') / (each || 1));
    if (unit < units) hits = [unit];
    return said(hits.length ? unitName(unit) : `there are ${group(each ? demo.frames : units)}`);
  }
  demo.texts.forEach((text, at) => { if (text.toLowerCase().includes(words)) wordsFor.set(at, 1); });
  const threads = new Set(demo.names.flatMap((name, at) => name.toLowerCase().includes(words) ? [at] : []));
  const inCalls = Object.entries(demo.opened).filter(([, flat]) => { for (let at = 0; at < flat.length; at += 5) if (wordsFor.has(flat[at + 2]) || threads.has(flat[at + 1])) return true; return false; }).map(([unit]) => +unit);
  const ofClients = demo.clients.filter(lane => lane.name.toLowerCase().includes(words)).flatMap(lane => columns(lane.cells, 5)[0]);
  hits = [...new Set([...inCalls, ...ofClients])].sort((a, b) => a - b);
  const kept = Object.keys(demo.opened).length;
  said(`${group(hits.length)} ${each ? (hits.length === 1 ? 'frame' : 'frames') : 'slices'}${kept < units ? `; calls of ${group(kept)} of ${group(units)} are on this page` : ''}`);
};
const step = by => {
  if (!hits.length) return;
  next = next < 0 && by > 0 ? Math.max(0, hits.findIndex(unit => unit >= chosen)) : (Math.max(next, 0) + by + hits.length) % hits.length;
  one('found').textContent = `${group(next + 1)} of ${group(hits.length)}: ${unitName(hits[next])}`; open(hits[next], false);
};
one('search').oninput = search;
one('search').onkeydown = event => { if (event.key === 'Enter') { event.preventDefault(); step(event.shiftKey ? -1 : 1); } };

const slowness = unit => hasReplay ? demo.replay[unit] ?? 0 : work[unit];
const slower = () => {
  const order = [...Array(units).keys()].sort((a, b) => slowness(b) - slowness(a) || a - b), at = order.indexOf(chosen);
  choose(at > 0 ? order[at - 1] : order[0]);
};
one('before').onclick = () => choose(chosen - 1); one('behind').onclick = () => choose(chosen + 1);
one('in').onclick = () => zoom(0.5); one('out').onclick = () => zoom(2); one('all').onclick = () => window_(0, whole);
for (const button of $('button[data-unit]')) button.onclick = () => open(+button.dataset.unit);
canvas.onkeydown = event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const act = {ArrowRight: () => choose(chosen + 1), ArrowLeft: () => choose(chosen - 1), PageDown: () => choose(chosen + 10), PageUp: () => choose(chosen - 10),
    '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), Home: () => window_(0, whole), Enter: () => open(chosen), s: slower, S: slower}[event.key];
  if (act) { event.preventDefault(); act(); }
};

// Pointer: drag moves, two fingers zoom, a click opens.
const fingers = new Map(); let moved = 0;
const share_ = (event, box) => Math.max(0, event.clientX - box.left - gutter()) / Math.max(1, box.width - gutter());
const usAt = event => from + share_(event, canvas.getBoundingClientRect()) * (to - from);
canvas.onpointerdown = event => { fingers.set(event.pointerId, event.clientX); moved = 0; canvas.setPointerCapture?.(event.pointerId); };
canvas.onpointermove = event => {
  const wide = canvas.getBoundingClientRect().width - gutter();
  if (!fingers.has(event.pointerId)) return show(facts(unitAt(usAt(event))).join('\n'), event.clientX, event.clientY);
  tip.hidden = true;
  const old = fingers.get(event.pointerId), others = [...fingers].filter(([id]) => id !== event.pointerId);
  if (others.length) {
    const before = Math.abs(old - others[0][1]), now = Math.abs(event.clientX - others[0][1]);
    if (before > 8 && now > 8) zoom(before / now, usAt({clientX: (event.clientX + others[0][1]) / 2}));
    moved = 99;
  } else { const by = (old - event.clientX) / wide * (to - from); moved += Math.abs(event.clientX - old); if (moved > 4) window_(from + by, to + by); }
  fingers.set(event.pointerId, event.clientX);
};
canvas.onpointerup = event => { const was = fingers.delete(event.pointerId); if (was && moved <= 4) open(unitAt(usAt(event)), false); };
canvas.onpointercancel = event => fingers.delete(event.pointerId);
canvas.onpointerleave = () => { tip.hidden = true; };
canvas.addEventListener('wheel', event => {
  if (!event.ctrlKey && document.activeElement !== canvas) return;
  event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8, usAt(event));
}, {passive: false});
const along_ = event => { const box = overview.getBoundingClientRect(), half = (to - from) / 2, at = share_(event, box) * whole; window_(at - half, at + half); };
overview.onpointerdown = event => { overview.setPointerCapture?.(event.pointerId); along_(event); };
overview.onpointermove = event => { if (event.buttons) along_(event); };
addEventListener('resize', redraw);
toggle.addEventListener('click', redraw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
addEventListener('beforeprint', draw);
choose(chosen); draw();
if (divergedUnit >= 0) open(divergedUnit, false);
