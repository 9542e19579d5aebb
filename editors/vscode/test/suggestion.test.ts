import assert from "node:assert/strict";
import { test } from "node:test";
import { ShownSuggestion } from "../src/suggestion";

const offer = (...texts: string[]) => new ShownSuggestion(texts.map((text, i) => ({ id: `${i}`, text })));

test("accepting a word reports the total accepted length", () => {
  const shown = offer("price_of(basket)");
  assert.deepEqual(shown.changed("price_of", "price_of"), { id: "0", acceptedLength: 8 });
  assert.equal(shown.changed("price_of(", "("), undefined);
  assert.deepEqual(shown.changed("price_of(basket", "basket"), { id: "0", acceptedLength: 15 });
});

test("typing is not acceptance, and the rest is the same suggestion", () => {
  const shown = offer("price_of(basket)");
  for (const typed of ["p", "pr", "pri"]) assert.equal(shown.changed(typed, typed.slice(-1)), undefined);
  assert.deepEqual(shown.restOf("ce_of(basket)"), { id: "0", text: "price_of(basket)" });
  assert.equal(shown.restOf("ces"), undefined);
});

test("an item of the completion list is no accepted part, and the suggestion stays the same", () => {
  const shown = new ShownSuggestion([{ id: "0", text: "price_of(basket)" }], "price_of".length);
  assert.equal(shown.changed("pric", "c"), undefined);
  assert.equal(shown.restOf("price_of(basket)", true)?.id, "0", "the next request with the same item");
  assert.equal(shown.changed("price_of", "price_of"), undefined, "the item was accepted");
  assert.equal(shown.restOf("(basket)")?.id, "0");
  assert.deepEqual(shown.changed("price_of(basket", "(basket"), { id: "0", acceptedLength: 15 });
});

test("backspace extends the rest", () => {
  const shown = offer("price_of");
  shown.changed("pr", "r");
  shown.changed("p", "");
  assert.equal(shown.restOf("rice_of")?.id, "0");
});

test("closed pairs and indented line breaks are typing", () => {
  assert.equal(offer("()\nnext").changed("()", "()"), undefined);
  assert.equal(offer("\n    return total").changed("\n    ", "\n    "), undefined);
});

test("accepting a line in a file with CRLF counts LF", () => {
  const shown = offer("if total:\n    pay()");
  assert.deepEqual(shown.changed("if total:\r\n", "if total:\r\n"), { id: "0", acceptedLength: 10 });
  assert.equal(shown.restOf("    pay()")?.id, "0");
});

test("lengths are UTF-16 units", () => {
  assert.deepEqual(offer('"🧺 basket"').changed('"🧺 ', '"🧺 '), { id: "0", acceptedLength: 4 });
});

test("other text and full acceptance end the suggestion", () => {
  const other = offer("price_of");
  assert.equal(other.changed("total", "total"), undefined);
  assert.equal(other.isActive, false);
  const whole = offer("price_of");
  assert.equal(whole.changed("price_of", "price_of"), undefined, "the editor reports full acceptance itself");
  assert.equal(whole.isActive, false);
});

test("the accepted one of several candidates is reported", () => {
  const shown = offer("price_of(basket)", "print(basket)");
  assert.deepEqual(shown.changed("print", "print"), { id: "1", acceptedLength: 5 });
});

test("the rest stays shown after a partial acceptance, but not after typing", () => {
  const shown = offer("total = price_of(basket)");
  assert.equal(shown.staysShown, false);
  shown.changed("total", "total");
  assert.equal(shown.staysShown, true);
  shown.changed("total ", " ");
  assert.equal(shown.staysShown, false);
});
