// The legend hides configurations in all charts.
for (const button of $('.legend button')) button.onclick = () => {
  const on = button.getAttribute('aria-pressed') !== 'true';
  button.setAttribute('aria-pressed', on);
  for (const mark of $('main svg:not(.key) .k' + button.dataset.k)) mark.classList.toggle('off', !on);
};

// The table of cells is made when it is opened.
const data = JSON.parse(one('data').textContent);
const at = (column, row) => Array.isArray(column) ? column[row] : column;
const count = data.keys.length / data.digits, roles = ['measured', 'warm-up', 'control'];
const shown = v => v === null ? '' : v;
const columns = [
  ['configuration', row => data.configurations[at(data.configuration, row)]],
  ['machine', row => data.machines[at(data.machine, row)]],
  ['workload', row => data.workloads[at(data.workload, row)]],
  ['repeat', row => at(data.repeat, row) + 1, 1],
  ['role', row => roles[at(data.role, row)]],
  ['state', row => data.states[at(data.state, row)]],
  ['value, ' + data.unit, row => shown(at(data.value, row)), 1],
  ['took, s', row => shown(at(data.seconds, row)), 1],
  ['attempt', row => at(data.attempt, row), 1],
  ['key', row => data.keys.substr(row * data.digits, data.digits).trim()],
];
const box = one('cells'), body = box.querySelector('tbody'), head = box.querySelector('thead tr');
let rows = [...Array(count).keys()], sorted = -1, up = true, most = 200;
const compare = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true});
const fill = () => {
  const words = one('filter').value.toLowerCase().split(/\s+/).filter(Boolean), state = one('state').value;
  let found = rows.filter(row => {
    const is = data.states[at(data.state, row)];
    if (state === 'failed' ? !is.startsWith('failed') : state && is !== state) return false;
    if (!words.length) return true;
    const text = columns.map(([, read]) => read(row)).join(' ').toLowerCase();
    return words.every(word => text.includes(word));
  });
  if (sorted >= 0) {
    const read = columns[sorted][1];
    found = found.map(row => [read(row), row]).sort((a, b) => (up ? 1 : -1) * compare(a[0], b[0]) || a[1] - b[1]).map(pair => pair[1]);
  }
  body.replaceChildren(...found.slice(0, most).map(row => {
    const line = document.createElement('tr');
    for (const [, read, isNumber] of columns) { const cell = line.insertCell(); cell.textContent = read(row); if (isNumber) cell.className = 'n'; }
    return line;
  }));
  one('found').textContent = `${Math.min(most, found.length).toLocaleString('en')} of ${found.length.toLocaleString('en')} shown`;
  one('more').hidden = found.length <= most;
};
columns.forEach(([name, , isNumber], place) => {
  const cell = document.createElement('th'), button = document.createElement('button');
  button.textContent = name; cell.append(button); cell.scope = 'col'; if (isNumber) cell.className = 'n';
  button.onclick = () => {
    up = sorted === place ? !up : true; sorted = place;
    $('th', head).forEach((other, at) => at === place ? other.setAttribute('aria-sort', up ? 'ascending' : 'descending') : other.removeAttribute('aria-sort'));
    $('button', head).forEach((other, at) => { other.textContent = columns[at][0] + (at === place ? (up ? ' ↑' : ' ↓') : ''); });
    fill();
  };
  head.append(cell);
});
for (const id of ['filter', 'state']) one(id).oninput = () => { most = 200; fill(); };
one('more').onclick = () => { most *= 5; fill(); };
box.ontoggle = () => { if (box.open && !body.rows.length) fill(); };
