// One photo at large, tabs and theme; then everything starts.

let opened = null;

function openViewer(card) {
  opened = card;
  const photo = data.photos[card.index];
  element("viewer-name").textContent = photo.name;
  if (!element("viewer").open) element("viewer").showModal();
  fill(element("viewer-photos"), photo, KNOWN);
  const lists = photo.found.map((found) => {
    const list = create("ul");
    for (const [, , , , score, index, kind] of shownBoxes(found)) {
      const item = create("li");
      const dot = create("i", "dot");
      dot.style.background = colorOf(index);
      item.append(dot, `${data.classes[index]} ${score.toFixed(3)} `);
      if (kind >= 0) item.append(create("em", "", data.kinds[kind]));
      list.append(item);
    }
    return list;
  });
  element("viewer-boxes").replaceChildren(...lists);
}

function openNeighbour(step) {
  const all = [...opened.parentElement.children].filter((card) => !card.hidden);
  const next = all[all.indexOf(opened) + step];
  if (next) openViewer(next);
}

function setUpViewer() {
  const viewer = element("viewer");
  element("previous").addEventListener("click", () => openNeighbour(-1));
  element("next").addEventListener("click", () => openNeighbour(1));
  element("close").addEventListener("click", () => viewer.close());
  viewer.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) openNeighbour(step);
  });
  viewer.addEventListener("click", (event) => {
    if (event.target === viewer) viewer.close(); // beside it
  });
  viewer.addEventListener("close", () => opened.firstChild.focus());
}

// Tabs and theme

function setUpTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  function choose(tab) {
    for (const one of tabs) {
      one.setAttribute("aria-selected", one === tab);
      one.tabIndex = one === tab ? 0 : -1;
      element(one.getAttribute("aria-controls")).hidden = one !== tab;
    }
  }
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const next = tabs[(index + step + tabs.length) % tabs.length];
      choose(next);
      next.focus();
    });
  });
}

function setUpTheme() {
  element("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
}

setUpToolbar();
setUpViewer();
setUpTabs();
setUpTheme();
sortPhotos(null);
for (const grid of document.querySelectorAll(".strip")) {
  const indexes = grid.dataset.photos.split(" ").filter(Boolean).map(Number);
  fillGrid(grid, indexes.map((index) => makeCard(index, true)));
}
for (const grid of document.querySelectorAll(".grid")) {
  grid.addEventListener("keydown", (event) => moveFocus(grid, event));
}
update();
