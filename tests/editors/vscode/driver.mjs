// Drives browser windows for the tests: JSON requests on stdin, JSON responses on stdout, one per line.
//
// Owns the browser and its pages. Knows the parts of VS Code's page that must be read in the browser (ghost text, frames
// of webviews); conftest.py has the actions of the tests. Exits, with the browser, at the end of stdin.
//
//   PLAYWRIGHT=…/playwright-core/index.mjs CHROMIUM=/usr/bin/chromium node driver.mjs
//   {"id": 1, "do": "open", "url": "http://127.0.0.1:…"}        {"id": 1, "value": 0}
//   {"id": 2, "window": 0, "do": "press", "key": "Tab"}         {"id": 2, "value": null}

import readline from 'node:readline';

const { chromium } = await import(process.env.PLAYWRIGHT);
const WAIT_MS = 60_000; // only a failing test waits this long
const LOOK_AGAIN_MS = 40;

// Without a sandbox, because tests run as root in containers. It opens only pages on this machine.
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  headless: true,
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run', '--disable-sync',
    '--disable-background-networking', '--disable-component-update', '--disable-background-timer-throttling',
    '--disable-renderer-backgrounding',
  ],
});
// One context, so that the windows share the cache.
const context = await browser.newContext();
await context.grantPermissions(['clipboard-read', 'clipboard-write']);
const windows = [];

const actions = {
  async open(_, { url, width = 1280, height = 800 }) {
    const page = await context.newPage();
    await page.setViewportSize({ width, height });
    page.on('dialog', (dialog) => dialog.accept()); // "leave the page?" of a window with unsaved files
    await page.goto(url);
    return windows.push(page) - 1;
  },
  /** The addresses of all pages that VS Code opened beside its windows. */
  opened: () => context.pages().filter((page) => !windows.includes(page)).map((page) => page.url()),
  async closeOpened() {
    for (const page of context.pages()) if (!windows.includes(page)) await page.close();
  },
  async close(page) {
    // Unloading the page ends the extension host at once.
    await page.goto('about:blank');
    await page.close();
  },
  async reload(page) {
    await page.reload();
  },
  type: (page, { text }) => page.keyboard.type(text),
  // As one input event, as a paste or an input method does.
  insert: (page, { text }) => page.keyboard.insertText(text),
  press: (page, { key }) => page.keyboard.press(key),
  async click(page, { modifiers, ...what }) {
    await (await first(page, what)).click({ modifiers, timeout: WAIT_MS });
  },
  /** Follows a link of the focused editor as a person does: Control is held, and the click comes when the link is active. */
  async follow(page, { text }) {
    const link = { selector: '.monaco-editor.focused .detected-link', text };
    const active = { selector: `${link.selector}-active`, text };
    await page.keyboard.down('Control');
    try {
      let at;
      // The pointer makes Monaco draw the line again, so the element of the link is no stable target for a click.
      await until(async () => {
        const box = await locate(page, link).first().boundingBox({ timeout: LOOK_AGAIN_MS }).catch(() => null);
        if (box) {
          at = [box.x + Math.min(box.width, 20) / 2, box.y + box.height / 2];
          await page.mouse.move(at[0] - 1, at[1]);
          await page.mouse.move(...at);
        }
        return (await visible(page, active)) > 0;
      }, () => `${describe(link)} does not become active`);
      await page.mouse.click(...at);
    } finally {
      await page.keyboard.up('Control');
    }
  },
  async fill(page, { value, ...what }) {
    await (await first(page, what)).fill(value, { timeout: WAIT_MS });
  },
  async wait(page, what) {
    return plain(await (await first(page, what)).innerText());
  },
  async gone(page, what) {
    await until(async () => (await visible(page, what)) === 0, () => `${describe(what)} is still there`);
  },
  async texts(page, what) {
    const scope = await scopeOf(page, what.frame);
    return scope ? (await locate(scope, what).allInnerTexts()).map(plain) : [];
  },
  async attribute(page, { name, ...what }) {
    return (await first(page, what)).getAttribute(name);
  },
  ghost: (page) => page.evaluate(ghostText),
  drawn: (page) => page.evaluate(drawnTexts),
  async evaluate(page, { script, frame }) {
    return (await scopeOf(page, frame)).evaluate(script);
  },
  async accessibility(page, { selector = 'body', frame }) {
    return (await first(page, { selector, frame })).ariaSnapshot();
  },
  screenshot: (page, { path }) => page.screenshot({ path }),
};

/** The lines of the ghost text in the focused editor, the first at the cursor; null without ghost text. */
function ghostText() {
  const editor = document.querySelector('.monaco-editor.focused') ?? document.querySelector('.monaco-editor');
  const texts = (selector) =>
    [...(editor?.querySelectorAll(selector) ?? [])].map((each) => each.textContent.replace(/\u00a0/g, ' '));
  const atCursor = texts('.ghost-text-decoration, .ghost-text-decoration-preview').join('');
  const below = texts('.suggest-preview-text .view-line');
  return atCursor || below.length ? [atCursor, ...below] : null;
}

/** The lines of the active editor with texts that decorations draw: the code of the line, what is struck, what is drawn. */
function drawnTexts() {
  const editor = document.querySelector('.editor-group-container.active .monaco-editor .view-lines');
  const plain = (text) => text.replace(/\u00a0/g, ' ');
  const drawn = [];
  for (const line of editor?.querySelectorAll('.view-line') ?? []) {
    const [struck, texts] = [[], []];
    for (const span of line.querySelectorAll('span span')) {
      if (getComputedStyle(span).textDecorationLine === 'line-through') struck.push(plain(span.textContent));
      for (const end of ['::before', '::after']) {
        const content = getComputedStyle(span, end).content;
        if (/^".+"$/s.test(content)) texts.push(plain(JSON.parse(content)));
      }
    }
    const top = parseFloat(line.style.top);
    if (struck.length || texts.length) drawn.push({ top, line: plain(line.textContent), struck: struck.join(''), texts });
  }
  return drawn.sort((left, right) => left.top - right.top);
}

/** The page, or the frame of a webview that holds an element `frame`; undefined while there is none. */
async function scopeOf(page, frame) {
  if (!frame) return page.mainFrame();
  for (const each of page.frames()) {
    if (await each.locator(frame).count().catch(() => 0)) return each;
  }
  return undefined;
}

function locate(scope, { selector, text }) {
  const all = scope.locator(selector).filter({ visible: true });
  return text === undefined ? all : all.filter({ hasText: text });
}

async function visible(page, what) {
  const scope = await scopeOf(page, what.frame);
  return scope ? locate(scope, what).count() : 0;
}

/** The first visible element that fits, when there is one. */
async function first(page, what) {
  await until(async () => (await visible(page, what)) > 0, async () => `${describe(what)} does not appear`, what.waitMs);
  return locate(await scopeOf(page, what.frame), what).nth(what.nth ?? 0);
}

async function until(holds, complaint, waitMs = WAIT_MS) {
  const end = Date.now() + waitMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(await complaint());
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

function describe({ selector, text, frame }) {
  return `${selector}${text === undefined ? '' : ` with "${text}"`}${frame ? ` in the frame of ${frame}` : ''}`;
}

// Monaco draws spaces as U+00A0.
function plain(text) {
  return text.replace(/\u00a0/g, ' ').trim();
}

async function answer(line) {
  const { id, window, do: action, ...details } = JSON.parse(line);
  try {
    return { id, value: (await actions[action](windows[window], details)) ?? null };
  } catch (error) {
    return { id, error: String(error?.message ?? error) };
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
await browser.close();
