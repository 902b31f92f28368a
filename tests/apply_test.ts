import assert from "node:assert/strict";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { createBudget, listBudgets } from "../src/budgets/mod.ts";
import { applyDefinitions } from "../src/service/definitions/mod.ts";
import { listAudit } from "../src/service/audit/mod.ts";
import { openCore } from "../src/service/mod.ts";
import { ConstraintError } from "../src/store/mod.ts";
import { newPlace } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { WORLDS } from "./resources/resources.ts";
import { dialectKinds } from "./harness/databases.ts";

/** `purser apply`: budgets, rules, keys and agents as a file. */

const TEAM = `{
  // The team
  "keys": [
    { "name": "anna", "scopes": ["call"], "models": ["gpt-*"] },
  ],
  "agents": [{ "name": "helper", "model": "demo:echo" }],
  "budgets": [
    { "name": "Anna", "limit_usd": 200, "per": "month", "key_id": "anna" },
    { "name": "All", "limit_usd": 50, "per": "day" },
  ],
  "rules": [{
    "name": "Day", "threshold_type": "per_day_usd", "threshold_usd": 40, "severity": "warning", "key_id": "anna",
  }],
}`;

type World = Awaited<ReturnType<typeof WORLDS[string]>>;

for (const [where, openWorld] of Object.entries(WORLDS)) {
  const test = (sentence: string, body: (world: World, apply: Apply) => Promise<void>) =>
    Deno.test(`${sentence}, ${where}`, () =>
      inDirectory(async (directory) => {
        await using world = await openWorld();
        const path = join(directory, "team.json");
        await body(world, async (text, options = "--yes", code = 0) => {
          if (text !== undefined) await Deno.writeTextFile(path, text);
          return await world.run(`apply ${path} ${options}`, code);
        });
      }));
  type Apply = (text?: string, options?: string, code?: number) => Promise<{ out: string; err: string }>;

  test("a file is applied once, and again changes nothing", async (world, apply) => {
    const dry = await apply(TEAM, "--dry-run", 6);
    assert.match(dry.out, /^\+ key anna \(created\)\n/);
    assert.match(dry.out, /^\+ budget Anna \(created\)\n {4}limit_usd: 200\n/m);
    assert.deepEqual((await world.api("GET", "/budgets")).body, []);
    const { out } = await apply();
    assert.match(out, /\nApplied 5 changes\n\nAPI key anna, which is shown only now:\npsr_\w+/);
    const budgets = (await world.api("GET", "/budgets")).body;
    assert.deepEqual(budgets.map(({ name, key_name }: Record<string, string>) => [name, key_name]), [
      ["Anna", "anna"],
      ["All", undefined],
    ]);
    const log = (await world.api("GET", "/audit")).body;
    assert.equal((await apply()).out, "Nothing to change: 5 definitions in effect\n");
    assert.equal(
      (await apply(undefined, "--dry-run", 0)).out,
      "Nothing to change: 5 definitions in effect\n",
    );
    assert.deepEqual((await world.api("GET", "/audit")).body, log);
    const applied = log.filter(({ label }: { label: string | null }) => label === "team.json");
    assert.equal(applied.length, 5);
    assert.deepEqual([applied[0].actor, applied[0].actor_name], world.author.slice(0, 2));
    assert.doesNotMatch(JSON.stringify(log), /psr_/);
  });

  test("a changed file changes what differs, by its name", async (world, apply) => {
    await apply(TEAM);
    const before = (await world.api("GET", "/budgets")).body;
    const { out } = await apply(
      TEAM.replace('"limit_usd": 200', '"limit_usd": 250').replace("demo:echo", "demo:loop"),
    );
    assert.match(
      out,
      /^~ agent helper\n {4}model: "demo:echo" → "demo:loop"\n~ budget Anna\n {4}limit_usd: 200 → 250\nApplied 2 changes\n$/,
    );
    const after = (await world.api("GET", "/budgets")).body;
    assert.deepEqual(
      after.map((one: { budget_id: string }) => one.budget_id),
      before.map((one: { budget_id: string }) => one.budget_id),
    );
    assert.equal(after[0].limit_usd, 250);
  });

  test(
    "--prune removes what the same file has created, and nothing that a person has",
    async (world, apply) => {
      await world.run("budgets add --name Hand --limit 1 --per day");
      await world.run("agents add other --model demo:echo");
      await apply(TEAM.replace('"rules"', '"label": "team", "rules"'));
      await apply(`{ "label": "else", "budgets": [{ "name": "Else", "limit_usd": 1, "per": "day" }] }`);
      const less =
        `{ "label": "team", "budgets": [{ "name": "All", "limit_usd": 50, "per": "day" }, { "name": "Hand", "limit_usd": 1, "per": "day" }] }`;
      assert.equal((await apply(less)).out, "Nothing to change: 2 definitions in effect\n");
      const { out } = await apply(less, "--prune --yes");
      assert.match(
        out,
        /^- key anna \(revoked\)\n- agent helper \(removed\)\n- budget Anna \(removed\)\n- rule Day \(removed\)\nApplied 4 changes\n$/,
      );
      const names = async (path: string) =>
        (await world.api("GET", path)).body.map(({ name }: { name: string }) => name).sort();
      assert.deepEqual(await names("/budgets"), ["All", "Else", "Hand"]);
      assert.deepEqual(await names("/agents"), ["other"]);
      assert.equal(
        (await apply(`{ "label": "team" }`, "--prune --yes")).out.split("\n")[0],
        "- budget All (removed)",
      );
      assert.deepEqual(await names("/budgets"), ["Else", "Hand"]);
      // One that a person has made again by the same name is theirs.
      await apply(`{ "label": "team", "agents": [{ "name": "helper", "model": "demo:echo" }] }`);
      await world.run("agents remove helper");
      await world.run("agents add helper --model demo:echo");
      assert.match((await apply(`{ "label": "team" }`, "--prune --yes")).out, /^Nothing to change/);
      assert.deepEqual(await names("/agents"), ["helper", "other"]);
    },
  );

  test("a file that can't be applied changes nothing, and its line is named", async (world, apply) => {
    const refused: [text: string, message: RegExp][] = [
      [`{\n  "budgets": [\n    { "name": "A",, }\n]}`, /line 3, column \d+: /],
      [`{\n  "budget": []\n}`, /line 2: budget: is not known; did you mean budgets\?/],
      [
        `{\n "budgets": [\n  { "name": "A", "limit": 1, "per": "day" }\n ]\n}`,
        /line 3: budgets\[0\]\.limit: is not known; did you mean limit_usd\?/,
      ],
      [
        `{\n "budgets": [\n  { "name": "A", "limit_usd": "x",\n "per": "day" }\n ]\n}`,
        /line 3: budgets\[0\]\.limit_usd: /,
      ],
      [
        `{ "agents": [{ "name": "a", "model": "demo:echo" },\n { "name": "a", "model": "demo:echo" }] }`,
        /line 2: agents\[1\]\.name: repeats the name of agents\[0\]/,
      ],
      [
        `{ "agents": [\n { "name": "a", "model": "demo:nothing" }] }`,
        /line 2: agents\[0\]: Cannot use the model/,
      ],
      [
        `{ "budgets": [{ "name": "A", "limit_usd": 1, "per": "day" },\n { "name": "B", "limit_usd": 1, "per": "day", "key_id": "none" }] }`,
        /line 2: budgets\[1\]\.key_id: .*none/,
      ],
      [
        `{ "rules": [\n{ "name": "R", "threshold_type": "per_day_usd", "threshold_usd": 1, "severity": "loud" }] }`,
        /line 2: rules\[0\]\.severity: /,
      ],
      [
        `{ "keys": [\n{ "name": "admin", "scopes": ["admin"], "agent_id": "a" }] }`,
        /line 2: keys\[0\]\.scopes: /,
      ],
      ["[]", /must be an object/],
      ["", /line 1/],
    ];
    for (const [text, message] of refused) {
      const { err } = await apply(text, "--yes", 1);
      assert.match(err, /^error: Cannot apply .*team\.json: .*; nothing was changed\n$/, text);
      assert.match(err, message, text);
    }
    for (const path of ["/budgets", "/agents", "/alerts/rules"]) {
      assert.deepEqual((await world.api("GET", path)).body, [], path);
    }
    await world.run("budgets add --name Twice --limit 1 --per day");
    await world.run("budgets add --name Twice --limit 1 --per day");
    const twice = `{ "budgets": [{ "name": "Twice", "limit_usd": 1, "per": "day" }] }`;
    assert.match((await apply(twice, "--yes", 1)).err, /2 budgets have it/);
    await apply(`{ "keys": [{ "name": "anna", "scopes": ["call"] }] }`);
    const other = `{ "keys": [{ "name": "anna", "scopes": ["read"] }] }`;
    assert.match(
      (await apply(other, "--dry-run", 1)).err,
      /keys\[0\]\.scopes: is \["call"\] of the key that is there, and can't change/,
    );
  });

  test(
    "without a terminal it needs --yes, and --json prints the text of keys only with --show-keys",
    async (world, apply) => {
      assert.match(
        (await apply(TEAM, "", 2)).err,
        /Cannot ask whether to apply .*: there is no terminal; add --yes/,
      );
      assert.match(
        (await apply(undefined, "--json --yes", 2)).err,
        /1 new key would be lost; add --show-keys/,
      );
      assert.match((await apply(undefined, "--show-keys", 2)).err, /without --json/);
      assert.deepEqual((await world.api("GET", "/budgets")).body, []);
      assert.deepEqual(JSON.parse((await apply(undefined, "--json --dry-run", 6)).out).new_keys, []);
      const { new_keys } = JSON.parse((await apply(undefined, "--json --yes --show-keys")).out);
      assert.match(new_keys[0].key, /^psr_/);
    },
  );
}

Deno.test("a command on a database of this machine is in the audit log with its user and host", async () => {
  await using place = await newPlace();
  const path = join(place.folder, "team.json");
  await Deno.writeTextFile(path, TEAM);
  const asked = await purser(place, ["apply", path]);
  assert.equal(asked.code, 2, asked.err);
  const applied = await purser(place, ["apply", path, "--yes"]);
  assert.deepEqual([applied.code, applied.err], [0, ""]);
  assert.equal((await purser(place, ["apply", path, "--dry-run"])).code, 0);
  const { out } = await purser(place, ["audit", "--kind", "budget", "--json"]);
  const [entry, ...others] = JSON.parse(out);
  assert.equal(others.length, 1);
  const by = `${userInfo().username}@${hostname()}`;
  assert.deepEqual([entry.actor, entry.actor_name, entry.key_id, entry.address], ["local", by, null, null]);
});

const BODY = { label: "team", budgets: [{ name: "Day", limit_usd: 50, per: "day" as const }] };

Deno.test("what was shown is what is applied, or nothing is", async () => {
  await using opened = await openTestPurser();
  const { core } = opened;
  const { plan } = await applyDefinitions(core, { ...BODY, dry_run: true });
  await createBudget(core, { ...BODY.budgets[0]!, limit_usd: 5 });
  await assert.rejects(applyDefinitions(core, { ...BODY, plan }), /by now it would change something else/);
  assert.deepEqual((await listBudgets(core, { limit: 9 })).map(({ limit_usd }) => limit_usd), [5]);
});

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name: `${name}: a file is one commit: all of it takes effect, or nothing`,
    ignore,
    async fn() {
      await using database = await create();
      const address = await database.address?.();
      const folder = await Deno.makeTempDir();
      const core = await openCore({ config: { dbUrl: address ?? `${folder}/a.db`, dbToken: undefined } });
      try {
        const file = {
          label: "team",
          keys: [{ name: "anna", scopes: ["call" as const] }],
          agents: [{ name: "helper", model: "demo:echo" }],
          budgets: [{ name: "Anna", limit_usd: 1, per: "day" as const, key_id: "anna" }, ...BODY.budgets],
          rules: [
            {
              name: "A",
              threshold_type: "per_day_usd" as const,
              threshold_usd: 1,
              severity: "info" as const,
            },
            {
              name: "B",
              threshold_type: "per_day_usd" as const,
              threshold_usd: 2,
              severity: "info" as const,
            },
          ],
        };
        const failing = new Proxy(core.store, {
          get(store, property) {
            if (property !== "write") {
              const value = Reflect.get(store, property);
              return typeof value === "function" ? value.bind(store) : value;
            }
            return (statements: readonly { sql: string }[]) =>
              store.write(
                statements.length < 12
                  ? statements
                  : [...statements, { sql: "INSERT INTO tallies (what) VALUES (NULL)" }],
              );
          },
        });
        await assert.rejects(
          applyDefinitions({ ...core, store: failing }, file),
          (error) => error instanceof ConstraintError || /other writers keep changing it/.test(String(error)),
        );
        assert.deepEqual(await listAudit(core, { limit: 10 }), []);
        const { changes, new_keys } = await applyDefinitions(core, file);
        assert.equal(changes.length, 6);
        assert.equal(new_keys.length, 1);
        assert.equal((await listAudit(core, { limit: 10 })).length, 6);
        const budgets = await listBudgets(core, { limit: 10 });
        assert.deepEqual(budgets.map(({ name, key_id }) => [name, key_id]), [["Anna", new_keys[0]!.key_id], [
          "Day",
          null,
        ]]);
        assert.deepEqual((await applyDefinitions(core, file)).changes, []);
      } finally {
        await core.close();
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}
