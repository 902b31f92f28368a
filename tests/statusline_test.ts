import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { newPlace, type Place, start, startServer } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";

/** The status line, as Claude Code runs it: a process with JSON on standard input, and one line on standard output. */

const FIXTURES = new URL("fixtures/", import.meta.url).pathname;
/** A session with sub-agents, whose calls are in files of their own. */
const LOG = {
  folder: "03-subagents/.claude/projects/-home-dev-project",
  session: "2b7756d5-4e31-41f5-9b31-2702630b9d8a",
};
const recorded = (name: string) => Deno.readTextFile(`${FIXTURES}statusline/${name}-statusLine.json`);

/** Prints the line; it never fails, and says nothing else. */
async function line(place: Place, json: unknown, ...args: string[]): Promise<string> {
  const input = typeof json === "string" ? json : JSON.stringify(json);
  const { code, out, err } = await purser(place, ["statusline", ...args], input);
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /^[^\n]+\n$/);
  return out.trimEnd();
}

async function spend(place: Place, session: string): Promise<void> {
  await purser(place, ["agents", "set", "helper", "--model", "demo:echo"]);
  assert.equal((await purser(place, ["run", "helper", "hello", "--session", session])).code, 0);
}

async function costOf(place: Place, ...args: string[]): Promise<number> {
  const { out } = await purser(place, ["cost", "--json", ...args]);
  return (JSON.parse(out) as { cost_usd: number }[]).reduce((sum, { cost_usd }) => sum + cost_usd, 0);
}

Deno.test("the line has the figures of the ledger: the session's, today's and the tightest budget's", async () => {
  await using place = await newPlace();
  await spend(place, "one");
  await spend(place, "two");
  for (const [name, ...more] of [["Month", "--per", "month"], ["Day", "--per", "day"]] as const) {
    await purser(place, ["budgets", "add", "--name", name, "--limit", name === "Day" ? "2" : "50", ...more]);
  }
  const [session, today] = [await costOf(place, "--session", "one"), await costOf(place)];
  assert.ok(session > 0 && today > session);
  assert.equal(
    await line(place, { session_id: "one" }),
    `$${session} · $${today} today · $2.00 left of Day`,
  );
  assert.equal(
    await line(place, { session_id: "new" }, "--template", "{session} of {today}"),
    `$0 of $${today}`,
  );
});

Deno.test("today is of the time zone of the config", async () => {
  await using place = await newPlace();
  const at = new Date(Date.now() - 13 * 3_600_000);
  const call = { provider: "openai", model: "gpt-6-luna", agent_id: "a", call_id: "c", cost_usd: 3 };
  const body = JSON.stringify({ ...call, at: at.toISOString(), input_tokens: 1, output_tokens: 1 });
  assert.equal((await purser(place, ["report", "-"], body)).code, 0);
  // A zone in which it is eight o'clock in the evening, and one in which it is three in the morning.
  const zoneAt = (hour: number) => {
    const ahead = (hour - new Date().getUTCHours() + 36) % 24 - 12;
    return `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`;
  };
  const today = (zone: string) => {
    place.env.PURSER_TIME_ZONE = zone;
    return line(place, "{}", "--template", "{today}");
  };
  assert.deepEqual([await today(zoneAt(20)), await today(zoneAt(3))], ["$3.00", "$0"]);
  assert.match(await today("Europe/Berlinn"), /did you mean Europe\/Berlin\?/);
});

Deno.test("the line of recorded input has its model and project", async () => {
  await using place = await newPlace();
  await spend(place, "one");
  for (const name of ["001", "008", "020"]) {
    const template = "{model} in {project} · {session} · {budget}";
    assert.equal(await line(place, await recorded(name), "--template", template), "Sonnet 5 in project · $0");
  }
});

Deno.test("the windows of a plan are shown with their pace, and recorded with the log in the background", async () => {
  await using place = await newPlace();
  const log = `${FIXTURES}logs/claude-code/${LOG.folder}/${LOG.session}.jsonl`;
  const inHours = (hours: number) => Math.round(Date.now() / 1_000 + hours * 3_600);
  const input = {
    session_id: LOG.session,
    transcript_path: log,
    rate_limits: {
      five_hour: { used_percentage: 42.4, resets_at: inHours(2.5) },
      seven_day: { used_percentage: 12, resets_at: inHours(84) },
      seven_day_opus: { used_percentage: 3, resets_at: inHours(-1) },
    },
  };
  await spend(place, "one");
  const windows = "5h 42% (pace 0.8), 7d 12% (pace 0.2)";
  assert.equal(await line(place, input, "--template", "{plan}"), windows);
  assert.match(await line(place, input), new RegExp(`today · ${RegExp.escape(windows)}$`));
  assert.equal((await purser(place, ["statusline", `--refresh=${log}`])).code, 0);
  const plans = JSON.parse((await purser(place, ["plans", "--json"])).out) as Record<string, unknown>[];
  assert.deepEqual(
    plans.map(({ agent_id, source, window, used_pct }) => [agent_id, source, window, used_pct]).sort(),
    [["claude-code", "statusline", "five_hour", 42.4], ["claude-code", "statusline", "seven_day", 12]],
  );
});

Deno.test("whatever the input is, there is one line of what is known", async () => {
  await using place = await newPlace();
  assert.equal(await line(place, { session_id: "one" }), "purser: no calls yet");
  await spend(place, "one");
  for (const input of ["", "no JSON", '{"session_id":"one"', "[]", "null", '{"session_id":7}', "\0\xff"]) {
    assert.match(await line(place, input), /^\$0\.\d+ today$/, input);
  }
  for (const args of [["--config", "/nowhere.json"], ["--profile", "none"], ["--db", "ws://x"]]) {
    assert.match(await line(place, "{}", ...args), /^purser: Cannot /);
  }
});

Deno.test("input that isn't closed holds nothing up", async () => {
  await using place = await newPlace();
  await spend(place, "one");
  for (const input of ['{"session_id":"one"}', '{"session_id":', ""]) {
    const child = start(place, ["statusline"], "piped");
    const writer = child.stdin.getWriter();
    if (input !== "") await writer.write(new TextEncoder().encode(input));
    const { code, stdout } = await child.output();
    assert.equal(code, 0);
    assert.match(new TextDecoder().decode(stdout), /^\$0\.\d+ /);
    await writer.close().catch(() => {});
  }
});

Deno.test("while the database is locked, the line has the last figures and their age", async () => {
  await using place = await newPlace();
  await spend(place, "one");
  const lock = new DatabaseSync(place.env.PURSER_DB!);
  const fresh = await line(place, { session_id: "one" });
  lock.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
  assert.match(await line(place, { session_id: "one" }), new RegExp(`^${RegExp.escape(fresh)} · \\d s ago$`));
  assert.equal(await line(place, { session_id: "two" }), "purser: another process has locked the database");
  lock.exec("ROLLBACK");
  lock.close();
});

Deno.test("a name that is none stays in the line, and is an error of the check", async () => {
  await using place = await newPlace();
  await spend(place, "one");
  await Deno.mkdir(`${place.folder}/purser`);
  const file = `${place.folder}/purser/purser.json`;
  await Deno.writeTextFile(file, '{ "statusline_template": "{sesion} · {today}" /* a comment */ }');
  assert.match(await line(place, { session_id: "one" }), /^\{sesion\} · \$0/);
  const { code, err } = await purser(place, ["statusline", "--check"]);
  assert.equal(code, 2);
  assert.match(err, /Cannot use the template: \{sesion\} is none of its names; did you mean \{session\}\?/);
  await Deno.writeTextFile(file, '{ "statusline_template": "{session} of {today}", "port": "x" }');
  assert.match(await line(place, { session_id: "one" }), /^\$0\.\d+ of \$0/);
  assert.match((await purser(place, ["statusline", "--check"])).err, /port/);
});

Deno.test("the session of a log is imported by the work in the background, and its figures are the ledger's", async () => {
  await using place = await newPlace();
  const folder = `${FIXTURES}logs/claude-code/${LOG.folder}`;
  const log = `${folder}/${LOG.session}.jsonl`;
  const { code, out } = await purser(place, ["statusline", `--refresh=${log}`]);
  assert.deepEqual([code, out], [0, ""]);
  const cost = await costOf(place, "--session", LOG.session);
  assert.ok(cost > 0);
  const shown = await line(
    place,
    { session_id: LOG.session, transcript_path: log },
    "--template",
    "{session}",
  );
  assert.equal(Number(shown.slice(1)), Number(cost.toFixed(4)));
});

Deno.test("through a server the figures are its own; once it is gone or slow, the last ones with their age", async () => {
  await using place = await newPlace();
  await spend(place, "one");
  await purser(place, ["budgets", "add", "--name", "Day", "--limit", "2", "--per", "day"]);
  const local = await line(place, { session_id: "one" });
  place.env.PURSER_TIME_ZONE = "Asia/Tokyo";
  const server = await startServer(place);
  delete place.env.PURSER_TIME_ZONE;
  const at = ["--server", server.url];
  // So are the days of purser cost.
  assert.match((await purser(place, ["cost", "--by", "day", ...at])).out, /^DAY \(Asia\/Tokyo\)/);
  assert.match((await purser(place, ["cost", ...at])).out, /^SPENDING \(Asia\/Tokyo\)/);
  assert.match((await purser(place, ["cost", "--total", "--tz", "UTC", ...at])).out, / 00:00 UTC\n/);
  assert.equal((await purser(place, ["statusline", "--refresh=/nowhere/one.jsonl", ...at])).code, 0);
  // A machine that is busy takes longer to answer than a line waits.
  const old = new RegExp(`^${RegExp.escape(local)} · \\d+ s ago$`);
  const remote = await line(place, { session_id: "one" }, ...at);
  assert.ok(remote === local || old.test(remote), remote);
  await server[Symbol.asyncDispose]();
  assert.match(await line(place, { session_id: "one" }, ...at), old);
  const silent = createServer(() => {}).listen(Number(new URL(server.url).port), "127.0.0.1");
  await once(silent, "listening");
  assert.match(await line(place, { session_id: "one" }, ...at), old);
  const other = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  assert.match(await line(place, { session_id: "two" }, "--server", other), /^purser: no answer from 127/);
  silent.close();
});

Deno.test("install sets the line in Claude Code's settings and keeps the rest; uninstall removes it", async () => {
  await using place = await newPlace();
  place.env.HOME = place.folder;
  const path = `${place.folder}/.claude/settings.json`;
  const refused = await purser(place, ["statusline", "install"]);
  assert.match(refused.err, /add --yes/);
  const set = await purser(place, ["statusline", "install", "--yes"]);
  assert.equal(set.code, 0, set.err);
  assert.match(set.err, /^\+ +"statusLine": \{$/m);
  const { statusLine } = JSON.parse(await Deno.readTextFile(path));
  assert.deepEqual([statusLine.type, statusLine.refreshInterval], ["command", 5]);
  // The command works as it is written, whatever the shell's variables are.
  assert.match(statusLine.command, / statusline --db \S+$/);
  const before = '{\n  // mine\n  "theme": "dark" // yes\n}\n';
  await Deno.writeTextFile(path, before);
  assert.equal((await purser(place, ["statusline", "install", "--yes"])).code, 0);
  assert.match((await purser(place, ["statusline", "install", "--yes"])).out, /is set already/);
  assert.equal((await purser(place, ["statusline", "uninstall", "--yes"])).code, 0);
  assert.equal(await Deno.readTextFile(path), before);
  assert.match((await purser(place, ["statusline", "uninstall", "--yes"])).out, /is not set/);
  const other = '{ "statusLine": { "type": "command", "command": "ccusage statusline" } }';
  for (const text of [other, other.replace("ccusage statusline", "mine.sh"), "{ broken"]) {
    await Deno.writeTextFile(path, text);
    assert.equal((await purser(place, ["statusline", "install", "--yes"])).code, 1);
    assert.equal(await Deno.readTextFile(path), text);
  }
});
