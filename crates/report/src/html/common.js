'use strict';
(() => {
const $ = (selector, from = document) => [...from.querySelectorAll(selector)];
const one = id => document.getElementById(id);
const root = document.documentElement;

// Light and dark. Storage may be forbidden where the page is opened from a file.
const stored = value => { try { return value === undefined ? localStorage.getItem('prony-theme') : localStorage.setItem('prony-theme', value); } catch { return null; } };
const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
const toggle = one('theme');
const named = () => { toggle.textContent = isDark() ? 'Light' : 'Dark'; };
if (['light', 'dark'].includes(stored())) root.dataset.theme = stored();
toggle.hidden = false;
toggle.onclick = () => { root.dataset.theme = isDark() ? 'light' : 'dark'; stored(root.dataset.theme); named(); };
named();

// What a mark says, at the pointer, at a finger, or by the arrow keys. The browser's own tip would come late and a second time.
const tip = one('tip');
const marks = new Map();
for (const svg of $('main svg[role=img]')) {
  const own = [];
  for (const title of $('title', svg)) { const mark = title.parentNode; const name = mark.closest('[data-name]')?.dataset.name; mark.tip = (name ? name + ', ' : '') + title.textContent; own.push(mark); title.remove(); }
  if (!own.length && !svg.dataset.x) continue;
  marks.set(svg, own);
  svg.tabIndex = 0;
}
const show = (text, x, y) => {
  tip.textContent = text; tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - box.width - 4)) + 'px';
  tip.style.top = (y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16) + 'px';
};
let lit = null;
const light = mark => { lit?.classList.remove('on'); lit = mark; lit?.classList.add('on'); };
const clear = () => { tip.hidden = true; light(null); $('svg .at').forEach(line => line.remove()); };
const tipped = node => { while (node && node.nodeName !== 'svg') { if (node.tip) return node; node = node.parentNode; } return null; };
const number = value => Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);

// Axes are written as low,high,place of low,place of high,kind.
const axis = text => { const [low, high, from, to, kind] = text.split(','); return {low: +low, high: +high, from: +from, to: +to, log: kind === 'log'}; };
const value = (a, place) => { const share = (place - a.from) / (a.to - a.from); return a.log ? a.low * (a.high / a.low) ** share : a.low + share * (a.high - a.low); };
const scales = {s: 1, ms: 1e3, 'µs': 1e6, ns: 1e9};
const stretches = path => path.stretches ??= path.getAttribute('d').slice(1).split('M').map(part => part.split(/[ V]/).map(Number));
const along = (svg, event) => {
  const box = svg.getBoundingClientRect(), x = axis(svg.dataset.x);
  const place = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
  if (place < x.from || place > x.to) return clear();
  const unit = svg.dataset.unit, lines = ['frame ' + Math.round(value(x, place)).toLocaleString('en')];
  for (const row of $('g[data-y]:not(.off)', svg)) {
    const y = axis(row.dataset.y), all = stretches(row.querySelector('.e'));
    const near = all.reduce((best, part) => Math.abs(part[0] - place) < Math.abs(best[0] - place) ? part : best);
    lines.push(`${row.dataset.name}: ${near.slice(1).map(p => number(value(y, p) * (scales[unit] ?? 1))).join(' – ')} ${unit}`);
  }
  let line = svg.querySelector('.at');
  if (!line) { line = document.createElementNS(svg.namespaceURI, 'path'); line.setAttribute('class', 'at'); svg.append(line); }
  line.setAttribute('d', `M${place} 0V${svg.viewBox.baseVal.height - 42}`);
  show(lines.join('\n'), event.clientX, event.clientY);
};
for (const [svg, own] of marks) {
  svg.onpointermove = svg.onpointerdown = event => {
    if (svg.dataset.x) return along(svg, event);
    const mark = tipped(event.target);
    if (!mark) return clear();
    light(mark); show(mark.tip, event.clientX, event.clientY);
  };
  svg.onpointerleave = clear;
  svg.onblur = clear;
  svg.onkeydown = event => {
    if (event.key === 'Escape') return clear();
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    const seen = own.filter(mark => !mark.closest('.off'));
    if (!step || !seen.length) return;
    event.preventDefault();
    const at = seen.indexOf(lit), mark = seen[at < 0 ? (step > 0 ? 0 : seen.length - 1) : (at + step + seen.length) % seen.length];
    const box = mark.getBoundingClientRect();
    light(mark); show(mark.tip, box.left + box.width / 2, box.top + box.height / 2);
  };
}
for (const chip of $('.chips li[title]')) chip.tabIndex = 0;

