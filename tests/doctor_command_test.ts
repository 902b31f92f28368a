import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { migrations } from "../src/store/migrations/migrations.ts";
import { stripVTControlCharacters } from "node:util";
import { memoryTerminal } from "./harness/memory_terminal.ts";
import { checkConnection } from "../src/cli/commands/doctor.ts";
import { bundledPrices } from "../src/pricing/catalog/bundled_prices.ts";
import { openTestBooks } from "./harness/test_books.ts";
import { createApp } from "../src/http/mod.ts";
import { newPlace, type Place, start } from "./harness/cli_process.ts";
import { inProcess as runPurser } from "./harness/in_process.ts";
import { leaveDelivery } from "./harness/deliveries.ts";

/** The version of a database that this program creates. */
const SCHEMA = migrations.at(-1)!.version;

/** The release's prices, as the doctor lists them. */
const { genai, litellm } = await bundledPrices();
const LISTED = [
  `${genai.source} of ${genai.date}, ${genai.providers.flatMap(({ models }) => models).length} models`,
  `${litellm.source} of ${litellm.date}, ${Object.keys(litellm.models).length} models`,
];

/** Removes the padding that is there for alignment only. */
const squeeze = (text: string) => text.replaceAll(/ {2,}/g, "  ");

/** Gives a core the doctor's channels: the API's checks, as the command line shows them. */
async function openBooks(problem?: string) {
  const books = await openTestBooks();
  const channel = {
    name: "ops",
    kind: "webhook",
    minSeverity: "info",
    check: () => Promise.resolve(problem),
    checkAddress: () => Promise.resolve(undefined),
  };
  Object.assign(books.core, { channels: { list: [channel], get: () => channel } });
  return books;
}

Deno.test("purser doctor prints a line for each check, without marks and colours off a terminal", async () => {
  await using books = await openBooks();
  assert.deepEqual(await books.purser("doctor"), {
    code: 0,
    out: `ok       connection          not needed: this process opens a database in memory
ok       config              no file: all settings have their defaults or come from the environment
ok       database            in memory, schema version ${SCHEMA}; all of it is gone when the process ends
ok       clock               this machine's own is the only one
ok       channel ops         webhook; its settings are right
ok       budgets             none yet; purser budgets add makes one
ok       alert rules         none yet; purser alerts add makes one
ok       models              no provider has a key
ok       prices              ${LISTED.join("; ")}
ok       prices of models    no calls in the last 30 days
ok       stated costs        no provider keeps stating others than are booked
ok       telemetry           no export of the last 7 days leaves out a call
ok       API keys            none yet, so a server answers this machine only
ok       waiting deliveries  none
ok       failed deliveries   none in the history that is kept

All checks passed
`,
    err: "",
  });
});

Deno.test("on a terminal there are marks, colours, and lines that fit", async () => {
  await using books = await openBooks(
    "url: must be \u001b[2J an http:// or https:// URL",
  );
  await leaveDelivery(books.core, "1", {
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
    `✓  connection          not needed: this process opens a database in
                       memory
✓  config              no file: all settings have their defaults or
                       come from the environment
✓  database            in memory, schema version ${SCHEMA}; all of it is gone
                       when the process ends
✓  clock               this machine's own is the only one
✗  channel ops         webhook: url: must be \\x1b[2J an http:// or
                       https:// URL
                       → Correct its settings and restart; then:
                         purser channels test ops
✓  budgets             none yet; purser budgets add makes one
✓  alert rules         none yet; purser alerts add makes one
✓  models              no provider has a key
✓  prices              ${LISTED.join(";\n                       ")}
✓  prices of models    no calls in the last 30 days
✓  stated costs        no provider keeps stating others than are
                       booked
✓  telemetry           no export of the last 7 days leaves out a call
✓  API keys            none yet, so a server answers this machine only
✓  waiting deliveries  none
!  failed deliveries   1 through ops, the last at
                       2026-11-21T09:30:00.000Z: no
                       → They are not retried; see purser alerts
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
  assert.equal(out, await (await (await createApp(books.core)).request("/doctor")).text() + "\n");
  const { out: shown } = await books.purser("doctor");
  assert.match(
    squeeze(shown),
    /^warning {2}models {2}no provider has a key; bot can't run on openai:gpt-5-mini: OPENAI_API/m,
  );
  assert.match(shown, /\n\n1 warning\n$/);

  await using broken = await openBooks("no");
  assert.deepEqual([(await broken.purser("doctor --json")).code, JSON.parse(out).length], [1, 14]);
});

/** Gives a machine a config file. */
async function configure({ folder }: Place, config: object): Promise<string> {
  await Deno.mkdir(`${folder}/purser`);
  await Deno.writeTextFile(`${folder}/purser/purser.json`, JSON.stringify(config));
  return `${folder}/purser/purser.json`;
}

Deno.test("purser doctor names the config file, and reports a database that can't be opened as a failed check", async () => {
  await using place = await newPlace();
  const path = await configure(place, { channels: [{ kind: "webhook" }] });
  await Deno.writeTextFile(place.env.PURSER_DB!, ""); // as an empty database
  const { code, out } = await runPurser(place, ["doctor"]);
  assert.equal(code, 1);
  assert.ok(out.includes(`\nok       config              ${path}\n`), out);
  assert.match(out, /^failed {3}channel webhook {5}webhook: url: /m);

  await Deno.writeTextFile(place.env.PURSER_DB!, "This is no database, whatever its name says.".repeat(100));
  const broken = await runPurser(place, ["doctor"]);
  assert.equal(broken.code, 1);
  assert.match(
    broken.out,
    /^failed {3}start-up {2}Cannot open database .*: the file is damaged or is not a database \(/m,
  );
  const away = await runPurser(place, ["doctor", "--server", "http://127.0.0.1:1"]);
  assert.equal(away.code, 1);
  assert.match(
    away.out,
    /^ok {7}config {2}\/.*purser\.json\nfailed {3}server {2}Cannot reach the server at 127/,
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
  `  mail (smtp): from_addr: is missing, and username isn't a mail address
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
  // Commands that end soon don't check channels: they have to be quick.
  assert.equal((await runPurser(place, ["agents", "list"])).err, "");
});

Deno.test("deno serve main.ts refuses in the same words, and releases the database", async () => {
  await using place = await newPlace();
  const path = await configure(place, WRONG);
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "serve",
      ...CLI_PERMISSIONS,
      "--quiet",
      "--port",
      "0",
      new URL("../main.ts", import.meta.url).pathname,
    ],
    clearEnv: true,
    env: { ...place.env, NO_COLOR: "1" },
    stdout: "null",
  }).output();
  assert.equal(code, 1);
  assert.equal(new TextDecoder().decode(stderr), refusal(path));
  const left = [...Deno.readDirSync(place.folder)].map(({ name }) => name).sort();
  assert.deepEqual(left, ["books.db", "purser"]);
});

Deno.test("purser serve starts with valid channels, and so does a command beside it, with its own config", async () => {
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
  assert.match(
    out,
    /^ok {7}connection {10}not needed: this process opens \S+\/books\.db; the default is \S+\/purser\/purser\.db$/m,
  );
  assert.match(out, /^ok {7}channel slack {7}slack; its settings are right$/m);
  child.kill("SIGTERM");
  reader.releaseLock();
  await child.stdout.cancel();
  assert.equal((await child.status).code, 0);
});

Deno.test("doctor and --help say where the default database is", async () => {
  await using place = await newPlace();
  const { PURSER_DB: _, ...env } = place.env;
  const { out } = await runPurser({ ...place, env }, ["doctor"]);
  const path = `${place.folder}/purser/purser.db`;
  assert.ok(
    out.startsWith(`ok       connection          not needed: this process opens ${path}, the default\n`),
    out,
  );
  const help = await runPurser(place, ["--help"]);
  assert.ok(
    help.out.replaceAll(/\s+/g, " ").includes(`a setting names another, the database is ${path}.`),
    help.out,
  );
});

Deno.test("a clock that differs from the server's is a warning with the difference", async () => {
  const asked = (date: string | null) => ({
    before: Date.parse("2026-11-21T09:30:10.000Z"),
    after: Date.parse("2026-11-21T09:30:11.000Z"),
    date,
  });
  const remote = { kind: "remote", where: "books.example.com" } as const;
  const config = { profile: "prod", server: "https://books.example.com", apiKey: "psr_secret" };
  const check = (date: string | null) => checkConnection({ config, env: {} }, remote, asked(date));
  assert.match(
    (await check("Sat, 21 Nov 2026 09:30:05 GMT")).detail,
    /^the server at books\.example\.com, from the profile prod; /,
  );
  assert.equal((await check("Sat, 21 Nov 2026 09:30:05 GMT")).status, "ok");
  for (const date of [null, "yesterday"]) assert.equal((await check(date)).status, "ok");
  const ahead = await check("Sat, 21 Nov 2026 09:29:00 GMT");
  assert.equal(ahead.status, "warning");
  assert.match(ahead.detail, /clock is 70 s ahead of the server's, up to 5 s is accepted$/);
  assert.match(ahead.advice!, /NTP/);
  assert.match((await check("Sat, 21 Nov 2026 09:32:00 GMT")).detail, /110 s behind/);
});

Deno.test("a key sent to another machine in plaintext is warned of, without the key", async () => {
  const check = (server: string, key: object = { apiKey: "psr_secret" }) =>
    checkConnection({ config: { server, ...key }, env: {} }, { kind: "remote", where: "there" }, {
      before: 0,
      after: 0,
      date: null,
    });
  for (const key of [{ apiKey: "psr_secret" }, { apiKeyFile: "/key" }]) {
    const { status, detail, advice } = await check("http://books.example.com", key);
    assert.equal(status, "warning");
    assert.match(detail, /is sent unencrypted/);
    assert.match(advice!, /TLS.*https/);
    assert.doesNotMatch(detail + advice, /psr_secret/);
  }
  for (
    const server of [
      "https://books.example.com",
      "http://127.0.0.1:8420",
      "http://[::1]:8420",
      "http://localhost",
    ]
  ) {
    assert.equal((await check(server)).status, "ok", server);
  }
  assert.equal((await check("http://books.example.com", {})).status, "ok");
});
