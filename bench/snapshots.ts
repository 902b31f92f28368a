/**
 * A session of 100,000 messages, 100 MB: exporting and importing its snapshot, beside the bare platform's work
 * for the same document: `JSON.stringify` of it, and `JSON.parse` with one row inserted per message.
 */
import { join } from "node:path";
import { openCore } from "../src/service/mod.ts";
import { exportSession, importSession } from "../src/snapshots/mod.ts";
import { ms, ratio, report, timeInTurn } from "./measure.ts";
import { openBare } from "./subjects/bare_database.ts";

const MESSAGES = Number(Deno.args[0] ?? 100_000);
const RUNS = 5;

const WORDS =
  "the budget of this run is spent before it ends, so the next call is not made and a “reason” is given"
    .split(" ");

/** About a thousand bytes each: questions, answers with a tool call, and its result. */
function makeMessages() {
  const text = (length: number, seed: number) => {
    let text = "";
    for (let i = seed; text.length < length; i++) {
      text += `${WORDS[(i * 7) % WORDS.length]}${i % 11 === 0 ? ".\n" : " "}`;
    }
    return text;
  };
  return Array.from({ length: MESSAGES }, (_, index) => {
    const common = { id: `msg_${index}`, created_at: new Date(1.7e12 + index * 1000).toISOString() };
    const toolCallId = `call_${Math.floor(index / 4)}`;
    switch (index % 4) {
      case 0:
        return { ...common, role: "user", content: text(960, index) };
      case 1:
        return {
          ...common,
          role: "assistant",
          content: [
            {
              type: "reasoning",
              text: text(300, index),
              providerOptions: { acme: { signature: "c2lnbmF0dXJl" } },
            },
            {
              type: "tool-call",
              toolCallId,
              toolName: "search",
              input: { query: text(300, index), limit: index, exact: false },
            },
          ],
        };
      case 2:
        return {
          ...common,
          role: "tool",
          content: [{
            type: "tool-result",
            toolCallId,
            toolName: "search",
            output: {
              type: "json",
              value: {
                hits: [{ title: text(200, index), score: index / 7 }, {
                  title: text(400, index),
                  score: 0.5,
                }],
              },
            },
          }],
        };
      default:
        return { ...common, role: "assistant", content: [{ type: "text", text: text(860, index) }] };
    }
  });
}

const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
const document = {
  schema_version: 1,
  agent_id: "agent",
  session_id: "ses",
  state: { messages: makeMessages(), status: "completed" },
  event_log_count: 0,
  tags: {},
  source_environment: "bench",
  exported_at: new Date().toISOString(),
};
const text = JSON.stringify(document);
const bytes = new TextEncoder().encode(text);
const open = (durability: "full" | "normal") =>
  openCore({
    config: {
      dbUrl: join(directory, `${durability}.db`),
      durability,
      remoteTimeoutMs: 1_000,
      maxBodyBytes: 1,
      environment: "bench",
    },
  });

async function* chunks() {
  for (let start = 0; start < bytes.length; start += 256 * 1024) {
    yield bytes.subarray(start, start + 256 * 1024);
  }
}

/** Inserts rows as a minimal program would: one transaction, one row a message. */
function insertBare(path: string): void {
  const connection = openBare(path, "full");
  connection.exec(
    "CREATE TABLE IF NOT EXISTS messages (session_id, position, message_id, created_at, content)",
  );
  const insert = connection.prepare("INSERT INTO messages VALUES (?, ?, ?, ?, ?)");
  const { session_id, state } = JSON.parse(text) as typeof document;
  connection.exec("BEGIN IMMEDIATE");
  state.messages.forEach((message, position) =>
    insert.run(session_id, position, message.id, Date.parse(message.created_at), JSON.stringify(message))
  );
  connection.exec("COMMIT");
  connection.close();
}

let fresh = 0;
const full = await open("full");
const normal = await open("normal");
const restore = async (core: typeof full) => {
  const id = `ses_${fresh++}`;
  const renamed = async function* () {
    // A session of its own each time: replaced rows would have to be swept too.
    let isFirst = true;
    for await (const chunk of chunks()) {
      yield isFirst
        ? new TextEncoder().encode(new TextDecoder().decode(chunk).replace('"ses"', `"${id}"`))
        : chunk;
      isFirst = false;
    }
  };
  await importSession(core, renamed());
  return id;
};
const sessionId = await restore(normal);
const exportAll = async (withFile: boolean) => {
  const taken = await exportSession(normal, { sessionId });
  using file = withFile ? await Deno.create(join(directory, "out.json")) : undefined;
  for await (const chunk of taken.write()) await file?.write(chunk);
};

const times = await timeInTurn({
  stringify: () => JSON.stringify(document).length,
  stringifyToFile: () => Deno.writeTextFile(join(directory, "bare.json"), JSON.stringify(document)),
  export: () => exportAll(false),
  exportToFile: () => exportAll(true),
  parseAndInsert: () => insertBare(join(directory, `bare_${fresh++}.db`)),
  importFull: () => restore(full),
  importNormal: () => restore(normal),
}, { runs: RUNS, warmUp: 1 });
await full.close();
await normal.close();
await Deno.remove(directory, { recursive: true });

report(`A session of ${MESSAGES} messages, ${(bytes.length / 1e6).toFixed(0)} MB (medians of ${RUNS})`, [
  ["JSON.stringify", ms(times.stringify)],
  ["export, streamed and hashed", `${ms(times.export)}  ${ratio(times.export, times.stringify)}`],
  ["JSON.stringify to a file", ms(times.stringifyToFile)],
  ["export to a file", `${ms(times.exportToFile)}  ${ratio(times.exportToFile, times.stringifyToFile)}`],
  ["JSON.parse and insert, one transaction, FULL", ms(times.parseAndInsert)],
  ["import, FULL", `${ms(times.importFull)}  ${ratio(times.importFull, times.parseAndInsert)}`],
  ["import, NORMAL", `${ms(times.importNormal)}  ${ratio(times.importNormal, times.parseAndInsert)}`],
]);
