// The gallery: cards that are drawn while they are near the window, and its toolbar.

const objectsShown = (card) => card.always || (KNOWN && element("objects").checked);

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const frame = target.querySelector(".figure");
      if (isIntersecting && !near.has(target)) {
        near.add(target);
        fill(frame, data.photos[target.index], objectsShown(target));
      } else if (!isIntersecting && near.delete(target)) {
        frame.replaceChildren();
      }
    }
  },
  { rootMargin: "500px" },
);

function makeCard(index, always = false) {
  const card = create("li", "card");
  const button = create("button");
  const caption = create("div", "caption");
  button.type = "button";
  button.tabIndex = -1;
  button.title = data.photos[index].name;
  caption.append(create("span", "", data.photos[index].name), create("span", "value"));
  button.append(create("div", "figure"), caption);
  button.addEventListener("click", () => openViewer(card));
  card.append(button);
  card.index = index;
  card.always = always;
  observer.observe(card);
  return card;
}

function fillGrid(grid, cards) {
  grid.classList.toggle("pairs", data.runs.length > 1);
  grid.replaceChildren(...cards);
  cards.forEach((card, place) => {
    card.firstChild.tabIndex = place === 0 ? 0 : -1; // one stop for Tab, arrows move inside
  });
}

function moveFocus(grid, event) {
  const cards = [...grid.children].filter((card) => !card.hidden);
  const here = cards.indexOf(event.target.closest(".card"));
  if (here < 0) return;
  const firstOfNextRow = cards.findIndex((card) => card.offsetTop > cards[0].offsetTop);
  const columns = firstOfNextRow < 0 ? cards.length : firstOfNextRow;
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  const ends = { Home: -here, End: cards.length - 1 - here };
  const target = cards[here + (steps[event.key] ?? ends[event.key] ?? NaN)];
  if (!target) return;
  event.preventDefault();
  for (const card of cards) card.firstChild.tabIndex = -1;
  target.firstChild.tabIndex = 0;
  target.firstChild.focus();
}

// The toolbar

const cards = data.photos.map((_, index) => makeCard(index));

function update() {
  element("threshold-value").value = state.threshold.toFixed(data.top < 0.1 ? 4 : 2);
  const counts = data.runs.map(() => ({ boxes: 0, photos: 0, kinds: data.kinds.map(() => 0) }));
  const onlyFilled = element("filled").checked;
  data.photos.forEach((photo, index) => {
    let filled = false;
    photo.found.forEach((found, run) => {
      const boxes = shownBoxes(found);
      counts[run].boxes += boxes.length;
      counts[run].photos += boxes.length > 0;
      for (const box of boxes) if (box[6] >= 0) counts[run].kinds[box[6]] += 1;
      filled ||= boxes.length > 0;
    });
    const hidden = onlyFilled && !filled;
    if (cards[index].hidden !== hidden) cards[index].hidden = hidden;
  });
  for (const card of near) redraw(card);
  element("live").replaceChildren(...counts.flatMap(summary));
}

/** What is shown, in a line for each run. */
function summary(count, run) {
  const line = create("div");
  if (data.runs.length > 1) line.append(create("i", `dot run-${run}`), `${data.runs[run]}: `);
  const words = [`${counted(count.boxes, "box", "es")} in ${counted(count.photos, "photo", "s")}`];
  if (KNOWN && state.kind === null) {
    const [right, ignored] = count.kinds;
    const boxes = count.kinds.reduce((sum, one) => sum + one, 0) - ignored;
    words.push(`precision ${percent(right / Math.max(1, boxes))}`);
    words.push(`recall ${percent(right / Math.max(1, objectsToFind()))}`);
    data.kinds.forEach((name, kind) => {
      if (kind > 1 && count.kinds[kind]) words.push(`${name} ${number(count.kinds[kind])}`);
    });
    words.push(`missed ${number(objectsToFind() - right)}`);
  }
  const [first, ...others] = words;
  line.append(create("b", "", first), others.map((word) => ` · ${word}`).join(""));
  return [line];
}

const objectsOfClass = data.classes.map(() => 0);
if (KNOWN) {
  for (const photo of data.photos) for (const object of photo.objects) objectsOfClass[object[4]] += object[5];
}
const objectsToFind = () =>
  objectsOfClass.reduce((sum, count, index) => sum + (state.off.has(index) ? 0 : count), 0);

let waiting = false;
function updateSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    update();
  });
}

const SORTS = [
  ["as they come", null],
  ["most uncertain", "uncertainty"],
  ["highest score", "score"],
  ["lowest score", "-score"],
  ["most disagreement", "disagreement"],
  ["worst first", "-quality"],
  ["best first", "quality"],
  ["largest gain", "gain"],
  ["largest loss", "-gain"],
].filter(([, key]) => !key || data.photos.some((photo) => photo[key.replace("-", "")] != null));

function sortPhotos(key) {
  const field = key?.replace("-", "");
  const sign = key?.startsWith("-") ? 1 : -1;
  const value = (index) => data.photos[index][field] ?? sign * Infinity; // unknown ones last
  state.order = data.photos.map((_, index) => index);
  if (key) state.order.sort((a, b) => sign * (value(a) - value(b)) || a - b);
  for (const card of cards) {
    const known = key ? data.photos[card.index][field] : null;
    card.querySelector(".value").textContent = known == null ? "" : known.toFixed(2);
  }
  fillGrid(element("gallery"), state.order.map((index) => cards[index]));
}

function setUpToolbar() {
  const slider = element("threshold");
  slider.min = 0;
  slider.max = data.top;
  slider.step = data.top / 100;
  slider.value = data.threshold ?? data.top / 2;
  state.threshold = Number(slider.value);
  slider.addEventListener("input", () => {
    state.threshold = Number(slider.value);
    updateSoon();
  });
  SORTS.forEach(([words, key]) => element("sort").append(new Option(words, key ?? "")));
  element("sort").addEventListener("change", (event) => sortPhotos(event.target.value || null));
  for (const id of ["labels", "filled", ...(KNOWN ? ["objects"] : [])]) {
    element(id).addEventListener("change", updateSoon);
  }
  if (KNOWN) {
    data.kinds.forEach((name, kind) => element("kind").append(new Option(`${name} only`, kind)));
    element("kind").addEventListener("change", ({ target }) => {
      state.kind = target.value === "" ? null : Number(target.value);
      updateSoon();
    });
  }
  setUpClasses();
}

function setUpClasses() {
  const chips = data.classes.map((name, index) => {
    const chip = create("button");
    const dot = create("i", "dot");
    dot.style.background = colorOf(index);
    chip.type = "button";
    chip.title = name;
    chip.append(dot, create("span", "", name));
    chip.addEventListener("click", () => toggle([index], state.off.has(index)));
    return chip;
  });
  function toggle(indexes, on) {
    for (const index of indexes) {
      if (on) state.off.delete(index);
      else state.off.add(index);
      chips[index].setAttribute("aria-pressed", on);
    }
    updateSoon();
  }
  const every = data.classes.map((_, index) => index);
  element("classes").append(...chips);
  element("classes-all").addEventListener("click", () => toggle(every, true));
  element("classes-none").addEventListener("click", () => toggle(every, false));
  for (const chip of chips) chip.setAttribute("aria-pressed", true);
}
