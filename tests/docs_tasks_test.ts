import assert from "node:assert/strict";
import { focusColumns } from "../src/bills/exports/focus/focus_columns.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { createIds } from "../src/kernel/ids.ts";
import { answerTo } from "./harness/answers.ts";
import { recordCalls } from "../src/ledger/mod.ts";
import { until } from "./harness/deliveries.ts";
import { blocks, readDocument, words } from "./harness/documents.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { openHttpClient } from "./harness/http_client.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { inProcess } from "./harness/in_process.ts";
import { postgresMissing, sharedPostgres, skipPostgres } from "./harness/postgres.ts";
import { modelCall } from "./harness/model_calls.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** The pages for one task each: all their commands run as they are written, in the order of the page. */

const FIXTURES = new URL("./fixtures/logs/", import.meta.url).pathname;

/** Runs a command line in a home folder, in which its files are; returns what it prints. */
async function run(line: string, home: string, variables: Record<string, string> = {}): Promise<string> {
  const env = {
    ...Deno.env.toObject(),
    ...variables,
    HOME: home,
    XDG_CONFIG_HOME: `${home}/config`,
    XDG_DATA_HOME: home,
    PURSER_API_KEY: "",
  };
  const [program, ...args] = words(line.replaceAll(/\b[\w-]+\.(?:key|db)\b/g, `${home}/$&`));
  assert.equal(program, "purser");
  const { code, out, err } = await inProcess({ env }, args);
  assert.equal(code, 0, `${line}\n${out}${err}`);
  return out + err;
}

/** Runs the commands below a heading of a page; returns what they print. */
async function runSection(page: string, heading: string, home: string): Promise<string> {
  let printed = "";
  const lines = blocks(await readDocument(`docs/${page}`), "sh", heading).join("").trim().split("\n");
  for (const line of lines) printed += await run(line, home);
  return printed;
}

/** Returns the headings of a page that have commands to run. */
async function sectionsOf(page: string): Promise<string[]> {
  const text = await readDocument(`docs/${page}`);
  return [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading!)
    .filter((heading) => blocks(text, "sh", heading).length > 0);
}

/** Runs all commands of a page; returns what each section prints. */
async function runPage(page: string, home: string): Promise<Record<string, string>> {
  const printed: Record<string, string> = {};
  for (const heading of await sectionsOf(page)) printed[heading] = await runSection(page, heading, home);
  return printed;
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(`${from}/${name}`, `${to}/${name}`);
    else await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

Deno.test("docs/laptop.md: logs are imported, a plan pays for one agent, and the status line and a gate are set", () =>
  inDirectory(async (home) => {
    for (const logs of ["claude-code/03-subagents", "codex/01-single"]) {
      await copyFolder(FIXTURES + logs, home);
    }
    const printed = await runPage("laptop.md", home);
    assert.match(printed["What they have cost"]!, /^Claude Code +16 +\$0\.428476$/m);
    assert.match(printed["What they have cost"]!, /^codex +openai:gpt-5\.5 /m);
    assert.match(printed["A subscription pays"]!, /^Claude Code +0 +-\$0\.428476 +\$0\.428476 +16 +16$/m);
    assert.match(printed["A limit"]!, /^Day +\$20 .* ok /m);
    const settings = await Deno.readTextFile(`${home}/.claude/settings.json`);
    assert.match(settings, /statusline[^]*PostToolBatch/);
  }));

Deno.test("docs/customers.md: calls of two customers and of none are reported, limited and raised by name", () =>
  inDirectory(async (home) => {
    const page = "customers.md";
    await runSection(page, "Name the customer", home);
    await using fake = await startFakeProvider((request) =>
      answerTo(request, {
        text: "Hello",
        usage: { inputTokens: 1, outputTokens: Number(request.body.messages[0].content) },
      })
    );
    await using purser = await openTestPurser({
      fake,
      clock: systemClock,
      sqlite: undefined,
      config: { dbUrl: `file:${home}/purser/purser.db`, allowPrivateNetworks: ["127.0.0.0/8"] },
    });
    const client = openHttpClient(purser);
    const key = (await Deno.readTextFile(`${home}/shop.key`)).trim();
    const [, header] = (await readDocument(`docs/${page}`)).match(/"x-purser-tags": "customer=(\w+)"/)!;
    /** A call as the program of the page makes it, whose answer has that many tokens of $0.60 a million. */
    const call = async (customer?: string, tokens = 1) => {
      const answer = await client.raw("POST", "/v1/chat/completions", {
        key,
        headers: customer === undefined ? {} : { "x-purser-tags": `customer=${customer}` },
        body: { model: "gpt-4o-mini", messages: [{ role: "user", content: String(tokens) }] },
      });
      await answer.body?.cancel();
      return answer.status;
    };
    for (const customer of [header, "globex", undefined]) {
      assert.equal(await call(customer, 100_000_000), 200);
    }
    const costs = await runSection(page, "What each customer costs", home);
    assert.match(costs, /^acme +█+ +\$60[^]*^globex +█+ +\$60/m);
    await runSection(page, "Alerts", home);
    const limits = await runSection(page, "Limits", home);
    assert.match(limits, /^Acme +\$439\.9[^]*^globex +\$60\.0.* reached$/m);
    // The server reads budgets that another process has added a moment later.
    await until(async () => await call("globex") === 402);
    assert.equal(await call(header), 200, "the exception has room");
    assert.equal(await call(), 200, "a call without a customer counts in neither");
    await run(blocks(await readDocument(`docs/${page}`), "text", "Limits").join("").trim(), home);
    await until(async () => await call("globex") === 200);
  }));

Deno.test("docs/telemetry.md and docs/first_week.md: every command runs on a new machine", () =>
  inDirectory(async (home) => {
    const telemetry = await runPage("telemetry.md", `${home}/telemetry`);
    assert.match(telemetry["Variables"]!, /OTEL_EXPORTER_OTLP_ENDPOINT/);
    const week = await runPage("first_week.md", `${home}/week`);
    assert.match(week["Day 1: a copy of the ledger"]!, /backup\.db/);
    assert.match(week["Day 2: alerts that reach people"]!, /^log +log +delivered/m);
  }));

Deno.test({
  name:
    "docs/several_machines.md: a ledger moves to PostgreSQL, and two servers share its calls, key and budget" +
    (postgresMissing === undefined ? "" : ` (${postgresMissing})`),
  ignore: skipPostgres,
  fn: () =>
    inDirectory(async (home) => {
      await using postgres = await sharedPostgres();
      await using database = await postgres.createDatabase("docs_machines");
      const page = "several_machines.md";
      const env: Record<string, string> = {};
      const replaced: [string | RegExp, string][] = [[/^postgres:.*db\.example\.com.*$/, database.url]];
      /** Runs the commands of a section; its variables hold for the sections after it, as in one shell. */
      const runHere = async (heading: string) => {
        let printed = "";
        for (
          const line of blocks(await readDocument(`docs/${page}`), "sh", heading).join("").trim().split("\n")
        ) {
          const [, name, value] = /^export (\w+)='(.*)'$/.exec(line) ?? [];
          const text = replaced.reduce((all, [from, to]) => all.replace(from, to), value ?? line);
          if (name) env[name] = text;
          else printed += await run(text, home, env);
        }
        return printed;
      };
      await run("purser agents set helper --model demo:echo", home);
      await run("purser run helper Hello", home);
      const before = await run("purser cost --json", home);
      assert.match(await runHere("The ledger that you have"), /1 call/);
      assert.equal(await run("purser cost --json", home, env), before);
      await runHere("Two servers");

      await using fake = await startFakeProvider((request) =>
        answerTo(request, { text: "Hello", usage: { inputTokens: 1, outputTokens: 200_000_000 } })
      );
      const config = { dbUrl: database.url, allowPrivateNetworks: ["127.0.0.0/8"] };
      const options = { fake, clock: systemClock, ids: createIds(systemClock), sqlite: undefined, config };
      await using a = await openTestPurser(options);
      await using b = await openTestPurser(options);
      const servers = [a, b].map((purser) =>
        Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, purser.app.fetch)
      );
      await using _a = servers[0]!;
      await using _b = servers[1]!;
      const key = (await Deno.readTextFile(`${home}/ops.key`)).trim();
      const call = async (purser: typeof a) => {
        const body = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] };
        const answer = await openHttpClient(purser).raw("POST", "/v1/chat/completions", { key, body });
        await answer.body?.cancel();
        return answer.status;
      };
      // $120 each, of $200 for both.
      assert.deepEqual([await call(a), await call(b)], [200, 200]);
      assert.deepEqual([await call(a), await call(b)], [402, 402]);
      replaced.push(["https://purser.example.com", `http://127.0.0.1:${servers[0]!.addr.port}`]);
      env.PURSER_DB = env.PURSER_DB_TOKEN = "";
      const seen = await runHere("Everybody's commands");
      assert.match(seen, /^gpt-4o-mini|openai:gpt-4o-mini +█+ +\$240\.0/m);
      assert.match(seen, /^Everything .* \$240\.00 of \$200 .* reached/m);
      Object.assign(env, { PURSER_DB: database.url, PURSER_DB_TOKEN: "secret" });
      assert.match(await runHere("Every night"), /backup\.db/);
    }),
});

Deno.test("docs/statements_and_exports.md: a month is charged by team, archived, and exported in FOCUS", () =>
  inDirectory(async (home) => {
    await using purser = await openTestPurser({
      clock: systemClock,
      sqlite: undefined,
      config: { dbUrl: `file:${home}/purser/purser.db` },
    });
    const at = Date.parse("2026-10-05T12:00:00Z");
    await purser.core.store.write(recordCalls([
      modelCall({
        callId: "red",
        at,
        costNanoUsd: 2_000_000_001n,
        priceSource: "provider",
        tags: { team: "red" },
      }),
      modelCall({ callId: "none", at, costNanoUsd: 5n, priceSource: "provider" }),
    ]));
    const page = "statements_and_exports.md";
    const text = await readDocument(`docs/${page}`);
    const runIn = async (heading: string) => {
      let printed = "";
      for (const line of blocks(text, "sh", heading).join("").trim().split("\n")) {
        printed += await run(line.replace(/ --(to|output) (\S+)/, ` --$1 ${home}/$2`), home);
      }
      return printed;
    };
    const statement = await runIn("Statements");
    assert.match(statement, /^A draft of [^]*^red +\$2\.00 +\$2\.00$[^]*^\(no team\) /m);
    assert.match(statement, /^Wrote a draft [^]*^Version 1 of the statement of 2026-10 by team: 2 calls$/m);
    assert.match(
      await Deno.readTextFile(`${home}/october.html`),
      /<td>red<\/td><td class="n">2\.000000001<\/td>/,
    );
    assert.match(await runIn("An archive of the ledger"), /2 calls for 2\.000000006 USD[^]*^Nothing is new/m);
    assert.match(
      await runIn("FOCUS"),
      /billed cost 2\.000000006 USD, in 1 file\nBilledCost,[^]*\r\n2\.000000001,demo,/,
    );
    assert.deepEqual(await sectionsOf(page), ["Statements", "An archive of the ledger", "FOCUS"]);
    // Each column that the table names is one that is exported.
    const columns = columnsOf(text);
    const exported = ["1.2", "1.4"].flatMap((version) =>
      focusColumns(version as "1.2", true).map(({ name }) => name)
    );
    assert.deepEqual(columns.filter((name) => !exported.includes(name)), []);
    assert.deepEqual(
      exported.filter((name) => /^x_/.test(name) && !columns.includes(name)),
      [],
    );
  }));

/** The names of columns in the table of a page. */
const columnsOf = (text: string) =>
  [...text.matchAll(/^\| ((?:[A-Za-z_]+(?:, )?)+) +\|/gm)].flatMap(([, names]) => names!.split(", "))
    .filter((name) => /^(?:x_)?[A-Z]\w+[A-Za-z]$/.test(name) && name !== "FOCUS");
