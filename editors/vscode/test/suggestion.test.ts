import assert from "node:assert/strict";
import { test } from "node:test";
import { ShownSuggestion } from "../src/suggestion";

const offer = (...texts: string[]) => new ShownSuggestion(texts.map((text, i) => ({ id: `${i}`, text })));

test("a word taken is told with how much was taken in all", () => {
  const shown = offer("price_of(basket)");
  assert.deepEqual(shown.changed("price_of", "price_of"), { id: "0", acceptedLength: 8 });
  assert.equal(shown.changed("price_of(", "("), undefined);
  assert.deepEqual(shown.changed("price_of(basket", "basket"), { id: "0", acceptedLength: 15 });
});

test("typing along is not taking, and the rest is the same suggestion", () => {
  const shown = offer("price_of(basket)");
  for (const typed of ["p", "pr", "pri"]) assert.equal(shown.changed(typed, typed.slice(-1)), undefined);
  assert.deepEqual(shown.restOf("ce_of(basket)"), { id: "0", text: "price_of(basket)" });
  assert.equal(shown.restOf("ces"), undefined);
});

test("backspace gives back what was typed", () => {
  const shown = offer("price_of");
  shown.changed("pr", "r");
  shown.changed("p", "");
  assert.equal(shown.restOf("rice_of")?.id, "0");
});

test("a pair that the editor closes, and a line with its indentation, are typed", () => {
  assert.equal(offer("()\nnext").changed("()", "()"), undefined);
  assert.equal(offer("\n    return total").changed("\n    ", "\n    "), undefined);
});

test("a line taken in a file with carriage returns counts as the text does", () => {
  const shown = offer("if total:\n    pay()");
  assert.deepEqual(shown.changed("if total:\r\n", "if total:\r\n"), { id: "0", acceptedLength: 10 });
  assert.equal(shown.restOf("    pay()")?.id, "0");
});

test("lengths are UTF-16 units", () => {
  assert.deepEqual(offer('"🧺 basket"').changed('"🧺 ', '"🧺 '), { id: "0", acceptedLength: 4 });
});

test("other text, and the whole, end it", () => {
  const other = offer("price_of");
  assert.equal(other.changed("total", "total"), undefined);
  assert.equal(other.isActive, false);
  const whole = offer("price_of");
  assert.equal(whole.changed("price_of", "price_of"), undefined, "the editor tells by itself that all was taken");
  assert.equal(whole.isActive, false);
});

test("of several candidates the one that is taken is told", () => {
  const shown = offer("price_of(basket)", "print(basket)");
  assert.deepEqual(shown.changed("print", "print"), { id: "1", acceptedLength: 5 });
});

test("who takes a piece keeps seeing the rest, who types sees what comes", () => {
  const shown = offer("total = price_of(basket)");
  assert.equal(shown.staysShown, false);
  shown.changed("total", "total");
  assert.equal(shown.staysShown, true);
  shown.changed("total ", " ");
  assert.equal(shown.staysShown, false);
});
