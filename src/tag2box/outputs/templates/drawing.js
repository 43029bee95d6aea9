"use strict";
// Photos with their boxes as SVG; text is never read as HTML.
// A box is [x1, y1, x2, y2, score, class, kind], an object [x1, y1, x2, y2, class, to be found].

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const COLORS = [
  "#f0a92e", "#5ab8ee", "#2fbf8f", "#f2e24e", "#ff7a45", "#dd86b8", "#a3dc8a", "#8f9bff",
  "#e05656", "#37c8c8", "#c99b6b", "#c48bf0", "#b8c43c", "#ff9fae", "#6f9fd8", "#d8d8d8",
];
const MOST_LABELS = 12;
const TEXT = 11.5; // pixels on the screen
const KNOWN = "objects" in (data.photos[0] ?? {});
const state = {
  threshold: 0,
  off: new Set(),
  kind: null,
  order: data.photos.map((_, index) => index),
  sort: null,
};
const near = new Set(); // cards close to the window

function create(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

function draw(tag, attributes, parent) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}

const colorOf = (index) => COLORS[index % COLORS.length];
const percent = (share) => `${Math.round(100 * share)} %`;
const number = (value) => value.toLocaleString("en");
const counted = (value, noun, plural) => `${number(value)} ${noun}${value === 1 ? "" : plural}`;

// Which boxes are shown

function shownBoxes(found) {
  const shown = [];
  for (const box of found) {
    if (box[4] < state.threshold) break; // the best-scored come first
    if (state.off.has(box[5])) continue;
    if (state.kind === null || box[6] === state.kind) shown.push(box);
  }
  return shown;
}

// Drawing

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = `500 ${TEXT}px system-ui, "Liberation Sans", Arial, sans-serif`;

/** The photo of one run as SVG; `scale` is how many pixels of the photo a pixel shows. */
function picture(photo, run, scale, withObjects) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${photo.width} ${photo.height}`);
  const all = { x: 0, y: 0, width: photo.width, height: photo.height };
  if (photo.jpeg) {
    draw("image", { ...all, preserveAspectRatio: "none", href: `data:image/jpeg;base64,${photo.jpeg}` }, svg);
  } else {
    const middle = { x: photo.width / 2, y: photo.height / 2, "font-size": 13 * scale };
    draw("text", { ...middle, class: "broken" }, svg).textContent = "cannot be read";
  }
  svg.append(overlay(photo, run, scale, withObjects));
  return svg;
}

function overlay(photo, run, scale, withObjects) {
  const group = document.createElementNS(SVG, "g");
  if (withObjects && KNOWN) {
    for (const [x1, y1, x2, y2, index] of photo.objects) {
      if (state.off.has(index)) continue;
      draw("rect", { class: "object", x: x1, y: y1, width: x2 - x1, height: y2 - y1 }, group);
    }
  }
  const boxes = shownBoxes(photo.found[run]);
  for (const [x1, y1, x2, y2, , index] of boxes.toReversed()) {
    const place = { x: x1, y: y1, width: Math.max(0, x2 - x1), height: Math.max(0, y2 - y1) };
    draw("rect", { ...place, class: "box", stroke: colorOf(index) }, group);
  }
  if (element("labels").checked && boxes.length <= MOST_LABELS) {
    for (const box of boxes.toReversed()) label(box, photo, scale, group);
  }
  return group;
}

function label([x1, y1, , , score, index], photo, scale, group) {
  const name = data.classes[index];
  const text = `${name.length > 24 ? `${name.slice(0, 23)}…` : name} ${score.toFixed(2)}`;
  const width = (ruler.measureText(text).width + 8) * scale;
  const height = (TEXT + 4) * scale;
  const x = Math.max(0, Math.min(x1, photo.width - width));
  const y = y1 >= height ? y1 - height : Math.max(0, y1);
  draw("rect", { x, y, width, height, rx: 2 * scale, fill: colorOf(index) }, group);
  const place = { x: x + 4 * scale, y: y + (TEXT + 0.5) * scale, "font-size": TEXT * scale };
  draw("text", { ...place, class: "label" }, group).textContent = text;
}

/** Fill a frame with the photo, once for each run. */
function fill(frame, photo, withObjects) {
  const parts = data.runs.map((name, run) => {
    const part = create("div");
    if (data.runs.length > 1) {
      part.append(create("i", `dot run-${run}`));
      part.title = name;
    }
    return part;
  });
  frame.replaceChildren(...parts);
  const { width, height } = parts[0].getBoundingClientRect();
  const scale = Math.max(photo.width / (width || 230), photo.height / (height || 172));
  parts.forEach((part, run) => part.prepend(picture(photo, run, scale, withObjects)));
  frame.dataset.scale = scale;
}

function redraw(card) {
  const frame = card.querySelector(".figure");
  const scale = Number(frame.dataset.scale);
  frame.querySelectorAll("svg > g").forEach((old, run) => {
    old.replaceWith(overlay(data.photos[card.index], run, scale, objectsShown(card)));
  });
}
