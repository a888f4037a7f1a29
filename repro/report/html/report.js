"use strict";
// Cards open without this script too. It puts them beside their cell, shows them on hover, marks the place in the nav.
(() => {
  const narrow = matchMedia("(max-width: 40rem)");
  let pinned = null, timer = 0;
  const cardOf = (button) => document.getElementById(button.getAttribute("popovertarget"));

  // beside the whole table where there is room and the mouse need not get there, else beside the cell
  function open(button, beside) {
    const card = cardOf(button);
    if (!card.matches(":popover-open")) card.showPopover();
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

  for (const button of document.querySelectorAll("td > button[popovertarget]")) {
    const card = cardOf(button);
    button.setAttribute("aria-expanded", "false");
    card.addEventListener("beforetoggle", (event) => {
      const shown = event.newState === "open";
      button.setAttribute("aria-expanded", String(shown));
      if (!shown && pinned === card) pinned = null;
    });
    button.addEventListener("click", (event) => {
      event.preventDefault();
      clearTimeout(timer);
      if (pinned === card) card.hidePopover();
      else pinned = open(button, true);
    });
    const leave = () => {
      clearTimeout(timer);
      timer = setTimeout(() => { if (!pinned && card.matches(":popover-open")) card.hidePopover(); }, 250);
    };
    button.addEventListener("pointerenter", (event) => {
      clearTimeout(timer);
      if (event.pointerType === "mouse" && !pinned) timer = setTimeout(() => open(button, false), 350);
    });
    card.addEventListener("pointerenter", () => clearTimeout(timer));
    card.addEventListener("pointerdown", () => { pinned = card; });
    button.addEventListener("pointerleave", leave);
    card.addEventListener("pointerleave", leave);
  }

  function here() {
    if (pinned) pinned.hidePopover();
    const place = location.hash.slice(1);
    const target = document.getElementById(place);
    for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    const article = target && target.closest("article");
    for (const link of document.querySelectorAll(".top nav a")) {
      const current = link.getAttribute("href") === `#${article ? article.id : "overview"}`;
      if (current) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    if (target) target.scrollIntoView();
  }
  addEventListener("hashchange", here);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((box) => { box.open = true; }));
  here();
})();
