// What follows # in the address: a place, and after ? what the list of cells is filtered by.
const placeNow = () => location.hash.slice(1).split("?")[0];

function setAddress(place) {
  const query = place === "cells" ? chosen() : new URLSearchParams();
  if (place || query.size) history.replaceState(null, "", `#${place || "overview"}${query.size ? `?${query}` : ""}`);
}

function choose(wanted) {
  for (const control of form.elements) {
    if (control.type === "checkbox") control.checked = wanted.getAll(control.name).includes(control.value);
    else if (control.name) control.value = wanted.get(control.name) ?? "";
  }
}

function here() {
  const place = placeNow(), wanted = new URLSearchParams(location.hash.split("?")[1] ?? "");
  const target = document.getElementById(place), article = target?.closest("article") ?? document.getElementById("overview");
  pinned?.hidePopover();
  for (const other of document.querySelectorAll("article")) other.classList.toggle("shown", other === article);
  for (const link of document.querySelectorAll(".parts a")) {
    if (link.hash === `#${article.id}`) link.ariaCurrent = "page";
    else link.ariaCurrent = null;
  }
  for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
  if (article.id === "cells") choose(wanted);
  filter();
  renewStops();
  target?.scrollIntoView();
  setAddress(place);
  const button = target?.matches("td") && visible(target)[0];
  if (button) pin(button);
}

function changed() {
  filter();
  renewStops();
  setAddress(placeNow());
}

// where the page came by http, a browser has no clipboard for it
function copyBySelection(text) {
  const area = document.body.appendChild(document.createElement("textarea"));
  area.value = text;
  area.select();
  document.execCommand("copy");
  area.remove();
}

async function copy(button) {
  const rows = lines.filter((line) => (button.form ? !line.hidden : line.dataset.cell.startsWith(button.dataset.cells)));
  const text = button.matches(".csv") ? asCsv(rows) : button.previousElementSibling.textContent;
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else copyBySelection(text);
  const said = button.textContent;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = said; }, 1500);
}

for (const link of document.querySelectorAll("a[data-filter]")) link.href += `?${link.dataset.filter}`;
for (const hidden of document.querySelectorAll("form[hidden], button[hidden]")) hidden.hidden = false;
// the page of another scale opens at the place that is shown
for (const link of document.querySelectorAll(".scales a")) link.addEventListener("click", () => { link.hash = location.hash; });
form.addEventListener("input", changed);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(changed));
document.addEventListener("click", (event) => { if (event.target.matches(".copy, .csv")) copy(event.target); });
addEventListener("hashchange", here);
addEventListener("beforeprint", () => document.querySelectorAll("details:not(.to-copy *)").forEach((box) => { box.open = true; }));
here();
