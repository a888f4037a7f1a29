// The list of all cells: filled from the data, filtered by the form, sorted by a press on a head, copied as CSV.
const form = document.getElementById("chosen"), list = document.querySelector("table.list");
list.tBodies[0].innerHTML = data.cells.map(lineOf).join("");
const heads = [...list.tHead.rows[0].cells], lines = [...list.tBodies[0].rows];
const names = heads.map((head) => head.textContent), verdict = names.indexOf("verdict");

function lineOf([id, fields]) {
  const [system, ...rest] = fields.map((number) => data.texts[number]), [paper, table] = id.split("/");
  const cells = [paper, table, ...rest].map((text) => `<td>${text}</td>`).join("");
  return `<tr data-cell="${id}"><th scope="row"><button type="button">${system}</button></th>${cells}</tr>`;
}
const textOf = (field) => field.textContent.trim();
const has = (line, kind) => line.cells[verdict].querySelector(`.v-${kind}`);

const chosen = () => new URLSearchParams([...new FormData(form)].filter(([, value]) => value));

function filter() {
  const wanted = chosen(), words = (wanted.get("search") ?? "").toLowerCase().split(/\s+/);
  for (const line of lines) {
    const texts = [...line.cells].map(textOf), whole = `${texts.join(" ")} ${line.dataset.cell}`.toLowerCase();
    const only = wanted.getAll("only");
    line.hidden = !words.every((word) => whole.includes(word))
      || names.some((name, place) => wanted.has(name) && wanted.get(name) !== texts[place])
      || (only.includes("measured") && !texts[names.indexOf("measured")])
      || (only.includes("fails") && !has(line, "fail"))
      || (only.includes("run") && !texts[names.indexOf("run by others")])
      || (only.includes("stated") && !texts.at(-1));
  }
  const count = (kind) => {
    const of = lines.filter((line) => cellsById.get(line.dataset.cell).published === kind);
    return [of.filter((line) => !line.hidden).length, of.length];
  };
  const [published, all] = count(1), [unpublished, apart] = count(0);
  const counts = [...(all ? [`${published} of ${all} published cells`] : []), ...(apart ? [`${unpublished} of ${apart} not published`] : [])];
  form.querySelector("output").textContent = counts.join("; apart, ");
}

// numbers by size, before words; what is empty comes last in either direction
function sortBy(place, direction) {
  const keys = new Map(lines.map((line) => [line, textOf(line.cells[place]).replace(/^[^\d\w.+-]+/, "")]));
  lines.sort((one, other) => {
    const [a, b] = [keys.get(one), keys.get(other)], [x, y] = [parseFloat(a), parseFloat(b)];
    if (!a || !b) return !a - !b;
    const order = isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) || a.localeCompare(b) : x - y;
    return direction * order;
  });
  list.tBodies[0].append(...lines);
}

function asCsv(rows) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const texts = rows.map((line) => [line.dataset.cell, data.scale, ...[...line.cells].map(textOf)]);
  return [["cell", "scale", ...names], ...texts].map((fields) => fields.map(quoted).join(",")).join("\n") + "\n";
}

heads.forEach((head, place) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const falling = head.ariaSort === "ascending";
    heads.forEach((other) => { other.ariaSort = null; });
    head.ariaSort = falling ? "descending" : "ascending";
    sortBy(place, falling ? -1 : 1);
  });
});

for (const choice of form.querySelectorAll("select")) {
  const place = names.indexOf(choice.name), values = new Set(lines.map((line) => textOf(line.cells[place])).filter(Boolean));
  for (const value of [...values].sort((a, b) => a.localeCompare(b, "en", { numeric: true }))) choice.add(new Option(value));
}
