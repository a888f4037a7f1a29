// A table is one stop of the Tab key: arrows, Home and End go from number to number within it.
const stops = new Map();
const visible = (part) => [...part.querySelectorAll(OPENERS)].filter((button) => button.checkVisibility());

for (const table of document.querySelectorAll("table")) {
  const buttons = table.querySelectorAll(OPENERS);
  if (!buttons.length) continue;
  stops.set(table, buttons[0]);
  for (const button of buttons) {
    button.tabIndex = -1;
    button.ariaHasPopup = "dialog";
    button.ariaExpanded = "false";
  }
  table.setAttribute("role", "grid");
  table.parentElement.removeAttribute("tabindex");
}

function setStop(table, button) {
  stops.get(table).tabIndex = -1;
  stops.set(table, button);
  button.tabIndex = 0;
}

// every table on show has a stop that is on show
function renewStops() {
  for (const [table, stop] of stops) {
    if (!table.checkVisibility()) continue;
    const button = stop.checkVisibility() ? stop : visible(table)[0];
    if (button) setStop(table, button);
  }
}

function beside(button, key) {
  const line = button.closest("tr"), inLine = visible(line), at = inLine.indexOf(button);
  const sideways = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: inLine.length - 1 };
  if (key in sideways) return inLine[sideways[key]];
  const rows = [...line.closest("table").rows], step = { ArrowUp: -1, ArrowDown: 1 }[key];
  const place = button.closest("td, th").cellIndex;
  for (let next = rows.indexOf(line) + step; step && rows[next]; next += step) {
    const cell = rows[next].cells[place], found = cell && visible(cell)[0];
    if (found) return found;
  }
}

document.addEventListener("keydown", (event) => {
  const button = opensCard(event.target), next = button && beside(button, event.key);
  if (!next || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  next.focus();
  if (pinned) pin(next);
});
document.addEventListener("focusin", (event) => {
  const button = opensCard(event.target);
  if (button) setStop(button.closest("table"), button);
});
document.addEventListener("toggle", (event) => { if (event.target.matches("details")) renewStops(); }, true);
