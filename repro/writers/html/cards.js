"use strict";
// Cards are made when they are first opened; they stand beside their cell, open on hover, and have an address.
const data = JSON.parse(document.getElementById("data").textContent);
data.texts = data.texts.map((numbers) => numbers.map((number) => data.pieces[number]).join(""));
const cellsById = new Map(data.cells.map(([id, fields, pieces, published]) => [id, { fields, pieces, published }]));
const OPENERS = "td[id] > button, .list tbody th > button";
const narrow = matchMedia("(max-width: 40rem)");
const openers = new Map();
let pinned = null, timer = 0;

const isOpen = (card) => card.matches(":popover-open");
const opensCard = (target) => target.closest?.(OPENERS);

// a button that names its card is not taken for a press beside it
function cardOf(button) {
  const id = button.closest("td[id]")?.id ?? button.closest("tr").dataset.cell;
  const card = document.getElementById(`about/${id}`) ?? makeCard(id);
  button.setAttribute("popovertarget", card.id);
  return card;
}

function makeCard(id) {
  const { fields, pieces } = cellsById.get(id), [verdict, ...facts] = pieces.map((number) => data.texts[number].replaceAll("{cell}", id));
  const card = document.createElement("div"), title = `about/${id}/title`;
  card.id = `about/${id}`;
  card.className = "card";
  card.popover = "auto";
  card.role = "dialog";
  card.setAttribute("aria-labelledby", title);
  const close = `<button type="button" class="close" popovertarget="about/${id}" popovertargetaction="hide" aria-label="close">×</button>`;
  const heading = `<h4 id="${title}">${data.texts[fields[0]]} · ${data.texts[fields[1]]}</h4>`;
  const link = `<p class="fine"><a href="#${id}">in its table</a></p>`;
  card.innerHTML = `${close}${heading}${verdict}<dl>${facts.join("")}</dl>${link}`;
  for (const button of card.querySelectorAll("button[hidden]")) button.hidden = false;
  return document.getElementById("content").appendChild(card);
}

// beside the whole table where there is room and the mouse need not get there, else beside the cell
function open(button, beside) {
  const card = cardOf(button);
  if (isOpen(card) && openers.get(card) !== button) card.hidePopover();
  openers.set(card, button);
  if (!isOpen(card)) card.showPopover({ source: button });
  linkReadings(card);
  if (narrow.matches) return card;
  const cell = button.getBoundingClientRect(), size = card.getBoundingClientRect();
  const edges = [...(beside ? [button.closest("table").getBoundingClientRect().right] : []), cell.right];
  const edge = edges.find((right) => right + 12 + size.width < innerWidth);
  const left = edge === undefined ? Math.max(8, cell.left - 12 - size.width) : edge + 12;
  card.style.margin = 0;
  card.style.left = `${left}px`;
  card.style.top = `${Math.max(8, Math.min(cell.top, innerHeight - size.height - 8))}px`;
  return card;
}

function pin(button) {
  clearTimeout(timer);
  pinned = open(button, true);
  const cell = button.closest("td[id]");
  if (cell) setAddress(cell.id);
}

// the names of readings become links when their card is first opened
function linkReadings(card) {
  card.querySelectorAll("[data-readings]").forEach(linkNames);
}

function linkNames(code) {
  const links = code.textContent.split(" ").map((name) => {
    const place = `${code.dataset.readings}/${name}`;
    if (place.startsWith("#") && !document.getElementById(place.slice(1))) return name;
    const link = document.createElement("a");
    link.href = place;
    link.textContent = name;
    return link;
  });
  code.replaceChildren(...links.flatMap((link) => [link, " "]));
  code.removeAttribute("data-readings");
}

document.addEventListener("beforetoggle", (event) => {
  const button = openers.get(event.target), shown = event.newState === "open";
  button?.setAttribute("aria-expanded", String(shown));
  if (shown || pinned !== event.target) return;
  pinned = null;
  const cell = button.closest("td[id]");
  if (cell) setAddress(cell.closest("section").id);
}, true);

document.addEventListener("click", (event) => {
  const button = opensCard(event.target);
  if (!button) return;
  event.preventDefault();
  if (pinned && pinned === cardOf(button)) pinned.hidePopover();
  else pin(button);
});

document.addEventListener("pointerover", (event) => {
  const button = opensCard(event.target), card = event.target.closest?.(".card");
  if (button || card) clearTimeout(timer);
  if (button && event.pointerType === "mouse" && !pinned) timer = setTimeout(() => open(button, false), 350);
});

document.addEventListener("pointerout", (event) => {
  const button = opensCard(event.target), card = button ? cardOf(button) : event.target.closest?.(".card");
  if (!card || card.contains(event.relatedTarget)) return;
  clearTimeout(timer);
  timer = setTimeout(() => { if (!pinned && isOpen(card)) card.hidePopover(); }, 250);
});

document.addEventListener("pointerdown", (event) => { pinned = event.target.closest?.(".card") ?? pinned; });
