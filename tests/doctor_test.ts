import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { memoryTerminal } from "../src/cli/_memory_terminal.ts";
import { openTestBooks } from "../src/cli/_test_books.ts";
import { createAlertEvaluator, createDispatcher } from "../src/alerts/mod.ts";
import type { ChannelInput } from "../src/mod.ts";
import { nameChannels } from "../src/config.ts";
import type { Core } from "../src/core.ts";
import { createApp } from "../src/http/mod.ts";
import { newPlace, type Place, purser as runPurser, start } from "./harness/cli_process.ts";
import { replaceChannels } from "./harness/fake_channels.ts";
import { recordingChannel } from "./harness/recording_channel.ts";
import { skipSqld, startSqld } from "./harness/sqld.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "./harness/test_purser.ts";

interface Check {
  name: string;
  status: "ok" | "warning" | "failed";
  detail: string;
  advice: string | null;
}

/** What the doctor of a Purser says of one thing. */
async function check(purser: TestPurser, name: string): Promise<Check> {
  const { status, body } = await purser.api("GET", "/doctor");
  assert.equal(status, 200);
  return body.find((each: Check) => each.name === name) ?? assert.fail(`no check of ${name}`);
}

/** The same without what is there for alignment only. */
const squeeze = (text: string) => text.replaceAll(/ {2,}/g, "  ");

const WELL = { status: "ok", advice: null };

Deno.test("a fresh Purser is well, and every check says what it found", async () => {
  await using purser = await openTestPurser({ env: {} });
  const { body } = await purser.api("GET", "/doctor");
  assert.deepEqual(body, [
    {
      name: "database",
      ...WELL,
      detail: "in memory, schema version 3; all of it is gone when the process ends",
    },
    { name: "channel log", ...WELL, detail: "log; its settings are right" },
    { name: "alert rules", ...WELL, detail: "none yet; purser alerts add makes one" },
    { name: "models", ...WELL, detail: "no provider has a key" },
    { name: "waiting deliveries", ...WELL, detail: "none" },
    { name: "failed deliveries", ...WELL, detail: "none in the history that is kept" },
  ]);
  assert.deepEqual(purser.logs, []);
});

for (
  const [durability, detail] of [
    ["full", "local file, schema version 3, durability full: every commit is on the disk"],
    ["normal", "local file, schema version 3, durability normal: a power cut may lose the last commits"],
  ] as const
) {
  Deno.test(`the durability that a file has is told: ${durability}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      await using purser = await openTestPurser({ config: { dbUrl: `${folder}/purser.db`, durability } });
      assert.deepEqual(await check(purser, "database"), { name: "database", ...WELL, detail });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("a database that can't be used fails, with all that needs it, and the answer is still 200", async () => {
  const purser = await openTestPurser();
  await purser.core.close();
  const { status, body } = await purser.api("GET", "/doctor");
  assert.equal(status, 200);
  const [database, log, ...others] = body as [Check, Check, ...Check[]];
  assert.equal(database.status, "failed");
  assert.match(database.detail, /^Cannot /);
  assert.equal(log.status, "ok");
  assert.equal(others.length, 4);
  for (const other of others) {
    assert.deepEqual([other.status, other.detail], [
      "failed",
      "not checked, since the database can't be used",
    ]);
  }
});

Deno.test("a check that breaks says so, and only the log says how", async () => {
  await using purser = await openTestPurser();
  purser.core.store.readAll = () => Promise.reject(new TypeError("the secret of the disk"));
  const { body } = await purser.api("GET", "/doctor");
  assert.deepEqual(body.at(-1), {
    name: "failed deliveries",
    status: "failed",
    detail: "it could not be checked",
    advice: "The log tells why",
  });
  assert.doesNotMatch(JSON.stringify(body), /secret/);
  assert.equal(purser.logs.at(-1)!.fields.reason, "the secret of the disk");
});

const SECRETS = ["hunter2", "s3cr3t", "T0/B0/abc"];
const CHANNELS = nameChannels([
  { kind: "webhook", name: "ops", url: "ftp://example.com/s3cr3t", secret: "hunter2" } as ChannelInput,
  {
    kind: "slack",
    url: "https://hooks.slack.com/services/T0/B0/abc",
    min_severity: "critical",
  } as ChannelInput,
  { kind: "sms", name: "phone" },
]);

Deno.test("each channel's settings are checked, and no secret is told", async () => {
  await using purser = await openTestPurser({ config: { channels: CHANNELS } });
  assert.deepEqual(await check(purser, "channel slack"), {
    name: "channel slack",
    ...WELL,
    detail: "slack, from critical on; its settings are right",
  });
  const ops = await check(purser, "channel ops");
  assert.equal(ops.status, "failed");
  assert.match(ops.detail, /^webhook: url: must be an http:\/\/ or https:\/\/ URL.*; secret: must be whsec_/);
  assert.equal(ops.advice, "Correct its settings and start again; then: purser channels test ops");
  assert.match((await check(purser, "channel phone")).detail, /^sms: There is no channel kind sms /);
  const text = JSON.stringify((await purser.api("GET", "/doctor")).body);
  for (const secret of SECRETS) assert.ok(!text.includes(secret), secret);
});

/** A Purser whose rules reach channels of the test. */
function withChannels(
  channels: Parameters<typeof createDispatcher>[0],
  options: TestOptions = {},
): Promise<TestPurser> {
  const alerts = createAlertEvaluator({ rules: [], dispatcher: createDispatcher(channels) });
  return openTestPurser({ alerts, ...options });
}

const addRule = (purser: TestPurser, severity: string, enabled = true) =>
  purser.api("POST", "/alerts/rules", {
    name: "a rule",
    threshold_type: "per_day_usd",
    threshold_usd: 1,
    severity,
    enabled,
  });

Deno.test("alert rules are counted, and those that reach nobody but the log are a warning", async () => {
  await using purser = await withChannels([recordingChannel("ops", { minSeverity: "warning" })]);
  await addRule(purser, "critical");
  await addRule(purser, "warning");
  await addRule(purser, "info", false);
  assert.deepEqual(await check(purser, "alert rules"), {
    name: "alert rules",
    ...WELL,
    detail: "2 enabled, 1 disabled",
  });
  await addRule(purser, "info");
  assert.deepEqual(await check(purser, "alert rules"), {
    name: "alert rules",
    status: "warning",
    detail: "3 enabled, 1 disabled; 1 of the enabled ones reach nobody but the log",
    advice: "Lower the min_severity of a channel",
  });

  await using alone = await openTestPurser();
  await addRule(alone, "critical");
  assert.deepEqual(await check(alone, "alert rules"), {
    name: "alert rules",
    status: "warning",
    detail: "1 enabled, 0 disabled; all of the enabled ones reach nobody but the log",
    advice: "Name a channel in the config file",
  });
});

Deno.test("providers that have a key are named, and no key is", async () => {
  await using purser = await openTestPurser({
    env: { OPENAI_API_KEY: "sk-hunter2", GOOGLE_GENERATIVE_AI_API_KEY: "hunter2" },
    config: { providers: { local: { baseUrl: "http://127.0.0.1:1/v1", apiKey: "hunter2" } } },
  });
  await purser.api("PUT", "/agents/bot", { model: "openai:gpt-5-mini" });
  assert.deepEqual(await check(purser, "models"), {
    name: "models",
    ...WELL,
    detail: "set up: openai, google, local",
  });
});

Deno.test("agents that can't run for want of a key are named, and so are keys that are none", async () => {
  await using purser = await openTestPurser({ env: { OPENAI_API_KEY: "hunter2 hunter2" } });
  for (const name of ["a", "b", "c", "d"]) {
    await purser.api("PUT", `/agents/${name}`, { model: "anthropic:claude-sonnet-4-5" });
  }
  assert.deepEqual(await check(purser, "models"), {
    name: "models",
    status: "warning",
    detail: "no provider has a key; openai: OPENAI_API_KEY holds blanks or characters that no key has; " +
      "a, b, c and 1 more can't run on anthropic:claude-sonnet-4-5: ANTHROPIC_API_KEY is not set",
    advice: "Set what is missing in the environment of Purser, and start again",
  });
});

/** Puts a row into the outbox, as if a process had left it there. */
async function leave(core: Core, id: string, row: Record<string, string | number>): Promise<void> {
  const now = core.clock.now();
  const full: Record<string, string | number> = {
    delivery_id: `dlv_${id}`,
    subject_id: `alert_${id}`,
    channel: "ops",
    kind: "custom",
    due_at: now,
    created_at: now,
    ...row,
  };
  const names = Object.keys(full);
  await core.store.write([{
    sql: `INSERT INTO deliveries (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    args: Object.values(full),
  }]);
}

const MINUTE = 60_000;
const DAY = 86_400_000;

Deno.test("deliveries that wait, but not for too long, are well", async () => {
  await using purser = await withChannels([recordingChannel("ops")]);
  const now = purser.clock.now();
  await leave(purser.core, "1", { due_at: now + DAY });
  await leave(purser.core, "2", { due_at: now - 10 * MINUTE + 1 });
  assert.deepEqual(await check(purser, "waiting deliveries"), {
    name: "waiting deliveries",
    ...WELL,
    detail: "2, none of them late",
  });
});

Deno.test("a delivery that was due ten minutes ago and that nobody is at fails the check", async () => {
  await using purser = await withChannels([recordingChannel("ops"), recordingChannel("mail")]);
  const now = purser.clock.now();
  await leave(purser.core, "1", { due_at: now - 10 * MINUTE });
  await leave(purser.core, "2", { due_at: now - DAY, lease_until: now, leased_by: "dead" });
  await leave(purser.core, "3", { channel: "mail", due_at: now });
  assert.deepEqual(await check(purser, "waiting deliveries"), {
    name: "waiting deliveries",
    status: "failed",
    detail: "2 for ops, due since 2026-10-31T12:00:00.000Z",
    advice: "Nobody is at them: look into the log, and start the process again that delivers",
  });
});

Deno.test("late deliveries of a channel that is being worked off are a warning", async () => {
  await using purser = await withChannels([recordingChannel("ops")]);
  const now = purser.clock.now();
  await leave(purser.core, "1", { due_at: now - DAY, lease_until: now + MINUTE, leased_by: "alive" });
  assert.equal((await check(purser, "waiting deliveries")).status, "ok");
  await leave(purser.core, "2", { due_at: now - DAY });
  const { status, detail } = await check(purser, "waiting deliveries");
  assert.deepEqual([status, detail], ["warning", "1 for ops, due since 2026-10-31T12:00:00.000Z"]);
});

Deno.test("deliveries for a channel that the config doesn't name are a warning that names it", async () => {
  await using purser = await openTestPurser();
  await leave(purser.core, "1", { channel: "pager" });
  await leave(purser.core, "2", { channel: "pager", due_at: purser.clock.now() - DAY });
  assert.deepEqual(await check(purser, "waiting deliveries"), {
    name: "waiting deliveries",
    status: "warning",
    detail: "2 for pager, which the config doesn't name",
    advice: "Name the channel in the config again, and they are delivered; unless another instance has it",
  });
});

Deno.test("deliveries that were given up are a warning for seven days, with the newest reason of each channel", async () => {
  await using purser = await withChannels([recordingChannel("ops")]);
  const now = purser.clock.now();
  const failed = { status: "failed", attempts: 8 };
  await leave(purser.core, "1", { ...failed, settled_at: now - DAY, last_error: "HTTP 503" });
  await leave(purser.core, "2", { ...failed, settled_at: now - 2 * DAY, last_error: "HTTP 500" });
  await leave(purser.core, "3", { ...failed, channel: "mail", settled_at: now - 3 * DAY, last_error: "no" });
  assert.deepEqual(await check(purser, "failed deliveries"), {
    name: "failed deliveries",
    status: "warning",
    detail: "2 through ops, the last at 2026-10-31T12:00:00.000Z: HTTP 503; " +
      "1 through mail, the last at 2026-10-29T12:00:00.000Z: no",
    advice: "They are not tried again; see purser alerts history, and try purser channels test ops",
  });
  purser.clock.advance(6 * DAY);
  const later = await check(purser, "failed deliveries");
  assert.deepEqual([later.status, later.advice], ["ok", null]);
  assert.match(later.detail, /^none in the last 7 days; before that 2 through ops/);
});

Deno.test("a test that failed is no delivery that was given up", async () => {
  await using purser = await openTestPurser();
  const { body: rule } = await addRule(purser, "info");
  replaceChannels(purser.core, { log: "ok", ops: { reason: "HTTP 403" } });
  assert.equal((await purser.api("POST", `/alerts/rules/${rule.rule_id}/test`)).status, 207);
  assert.equal((await check(purser, "failed deliveries")).detail, "none in the history that is kept");
  assert.equal((await check(purser, "waiting deliveries")).detail, "none");
});

Deno.test({
  name: "on a libSQL server, leases are judged by the server's time, whatever this machine's clock says",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld();
    const { url, fetch } = await sqld.createDatabase();
    await using purser = await withChannels([recordingChannel("ops")], { config: { dbUrl: url }, fetch });
    const due = { due_at: purser.clock.now() - DAY };
    await leave(purser.core, "1", { ...due, lease_until: Date.now() + MINUTE, leased_by: "alive" });
    assert.equal((await check(purser, "waiting deliveries")).status, "ok");
    assert.match((await check(purser, "database")).detail, /^libSQL server, schema version 3; how durable/);
    await purser.core.store.write([{ sql: "UPDATE deliveries SET lease_until = ?", args: [Date.now() - 1] }]);
    assert.equal((await check(purser, "waiting deliveries")).status, "failed");
  },
});

/** The doctor's channels in place of a core's own: the API's checks, as the command line shows them. */
async function openBooks(problem?: string) {
  const books = await openTestBooks();
  const channel = {
    name: "ops",
    kind: "webhook",
    minSeverity: "info",
    check: () => Promise.resolve(problem),
  };
  Object.assign(books.core, { channels: { list: [channel], get: () => channel } });
  return books;
}

Deno.test("purser doctor prints a line for each check, in words where nobody looks on", async () => {
  await using books = await openBooks();
  assert.deepEqual(await books.purser("doctor"), {
    code: 0,
    out: `ok       config              no file: all settings have their defaults or come from the environment
ok       database            in memory, schema version 3; all of it is gone when the process ends
ok       channel ops         webhook; its settings are right
ok       alert rules         none yet; purser alerts add makes one
ok       models              no provider has a key
ok       waiting deliveries  none
ok       failed deliveries   none in the history that is kept

All is well
`,
    err: "",
  });
});

Deno.test("on a terminal there are marks, colours, and lines that fit", async () => {
  await using books = await openBooks(
    "url: must be \u001b[2J an http:// or https:// URL",
  );
  await leave(books.core, "1", {
    channel: "ops",
    status: "failed",
    settled_at: books.clock.now(),
    last_error: "no",
  });
  const terminal = memoryTerminal({ columns: 70, hasColour: true });
  const { code, out } = await books.purser("doctor", { terminal });
  assert.equal(code, 1);
  const plain = stripVTControlCharacters(out);
  assert.equal(
    plain,
    `✓  config              no file: all settings have their defaults or
                       come from the environment
✓  database            in memory, schema version 3; all of it is gone
                       when the process ends
✗  channel ops         webhook: url: must be \\x1b[2J an http:// or
                       https:// URL
                       → Correct its settings and start again; then:
                         purser channels test ops
✓  alert rules         none yet; purser alerts add makes one
✓  models              no provider has a key
✓  waiting deliveries  none
!  failed deliveries   1 through ops, the last at
                       2026-11-21T09:30:00.000Z: no
                       → They are not tried again; see purser alerts
                         history, and try purser channels test ops

1 check failed, 1 warning
`,
  );
  assert.ok(out.includes("\x1b[31m✗\x1b[39m  \x1b[1mchannel ops\x1b[22m  "), out);

  const ascii = memoryTerminal({ columns: 70, hasUnicode: false });
  const { out: words } = await books.purser("doctor", { terminal: ascii });
  assert.match(squeeze(words), /^failed {2}channel ops {2}webhook/m);
  const narrow = memoryTerminal({ columns: 10 });
  assert.equal((await books.purser("doctor", { terminal: narrow })).code, 1);
});

Deno.test("warnings alone are exit code 0, and --json prints the API's body", async () => {
  await using books = await openBooks();
  await books.purser("agents set bot --model openai:gpt-5-mini");
  const { code, out, err } = await books.purser("doctor --json");
  assert.deepEqual([code, err], [0, ""]);
  assert.equal(out, await (await createApp(books.core).request("/doctor")).text() + "\n");
  const { out: shown } = await books.purser("doctor");
  assert.match(
    squeeze(shown),
    /^warning {2}models {2}no provider has a key; bot can't run on openai:gpt-5-mini: OPENAI_API/m,
  );
  assert.match(shown, /\n\n1 warning\n$/);

  await using broken = await openBooks("no");
  assert.deepEqual([(await broken.purser("doctor --json")).code, JSON.parse(out).length], [1, 6]);
});

/** Gives a machine a config file. */
async function configure({ folder }: Place, config: object): Promise<string> {
  await Deno.mkdir(`${folder}/purser`);
  await Deno.writeTextFile(`${folder}/purser/purser.json`, JSON.stringify(config));
  return `${folder}/purser/purser.json`;
}

Deno.test("purser doctor names the config file, and tells what can't be opened as a failed check", async () => {
  await using place = await newPlace();
  const path = await configure(place, { channels: [{ kind: "webhook" }] });
  const { code, out } = await runPurser(place, ["doctor"]);
  assert.equal(code, 1);
  assert.ok(out.startsWith(`ok       config              ${path}\n`), out);
  assert.match(out, /^failed {3}channel webhook {5}webhook: url: /m);

  await Deno.writeTextFile(place.env.PURSER_DB!, "This is no database, whatever its name says.".repeat(100));
  const broken = await runPurser(place, ["doctor"]);
  assert.equal(broken.code, 1);
  assert.match(broken.out, /^failed {3}start-up {2}Cannot use database .*: it is damaged or no database$/m);
  const away = await runPurser(place, ["doctor", "--server", "http://127.0.0.1:1"]);
  assert.equal(away.code, 1);
  assert.match(
    away.out,
    /^ok {7}config {2}the server's own.*\nfailed {3}server {2}Cannot reach the server at 127/,
  );
  assert.match(
    (await runPurser(place, ["doctor", "--server", "http://127.0.0.1:1", "--json"])).err,
    /^\{"type"/,
  );
});

const WRONG = {
  channels: [
    { kind: "webhook", name: "ops", url: "ftp://example.com/s3cr3t", secret: "hunter2" },
    { kind: "slack", url: "https://hooks.slack.com/services/T0/B0/abc" },
    { kind: "smtp", name: "mail", host: "mail.example.com", to_addrs: "ops@example.com" },
  ],
};

const refusal = (path: string) =>
  `error: Cannot start: alerts can't be delivered through 2 channels
  ops (webhook): url: must be an http:// or https:// URL without user and password; secret: must be whsec_ and ` +
  'the base64 of 24 to 64 random bytes, as `echo "whsec_$(openssl rand -base64 32)"` makes one\n' +
  `  mail (smtp): from_addr: is missing, and username is no mail address
Correct each in ${path} or take it out; purser doctor checks them without serving
`;

Deno.test("purser serve refuses to start with channels that can't deliver, and names each", async () => {
  await using place = await newPlace();
  const path = await configure(place, WRONG);
  const { code, out, err } = await runPurser(place, ["serve", "--port", "0"]);
  assert.deepEqual({ code, out, err }, { code: 1, out: "", err: refusal(path) });
  const problem = JSON.parse((await runPurser(place, ["serve", "--port", "0", "--json"])).err);
  assert.equal(problem.code, "invalid");
  assert.deepEqual(problem.details.channels.map(({ name }: { name: string }) => name), ["ops", "mail"]);
  // Commands that end soon don't look: what they do has to be quick.
  assert.equal((await runPurser(place, ["agents", "list"])).err, "");
});

Deno.test("deno serve main.ts refuses in the same words, and leaves the database to others", async () => {
  await using place = await newPlace();
  const path = await configure(place, WRONG);
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["serve", "-A", "--quiet", "--port", "0", new URL("../main.ts", import.meta.url).pathname],
    clearEnv: true,
    env: { ...place.env, NO_COLOR: "1" },
    stdout: "null",
  }).output();
  assert.equal(code, 1);
  assert.equal(new TextDecoder().decode(stderr), refusal(path));
  const left = [...Deno.readDirSync(place.folder)].map(({ name }) => name).sort();
  assert.deepEqual(left, ["books.db", "purser"]);
});

Deno.test("purser serve starts when every channel is right, and a command beside it says whose config holds", async () => {
  await using place = await newPlace();
  await configure(place, { channels: [WRONG.channels[1]] });
  const child = start(place, ["serve", "--port", "0"]);
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!said.includes("answers at")) {
    const { done, value } = await reader.read();
    assert.ok(!done, said);
    said += value;
  }
  const { code, out } = await runPurser(place, ["doctor"]);
  assert.equal(code, 0, out);
  assert.match(out, /^ok {7}config {14}that of the process that owns the database/);
  assert.match(out, /^ok {7}channel slack {7}slack; its settings are right$/m);
  child.kill("SIGTERM");
  reader.releaseLock();
  await child.stdout.cancel();
  assert.equal((await child.status).code, 0);
});
