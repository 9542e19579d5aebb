// A drawing of the entities of a memory graph: on an ellipse, with lines for relations.

import { cut, h, s } from "./dom.js";

const [WIDTH, HEIGHT] = [1000, 460];
const [RADIUS_X, RADIUS_Y] = [330, 190];
const MAX_NAME = 28;

/** What the walk for the question passes is emphasised. */
export function entityDrawing(found) {
  const walked = new Set(found.walk.flatMap((each) => [each.from, each.to]).filter(Boolean));
  const at = (entity) => {
    const angle = (2 * Math.PI * entity) / found.entities.length - Math.PI / 2;
    return [WIDTH / 2 + RADIUS_X * Math.cos(angle), HEIGHT / 2 + RADIUS_Y * Math.sin(angle)];
  };
  const isWalked = (entity) => walked.has(found.entities[entity].name);
  const lines = found.relations.map((each) => {
    const [[x1, y1], [x2, y2]] = [at(each.from), at(each.to)];
    const isOn = isWalked(each.from) && isWalked(each.to);
    return s("line", { class: isOn ? "edge on" : "edge", x1, y1, x2, y2, "stroke-width": 1.5 });
  });
  const labels = found.entities.map((each, entity) => {
    const [x, y] = at(entity);
    const isLeft = x < WIDTH / 2;
    return [s("circle", { class: isWalked(entity) ? "dot on" : "dot", cx: x, cy: y, r: 4 }),
      s("text", { x: x + (isLeft ? -8 : 8), y: y + 4, "text-anchor": isLeft ? "end" : "start" }, cut(each.name, MAX_NAME))];
  });
  return h("figure", { tabindex: 0, "aria-label": "Graph" }, s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: walked.size ? "drawing picked" : "drawing",
    "aria-label": "Entities and their relations; the table has them too" }, lines, labels));
}
