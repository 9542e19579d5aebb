// The session and the reducer of the chat, with a fake server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ListingFences } from "../../src/chat/listing";
import { Sentences } from "../../src/chat/sentences";
import { type ChatService, type AnswerListener, Session } from "../../src/chat/session";
import { type ChatEvent, isBusy, turnOf } from "../../src/chat/state";
import type { AskParams, AskResult, Citation, ConversationsResult, Turn as StoredTurn } from "../../src/protocol";

const CITATION = { place: "a.py:1-2", uri: "file:///a.py" } as Citation;
const kept = (turn: Partial<StoredTurn>): StoredTurn =>
  ({ question: "q", answer: "a", citations: [], evidence: [], model: "", ...turn }) as StoredTurn;
const result = (answer: Partial<AskResult>): AskResult =>
  ({ text: "", found: true, citations: [], exhibits: [], notes: [], model: "m", conversationId: "c1", ...answer }) as AskResult;

/** A server that answers when the test says so. */
class FakeServer implements ChatService {
  asked: AskParams[] = [];
  signal!: AbortSignal;
  listener!: AnswerListener;
  answer!: (result: AskResult | null) => void;
  fail!: (error: unknown) => void;
  history: ConversationsResult = {};

  ask(params: AskParams, listener: AnswerListener, signal: AbortSignal): Promise<AskResult | null> {
    this.asked.push(params);
    Object.assign(this, { listener, signal });
    return new Promise((answer, fail) => Object.assign(this, { answer, fail }));
  }

  conversations(): Promise<ConversationsResult> {
    return Promise.resolve(this.history);
  }
}

function begin(): { server: FakeServer; session: Session; events: ChatEvent[] } {
  const server = new FakeServer();
  const events: ChatEvent[] = [];
  return { server, session: new Session(server, (event) => events.push(event)), events };
}

test("an answer streams, and the next question continues its conversation", async () => {
  const { server, session } = begin();
  const asking = session.ask("What?");
  server.listener.note("waiting");
  assert.equal(session.chat.turns[0]!.progress, "waiting");
  for (const part of [{ conversationId: "c1" }, { text: "It " }, { citation: CITATION }, { text: "is a.py:1-2." }]) {
    server.listener.part(part as never);
  }
  assert.deepEqual([session.chat.turns[0]!.answer, session.chat.turns[0]!.citations], ["It is a.py:1-2.", [CITATION]]);
  server.answer(result({ text: "It is a.py:1-2.", citations: [CITATION] }));
  await asking;
  assert.deepEqual([session.chat.turns[0]!.state, isBusy(session.chat)], ["answered", false]);
  void session.ask("And?");
  assert.deepEqual(server.asked, [{ question: "What?" }, { question: "And?", conversationId: "c1" }]);
});

test("a question that was asked as another one can be asked as written, also while its answer streams", async () => {
  const { server, session } = begin();
  void session.ask("And where is it?");
  server.listener.part({ conversationId: "c1" });
  server.listener.part({ askedAs: "where is `pay`?" });
  server.listener.part({ restart: true });
  assert.equal(session.chat.turns[0]!.askedAs, "where is `pay`?");
  const draft = { label: "a.py:1-1", uri: "file:///a.py", range: CITATION.range };
  session.attach(draft);
  const again = session.askAsWritten(0);
  assert.deepEqual(session.chat.turns.map(({ state }) => state), ["stopped", "writing"]);
  assert.deepEqual(session.chat.attachment, draft);
  server.answer(result({ askedAs: "" }));
  await again;
  assert.equal(session.chat.turns[1]!.askedAs, "");
  assert.deepEqual(server.asked[1], { question: "And where is it?", conversationId: "c1", asWritten: true });
  assert.equal(turnOf(kept({ askedAs: "where is `pay`?" })).askedAs, "where is `pay`?");
  await session.askAsWritten(7);
  assert.equal(server.asked.length, 2);
});

test("a restart clears the text and the citations", () => {
  const { server, session } = begin();
  void session.ask("What?");
  server.listener.part({ citation: CITATION, text: "wrong" });
  server.listener.part({ restart: true });
  server.listener.part({ text: "right" });
  assert.deepEqual([session.chat.turns[0]!.answer, session.chat.turns[0]!.citations], ["right", []]);
});

test("a second question is rejected while an answer streams", async () => {
  const { server, session } = begin();
  void session.ask("One?");
  assert.equal(await session.ask("Two?"), false);
  assert.equal(server.asked.length, 1);
});

test("stop cancels the request and keeps the text; later events have no effect", async () => {
  const { server, session } = begin();
  const first = session.ask("What?");
  const { listener, fail } = server;
  listener.part({ conversationId: "c1", text: "Half" });
  session.stop();
  assert.ok(server.signal.aborted);
  listener.part({ text: " more" });
  const second = session.ask("Next?");
  server.listener.part({ text: "Next." });
  fail({ code: -32800 });
  await first;
  assert.deepEqual(session.chat.turns.map(({ state, answer }) => [state, answer]), [["stopped", "Half"], ["writing", "Next."]]);
  assert.equal(server.asked[1]!.conversationId, "c1");
  server.answer(result({ text: "Next." }));
  await second;
});

test("a late answer to a stopped question does not answer the next one", async () => {
  const { server, session } = begin();
  const first = session.ask("One?");
  const answerFirst = server.answer;
  session.stop();
  void session.ask("Two?");
  answerFirst(result({ text: "One." }));
  await first;
  assert.deepEqual(session.chat.turns.map(({ state }) => state), ["stopped", "writing"]);
});

test("a server exit fails the turn with the next step, and the question can be asked again with its selection", async () => {
  const { server, session } = begin();
  const attachment = { label: "a.py:1-2", uri: "file:///a.py", range: { start: { line: 0, character: 0 }, end: { line: 2, character: 0 } } };
  session.attach(attachment);
  const asking = session.ask("What?");
  assert.equal(session.chat.attachment, null);
  server.listener.part({ text: "Half" });
  server.fail({ code: -32097, message: "Pending response rejected" });
  await asking;
  const [turn] = session.chat.turns;
  assert.equal(turn!.state, "failed");
  assert.match(turn!.error, /restarts automatically.*try again/);
  void session.askAgain();
  assert.deepEqual(server.asked[1], { question: "What?", textDocument: { uri: "file:///a.py" }, selection: attachment.range });
});

test("a null answer of a server that shuts down fails the turn", async () => {
  const { server, session } = begin();
  const asking = session.ask("What?");
  server.answer(null);
  await asking;
  assert.equal(session.chat.turns[0]!.state, "failed");
});

test("after its conversation was deleted, the next question starts a new one", async () => {
  const { server, session } = begin();
  server.history = { turns: [kept({})] };
  await session.open("c1");
  const asking = session.ask("What?");
  server.fail(Object.assign(new Error("There is no conversation c1; begin a new one."), { code: -32602 }));
  await asking;
  assert.match(session.chat.turns[1]!.error, /begin a new one/);
  void session.askAgain();
  assert.equal(server.asked[1]!.conversationId, undefined);
});

test("a forgotten conversation is not continued", async () => {
  const { server, session } = begin();
  server.history = { turns: [kept({})] };
  await session.open("c1");
  const asking = session.ask("/forget");
  server.answer(result({ conversationId: "" }));
  await asking;
  assert.equal(session.chat.conversationId, "");
});

test("stored turns are answered, stopped or failed", () => {
  const stopped = turnOf(kept({ answer: "Half\n\n(The answer was stopped here.)" }));
  assert.deepEqual([stopped.state, stopped.answer], ["stopped", "Half"]);
  assert.equal(turnOf(kept({ answer: null })).state, "failed");
  assert.deepEqual(turnOf(kept({ citations: [CITATION] })).citations, [CITATION]);
});

test("opening another conversation stops the streaming answer", async () => {
  const { server, session, events } = begin();
  void session.ask("What?");
  server.history = { turns: [kept({ question: "old" })] };
  await session.open("c2");
  assert.ok(server.signal.aborted);
  assert.deepEqual(session.chat.turns.map(({ question }) => question), ["old"]);
  assert.deepEqual(events.map(({ type }) => type), ["asked", "stopped", "opened"]);
});

test("whole sentences are announced, each once", () => {
  const sentences = new Sentences();
  assert.equal(sentences.next("It adds", false), "");
  assert.equal(sentences.next("It adds. See a.py:1", false), "It adds.");
  assert.equal(sentences.next("It adds. See a.py:1-2. And", false), "See a.py:1-2.");
  assert.equal(sentences.next("It adds. See a.py:1-2. And more", true), "And more");
  assert.equal(sentences.next("Anew", true), "Anew");
});

test("markup that becomes complete does not repeat earlier announcements", () => {
  const sentences = new Sentences();
  assert.equal(sentences.next("It adds.\n| a | b |\n|--", false), "It adds.\n| a | b |");
  assert.equal(sentences.next("It adds.\na\nb\nand", false), "a\nb");
  assert.equal(sentences.next("It adds.\na\nb\nand **mo", false), "");
  assert.equal(sentences.next("It adds.\na\nb\nand more", true), "and more");
});

test("quoted lines become fenced code, in any chunks", () => {
  const answer = "See a.py:4-5 `f`\n    4  def f():\n    5\n    reached by b.py\n\n```\n    7  mine\n```\nEnd\n    9  x";
  const expected =
    "See a.py:4-5 `f`\n\n```\n4  def f():\n5\n```\n\n    reached by b.py\n\n```\n    7  mine\n```\nEnd\n\n```\n9  x\n```\n";
  for (const size of [1, 2, 3, 7, answer.length]) {
    const fences = new ListingFences();
    let out = "";
    for (let at = 0; at < answer.length; at += size) out += fences.feed(answer.slice(at, at + size));
    assert.equal(out + fences.end(), expected);
  }
});

test("a fold is a heading in VS Code's chat, in any chunks", () => {
  const answer = "a.py:1-2\n\n<details><summary>2 more</summary>\n\n- b.py:1-2\n    1  x\n\n</details>\n\nEnd <b>";
  const expected = "a.py:1-2\n\n**2 more**\n\n- b.py:1-2\n\n```\n1  x\n```\n\n\n\n\nEnd <b>";
  for (const size of [1, 2, 3, 7, answer.length]) {
    const fences = new ListingFences();
    let out = "";
    for (let at = 0; at < answer.length; at += size) out += fences.feed(answer.slice(at, at + size));
    assert.equal(out + fences.end(), expected);
  }
});

test("text that is not a quoted line is passed on at once", () => {
  const fences = new ListingFences();
  assert.equal(fences.feed("It mul"), "It mul");
  assert.equal(fences.feed("tiplies"), "tiplies");
});
