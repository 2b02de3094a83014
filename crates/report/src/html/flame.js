
// Flame graphs: a click or Enter zooms into a function, Escape shows all again; arrows lead to callers, callees and neighbours.
for (const [svg, own] of marks) {
  if (!svg.querySelector('g.f')) continue;
  const wide = svg.viewBox.baseVal.width, near = 0.15;
  const frames = own.map(rect => {
    const [x, y, width] = ['x', 'y', 'width'].map(name => +rect.getAttribute(name)), text = rect.nextElementSibling;
    return {rect, x, y, width, text: text?.nodeName === 'text' ? text : null, name: rect.tip.replace(/: [^:]*$/, '').replace(/[^\s:(,]*\//g, '')};
  });
  const isWithin = (inner, outer) => inner.x >= outer.x - near && inner.x + inner.width <= outer.x + outer.width + near;
  const write = (frame, x, width) => {
    const most = Math.max(2, Math.floor((width - 4) / 7.2)), words = width > 28 ? (frame.name.length > most ? frame.name.slice(0, most - 1) + '…' : frame.name) : '';
    if (!frame.text && words) {
      frame.text = document.createElementNS(svg.namespaceURI, 'text');
      frame.text.setAttribute('y', frame.y + 12.5); frame.rect.after(frame.text);
    }
    if (frame.text) { frame.text.setAttribute('x', x + 3); frame.text.textContent = words; }
  };
  const zoom = to => {
    for (const frame of frames) {
      const isUp = Boolean(to) && frame.y < to.y && isWithin(to, frame), isShown = !to || isUp || (frame.y >= to.y && isWithin(frame, to));
      const x = isUp ? 0 : to ? (frame.x - to.x) * wide / to.width : frame.x, width = isUp ? wide : to ? frame.width * wide / to.width : frame.width;
      frame.rect.classList.toggle('up', isUp);
      for (const part of [frame.rect, frame.text]) part?.classList.toggle('off', !isShown);
      frame.rect.setAttribute('x', x); frame.rect.setAttribute('width', width); write(frame, x, width);
      frame.text?.classList.toggle('off', !isShown);
    }
  };
  svg.removeAttribute('tabindex'); svg.setAttribute('role', 'group');
  frames.forEach((frame, at) => { frame.rect.setAttribute('tabindex', at ? -1 : 0); frame.rect.setAttribute('role', 'button'); frame.rect.setAttribute('aria-label', frame.rect.tip); });
  const of = target => frames.find(frame => frame.rect === target);
  const focus = frame => { for (const other of frames) other.rect.setAttribute('tabindex', other === frame ? 0 : -1); frame.rect.focus(); };
  svg.onfocus = null;
  svg.addEventListener('focusin', event => { const frame = of(event.target); if (frame) { const box = frame.rect.getBoundingClientRect(); light(frame.rect); show(frame.rect.tip, box.left, box.bottom); } });
  svg.addEventListener('focusout', clear);
  svg.onclick = event => { const frame = of(event.target); if (frame) { zoom(frame); focus(frame); } };
  svg.onkeydown = event => {
    if (event.key === 'Escape') { clear(); return zoom(null); }
    const frame = of(event.target), shown = frames.filter(other => !other.rect.classList.contains('off'));
    if (!frame) return;
    if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); return zoom(frame); }
    const row = shown.filter(other => other.y === frame.y).sort((a, b) => a.x - b.x), at = row.indexOf(frame);
    const next = {ArrowLeft: row[at - 1], ArrowRight: row[at + 1],
      ArrowUp: shown.filter(other => other.y < frame.y && isWithin(frame, other)).sort((a, b) => b.y - a.y)[0],
      ArrowDown: shown.filter(other => other.y > frame.y && isWithin(other, frame)).sort((a, b) => a.y - b.y || b.width - a.width)[0]}[event.key];
    if (next) { event.preventDefault(); focus(next); }
  };
}
