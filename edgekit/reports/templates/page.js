"use strict";
// Tables: headings sort, and on phones, where rows become cards, each cell carries the name of its column.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  for (const row of body.rows)
    for (const [i, cell] of [...row.cells].entries()) cell.dataset.label = heads[i].textContent;
  if (table.classList.contains("sorts")) table.parentNode.classList.add("labelled");
  for (const button of table.querySelectorAll("th button"))
    button.onclick = () => {
      const head = button.parentNode, column = head.cellIndex, before = head.getAttribute("aria-sort");
      const down = before ? before === "ascending" : "down" in button.dataset;
      const key = (row) => {
        const cell = row.cells[column];
        return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent.toLowerCase();
      };
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
      body.append(...rows.map(([, row]) => row));
      table.shorten?.();
    };
  if (table.classList.contains("sorts")) startShort(table);
}

// A long table starts with its first ten rows, without those that repeat an earlier one; a button shows all.
function startShort(table) {
  const rows = table.tBodies[0].rows, says = [...rows].filter((row) => !row.classList.contains("moves"));
  if (rows.length <= 12 && says.length === rows.length) return;
  const button = document.createElement("button");
  button.className = "show-all screen";
  button.textContent = `Show all ${rows.length} rows`;
  button.onclick = () => {
    table.shorten = () => {};
    for (const row of rows) row.hidden = false;
    button.remove();
  };
  table.showAll = () => button.click();
  table.shorten = () => {
    let shown = 0;
    for (const row of rows) row.hidden = row.classList.contains("moves") || ++shown > (says.length > 12 ? 10 : 12);
  };
  table.shorten();
  table.parentNode.append(button);
}

// Whatever belongs to a row is marked with it: points of charts, layers of the graph, blocks of memory.
const rowOf = (element) => document.getElementById(element.dataset.row);
const chosen = [];

function choose(id) {
  for (const element of chosen.splice(0)) element.classList.remove("on");
  const row = document.getElementById(id);
  if (!row) return;
  if (row.hidden) row.closest("table").showAll();
  chosen.push(row, ...document.querySelectorAll(`[data-row="${id}"]`));
  for (const card of document.querySelectorAll(`.card[data-row="${id}"]`))
    chosen.push(...document.querySelectorAll(`[data-s="${card.dataset.node}"], [data-t="${card.dataset.node}"]`));
  for (const element of chosen) element.classList.add("on");
  const details = document.getElementById("details");
  if (details) details.replaceChildren(...describe(row));
  for (const more of row.querySelectorAll("details")) more.open = true;
}

// The cells of a row as a list; text stays text.
function describe(row) {
  const title = document.createElement("h3"), list = document.createElement("dl"), link = document.createElement("a");
  title.textContent = row.querySelector(".name span").textContent;
  for (const cell of row.cells) {
    if (!cell.textContent || cell.querySelector(".name span") || cell.dataset.label === "Layer") continue;
    const term = document.createElement("dt"), value = document.createElement("dd");
    term.textContent = cell.dataset.label === "#" ? "Step" : cell.dataset.label;
    value.textContent = [...cell.childNodes].map((node) => node.textContent.trim()).filter(Boolean).join(", ");
    list.append(term, value);
  }
  const origin = row.querySelector(".name small");
  if (origin) {
    const term = document.createElement("dt"), value = document.createElement("dd");
    term.textContent = "Layer of the model";
    value.textContent = origin.textContent;
    list.prepend(term, value);
  }
  link.href = `#${row.id}`;
  link.textContent = "Show in the table";
  return [title, list, link];
}

for (const link of document.querySelectorAll("a[data-row]"))
  link.addEventListener("click", (event) => {
    if (!link.classList.contains("jump")) event.preventDefault(); // else it also goes to the row
    choose(link.dataset.row);
  });
for (const table of document.querySelectorAll("#table"))
  table.addEventListener("click", (event) => {
    const row = event.target.closest("tbody tr");
    if (row) choose(row.id);
  });

const view = document.getElementById("view");
if (view) walk(view);

// The graph: zoom, search, arrow keys, and dragging with a mouse; fingers scroll it as they scroll everything.
function walk(view) {
  const picture = view.querySelector(".picture"), cards = [...picture.querySelectorAll("a.card")];
  const width = Number(picture.getAttribute("width")), height = Number(picture.getAttribute("height"));
  let scale = 1;

  function zoom(wanted, x = view.clientWidth / 2, y = view.clientHeight / 2) {
    const before = scale;
    scale = Math.min(Math.max(wanted, 0.1), 3);
    const left = (view.scrollLeft + x) * (scale / before) - x, top = (view.scrollTop + y) * (scale / before) - y;
    picture.setAttribute("width", width * scale);
    picture.setAttribute("height", height * scale);
    view.scrollTo(left, top);
  }
  const whole = () => Math.min((view.clientWidth - 2) / width, 1.2);
  zoom(Math.max(whole(), 0.5));
  view.scrollTo(0, 0);
  document.getElementById("in").onclick = () => zoom(scale * 1.3);
  document.getElementById("out").onclick = () => zoom(scale / 1.3);
  document.getElementById("fit").onclick = () => zoom(whole());
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = view.getBoundingClientRect();
    zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  let drag = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0)
      drag = { x: event.clientX + view.scrollLeft, y: event.clientY + view.scrollTop, moved: false };
  });
  addEventListener("pointermove", (event) => {
    if (!drag) return;
    const left = drag.x - event.clientX, top = drag.y - event.clientY;
    drag.moved ||= Math.abs(left - view.scrollLeft) + Math.abs(top - view.scrollTop) > 4;
    if (drag.moved) view.scrollTo(left, top);
  });
  addEventListener("pointerup", () => setTimeout(() => (drag = null)));
  view.addEventListener("click", (event) => {
    if (!drag?.moved) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  picture.addEventListener("dragstart", (event) => event.preventDefault());

  // One card is a stop of the Tab key; arrows go from there to the nearest one in their direction.
  function goto(card) {
    for (const other of cards) other.tabIndex = other === card ? 0 : -1;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest", inline: "nearest" });
    choose(card.dataset.row);
  }
  for (const card of cards) card.tabIndex = card === cards[0] ? 0 : -1;
  const middle = (card) => {
    const { x, y, width, height } = card.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  };
  const ways = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  function nearest(card, [right, down]) {
    const [x, y] = middle(card);
    let best = null, least = Infinity;
    for (const other of cards) {
      const [a, b] = middle(other), along = (a - x) * right + (b - y) * down;
      const aside = Math.abs((a - x) * down) + Math.abs((b - y) * right);
      if (along > 1 && along + 3 * aside < least) [best, least] = [other, along + 3 * aside];
    }
    return best;
  }
  picture.addEventListener("keydown", (event) => {
    const card = event.target.closest("a.card"), way = ways[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || !card) return;
    const order = cards.indexOf(card);
    const next = way ? nearest(card, way) : event.key === "Home" ? cards[0] : event.key === "End" ? cards.at(-1) : null;
    if (way || next) event.preventDefault();
    // Down from the end of a column is the next layer.
    const target = next ?? (event.key === "ArrowDown" ? cards[order + 1] : event.key === "ArrowUp" ? cards[order - 1] : null);
    if (target) goto(target);
    if (event.key === "+" || event.key === "=") zoom(scale * 1.3);
    if (event.key === "-") zoom(scale / 1.3);
  });
  for (const card of cards) card.addEventListener("focus", () => choose(card.dataset.row));

  // Search: in all that the rows of the layers say.
  const search = document.getElementById("search"), hits = document.getElementById("hits");
  let found = [], at = -1;
  search.addEventListener("input", () => {
    const words = search.value.trim().toLowerCase();
    found = words ? cards.filter((card) => rowOf(card).textContent.toLowerCase().includes(words)) : [];
    at = -1;
    picture.classList.toggle("finding", words !== "");
    for (const card of cards) card.classList.toggle("found", found.includes(card));
    hits.textContent = words ? `${found.length} of ${cards.length}` : "";
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !found.length) return;
    at = (at + (event.shiftKey ? found.length - 1 : 1)) % found.length;
    found[at].scrollIntoView({ block: "nearest", inline: "center" });
    choose(found[at].dataset.row);
    hits.textContent = `${at + 1} of ${found.length}`;
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    event.preventDefault();
    search.focus();
  });

  // What the bars of cards show: a column of numbers.
  document.getElementById("measure").onchange = ({ target }) => {
    const cells = cards.map((card) => {
      const numbers = [...rowOf(card).cells].filter((cell) => "bar" in cell.dataset);
      return Number(numbers.at(target.value === "w" ? -1 : Number(target.value)).dataset.v);
    });
    const most = Math.max(...cells) || 1;
    cards.forEach((card, i) => card.querySelector(".share").setAttribute("width", `${(100 * Math.max(cells[i], 0)) / most}%`));
  };
}
if (location.hash) choose(location.hash.slice(1));
