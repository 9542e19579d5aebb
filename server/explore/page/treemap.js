// Squarified treemap (Bruls, Huizing and van Wijk, 2000): rectangles with areas in proportion to weights.

/** The rectangles {x, y, w, h} of weights, which are in descending order, in a rectangle at the origin. */
export function treemap(weights, width, height) {
  const total = weights.reduce((sum, each) => sum + each, 0) || 1;
  const areas = weights.map((each) => (each * width * height) / total);
  const found = [];
  let [x, y, w, h] = [0, 0, width, height];
  for (let at = 0; at < areas.length;) {
    const side = Math.min(w, h);
    let end = at + 1;
    let sum = areas[at];
    while (end < areas.length && worst(areas, at, end + 1, sum + areas[end], side) <= worst(areas, at, end, sum, side)) {
      sum += areas[end];
      end += 1;
    }
    const thickness = side ? sum / side : 0;
    let offset = 0;
    for (; at < end; at += 1) {
      const length = thickness ? areas[at] / thickness : 0;
      found.push(w >= h ? { x, y: y + offset, w: thickness, h: length } : { x: x + offset, y, w: length, h: thickness });
      offset += length;
    }
    if (w >= h) [x, w] = [x + thickness, w - thickness];
    else [y, h] = [y + thickness, h - thickness];
  }
  return found;
}

/** The largest aspect ratio in a row of areas along a side; the areas are in descending order. */
function worst(areas, start, end, sum, side) {
  const thickness = sum / side;
  const longest = areas[start] / thickness;
  const shortest = areas[end - 1] / thickness;
  return Math.max(longest / thickness, thickness / shortest);
}
