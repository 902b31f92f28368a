import assert from "node:assert/strict";
import { createApiClient } from "../../../client/mod.ts";
import { createApp } from "../../../http/mod.ts";
import { splitLine } from "../../../../tests/harness/split_line.ts";
import { main } from "../../mod.ts";
import { openTestBooks } from "../../../../tests/harness/test_books.ts";
import { memoryTerminal } from "../../../../tests/harness/memory_terminal.ts";

/** `purser keys …` in one process, over a database in memory. */

const KEY = /^psr_\d{4}_[0-9a-z]{39}\n$/;
const FIRST =
  /warning: This is the first key: from now on, servers on this database refuse requests without one/;

Deno.test("keys add prints the key alone, and the rest on standard error", async () => {
  await using books = await openTestBooks();
  const first = await books.purser("keys add ops --scope admin");
  assert.equal(first.code, 0);
  assert.match(first.out, KEY);
  assert.match(
    first.err,
    /^Created key key_\d+ ops: admin, until it is revoked\. It is shown only once; store it safely\n/,
  );
  assert.match(first.err, FIRST);
  const second = await books.purser(
    'keys add "ci build" --scope run --scope read --agent helper --expires 90d',
  );
  assert.match(second.out, KEY);
  assert.match(
    second.err,
    /^Created key key_\d+ ci build: read and run, agent helper only, until 2027-02-19 09:30:00 UTC\..*\n$/,
  );
  assert.doesNotMatch(second.err, FIRST);
  assert.ok(!first.err.includes(first.out.trim()));
});

Deno.test("keys add --json prints the API's body, and nothing beside it", async () => {
  await using books = await openTestBooks();
  const { code, out, err } = await books.purser("keys add ops --scope admin --json");
  assert.deepEqual([code, err], [0, ""]);
  const { key, ...rest } = JSON.parse(out);
  assert.match(`${key}\n`, KEY);
  const listed = await books.purser("keys list --json");
  assert.deepEqual(JSON.parse(listed.out), [rest]);
});

Deno.test("keys add --output writes the key to a new file for its user alone, and prints none", async () => {
  await using books = await openTestBooks();
  const folder = await Deno.makeTempDir({ prefix: "purser_key_" });
  const path = `${folder}/ops.key`;
  const created = await books.purser(`keys add ops --scope admin --output ${path}`);
  assert.deepEqual([created.code, created.out], [0, ""]);
  assert.match(created.err, /^Created key key_\d+ ops: admin, .*\. It is in .*ops\.key alone\n/);
  assert.match(created.err, FIRST);
  assert.match(await Deno.readTextFile(path), KEY);
  if (Deno.build.os !== "windows") assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
  assert.ok(!created.err.includes("psr_"));

  const json = await books.purser(`keys add ci --scope run --json --output ${folder}/ci.key`);
  assert.deepEqual([json.code, json.err], [0, ""]);
  const { file, name, key } = JSON.parse(json.out);
  assert.deepEqual({ file, name, key }, { file: `${folder}/ci.key`, name: "ci", key: undefined });
  assert.ok(!json.out.includes("psr_"));

  const text = await Deno.readTextFile(path);
  for (const [target, reason] of [[path, "file exists"], [`${folder}/no/ops.key`, "no such file"]]) {
    const refused = await books.purser(`keys add more --scope read --output ${target}`);
    assert.deepEqual([refused.code, refused.out], [1, ""]);
    assert.match(refused.err, new RegExp(`Cannot write the key to .*: ${reason}.*; no key was created\n$`));
  }
  assert.equal(await Deno.readTextFile(path), text);
  assert.equal((await books.purser("keys list")).out.split("\n").length, 4);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("keys add --output leaves no file without a key, and no key without a file", async () => {
  await using books = await openTestBooks();
  const folder = await Deno.makeTempDir({ prefix: "purser_key_" });
  const app = await createApp(books.core);
  const createKey = async (path: string, onPost: () => Promise<void>) => {
    const send = async (request: Request) => {
      if (request.method === "POST") await onPost();
      return await app.fetch(request);
    };
    const api = createApiClient({ baseUrl: "http://purser.invalid", send });
    const terminal = memoryTerminal();
    const code = await main(splitLine(`keys add ops --scope admin --output ${path}`), {
      terminal,
      env: { PURSER_DB: ":memory:" },
      connect: () =>
        Promise.resolve({ api, send, kind: "local", where: "memory", close: () => Promise.resolve() }),
    });
    return { code, err: terminal.err };
  };
  const lost = await createKey(`${folder}/a`, () => Promise.reject(new Error("the connection broke")));
  assert.deepEqual([lost.code, [...Deno.readDirSync(folder)]], [1, []]);

  const path = `${folder}/b`;
  const unwritten = await createKey(path, async () => {
    await Deno.remove(path);
    await Deno.mkdir(path);
  });
  assert.equal(unwritten.code, 1);
  assert.match(unwritten.err, /^error: Cannot write .*b: is a directory; key key_\d+ was revoked\n/);
  assert.match((await books.purser("keys list")).out, /\nops +key_\d+ +revoked /);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("keys add refuses invalid input before it sends a request", async () => {
  await using books = await openTestBooks();
  const cases: [string, RegExp][] = [
    ["keys add", /without NAME/],
    ["keys add ci", /Cannot create a key without --scope: read, run, call, report, approve, admin\n/],
    ['keys add " " --scope run', /with a blank name/],
    ["keys add ci --scope write", /--scope: write is not one of read, run, call, report, approve, admin/],
    ["keys add ci --scope read,run", /--scope: read,run is not one of/],
    ["keys add ci --scope run --expires yesterday", /--expires: yesterday is not in the future/],
    ["keys add ci --scope run --expires 2020-01-01", /--expires: 2020-01-01 is not in the future/],
    ["keys add ci --scope admin --agent a", /--agent with the scope admin/],
    ['keys add ci --scope run --agent "a b"', /--agent: an id has/],
    ["keys list --status lost", /lost is not one of active, expired, revoked/],
    ["keys list --limit 0", /--limit/],
    ["keys remove", /without KEY/],
    ["keys rotate", /without KEY/],
    ["keys rotate ci --grace 31d", /--grace: 31d is more than 30d/],
    ["keys rotate ci --grace soon", /--grace: soon is not a duration; write 30m, 12h, 7d or 2w/],
    ["keys rotate ci --expires 2020-01-01", /--expires: 2020-01-01 is not in the future/],
  ];
  for (const [line, message] of cases) {
    const { code, out, err } = await books.purser(line);
    assert.deepEqual([code, out], [2, ""], line);
    assert.match(err, message, line);
  }
  assert.equal((await books.purser("keys list")).out.startsWith("No keys yet"), true);
});

Deno.test("keys list shows the models that a key is restricted to", async () => {
  await using books = await openTestBooks();
  await books.purser("keys add ops --scope admin");
  books.clock.advance(1);
  await books.purser("keys add ci --scope call --model gpt-6-luna --model claude-haiku-*");
  assert.equal(
    (await books.purser("keys list")).out,
    `NAME  ID        STATUS  SCOPES  AGENT  MODELS                      EXPIRES (UTC)  LAST USED (UTC)
ci    key_0003  active  call    all    gpt-6-luna, claude-haiku-*  never          never
ops   key_0002  active  admin   all    all                         never          never
`,
  );
});

Deno.test("keys list shows until when the secret before is accepted beside the new one", async () => {
  await using books = await openTestBooks();
  await books.purser("keys add ops --scope admin");
  books.clock.advance(1);
  await books.purser("keys add ci --scope run");
  await books.purser("keys rotate ci --grace 2h");
  assert.equal(
    (await books.purser("keys list")).out,
    `NAME  ID        STATUS  SCOPES  AGENT  EXPIRES (UTC)  OLD SECRET UNTIL (UTC)  LAST USED (UTC)
ci    key_0003  active  run     all    never          2026-11-21 11:30        never
ops   key_0002  active  admin   all    never                                  never
`,
  );
  books.clock.advance(2 * 3_600_000);
  assert.doesNotMatch((await books.purser("keys list")).out, /OLD SECRET/);
});

Deno.test("keys list is a table, newest first, which loses columns where there is no room", async () => {
  await using books = await openTestBooks();
  await books.purser("keys add ops --scope admin");
  books.clock.advance(1);
  await books.purser("keys add ci --scope run --agent helper --expires 12h");
  books.clock.advance(1);
  await books.purser("keys add old --scope read");
  await books.purser("keys remove key_0004");
  assert.equal(
    (await books.purser("keys list")).out,
    `NAME  ID        STATUS   SCOPES  AGENT   EXPIRES (UTC)     LAST USED (UTC)
old   key_0004  revoked  read    all     never             never
ci    key_0003  active   run     helper  2026-11-21 21:30  never
ops   key_0002  active   admin   all     never             never
`,
  );
  assert.equal(
    (await books.purser("keys list --status active", { terminal: memoryTerminal({ columns: 40 }) })).out,
    `NAME  STATUS  SCOPES  LAST USED (UTC)
ci    active  run     never
  key_0003
ops   active  admin   never
  key_0002
`,
  );
  assert.equal((await books.purser("keys list --status expired")).out, "No expired keys\n");
  const { out, err } = await books.purser("keys list --limit 2");
  assert.equal(out.split("\n").length, 4);
  assert.equal(err, "There are more keys; --limit shows up to 1000\n");
});

Deno.test("keys remove warns when no active key is left", async () => {
  await using books = await openTestBooks();
  const idOf = async (line: string) => JSON.parse((await books.purser(`${line} --json`)).out).key_id;
  const first = await idOf("keys add a --scope admin");
  const second = await idOf("keys add b --scope read");
  assert.deepEqual(await books.purser(`keys remove ${first}`), {
    code: 0,
    out: `Revoked key ${first}; this can't be undone\n`,
    err: "",
  });
  const last = await books.purser(`keys remove ${second}`);
  assert.equal(last.code, 0);
  assert.match(
    last.err,
    /^warning: There is no active key left: servers on this database refuse all requests/,
  );
  assert.deepEqual(await books.purser(`keys remove ${second} --json`), { code: 0, out: "", err: "" });
  const unknown = await books.purser("keys remove key_9999");
  assert.deepEqual([unknown.code, unknown.err], [
    3,
    "error: Cannot find API key key_9999; purser keys list shows the ids\n",
  ]);
});

Deno.test("a key that is given in place of its id is refused, and not repeated", async () => {
  await using books = await openTestBooks();
  const key = (await books.purser("keys add a --scope admin")).out.trim();
  const { code, err } = await books.purser(`keys remove ${key}`);
  assert.equal(code, 2);
  assert.match(err, /^error: Cannot remove by the key itself: give its name or its id;/);
  assert.ok(!err.includes(key.slice(-20)));
});

Deno.test("keys rotate gives a key a new secret by its name, and keeps its id, name and permissions", async () => {
  await using books = await openTestBooks();
  await books.purser("keys add ops --scope admin");
  const before = JSON.parse(
    (await books.purser("keys add ci --scope run --agent helper --expires 90d --json")).out,
  );
  const rotated = await books.purser("keys rotate ci");
  assert.equal(rotated.code, 0);
  assert.match(rotated.out, KEY);
  assert.notEqual(rotated.out.trim(), before.key);
  assert.match(
    rotated.err,
    /^Key key_\d+ ci has a new secret: run, agent helper only, until 2027-02-19 09:30:00 UTC\. It is shown only once; store it safely\. The one before is not valid any more\n$/,
  );
  const [key] = JSON.parse((await books.purser("keys list --limit 1 --json")).out);
  const { key: _secret, ...kept } = before;
  assert.deepEqual(key, { ...kept, rotated_at: "2026-11-21T09:30:00.000Z" });

  const graced = await books.purser(`keys rotate ${before.key_id} --grace 24h --expires never --json`);
  assert.deepEqual([graced.code, graced.err], [0, ""]);
  const { previous_valid_until, expires_at } = JSON.parse(graced.out);
  assert.deepEqual([previous_valid_until, expires_at], ["2026-11-22T09:30:00.000Z", null]);
  assert.match(
    (await books.purser("keys rotate ci --grace 12h")).err,
    /The one before is valid until 2026-11-21 21:30:00 UTC\n$/,
  );
});

Deno.test("keys rotate and keys remove name the nearest key for an unknown name, and the ids for a shared one", async () => {
  await using books = await openTestBooks();
  await books.purser("keys add laptop --scope run");
  for (const verb of ["rotate", "revoke"]) {
    const unknown = await books.purser(`keys ${verb} laptpo`);
    assert.deepEqual([unknown.code, unknown.out], [3, ""]);
    assert.match(unknown.err, /Cannot find an API key named "laptpo"; did you mean "laptop"\?\n$/);
  }
  // Keys of earlier versions may share a name.
  const { key_id } = JSON.parse((await books.purser("keys add laptop2 --scope run --json")).out);
  await books.core.store.write([{
    sql: "UPDATE api_keys SET name = 'laptop' WHERE key_id = ?",
    args: [key_id],
  }]);
  for (const verb of ["rotate", "revoke"]) {
    const shared = await books.purser(`keys ${verb} laptop`);
    assert.deepEqual([shared.code, shared.out], [2, ""]);
    assert.match(shared.err, /2 keys have it; give the id of one: key_\d+, key_\d+\n/);
  }
  assert.equal((await books.purser(`keys remove ${key_id}`)).code, 0);
  assert.equal((await books.purser("keys rotate laptop")).code, 0, "only active keys share a name");
});

Deno.test("keys add refuses the name of an active key, and takes that of a revoked one", async () => {
  await using books = await openTestBooks();
  const first = JSON.parse((await books.purser("keys add ci --scope run --json")).out);
  const again = await books.purser("keys add ci --scope read");
  assert.deepEqual([again.code, again.out], [1, ""]);
  assert.match(
    again.err,
    new RegExp(`the active key ${first.key_id} has the name "ci"; .*purser keys rotate`),
  );
  await books.purser("keys remove ci");
  assert.equal((await books.purser("keys add ci --scope read")).code, 0);
});

Deno.test("an earlier name or option says on standard error what to write, but not with --json", async () => {
  await using books = await openTestBooks();
  const first = /^purser keys create is deprecated: write purser keys add\nCreated key /;
  assert.match((await books.purser("keys create ops --scope admin")).err, first);
  const json = await books.purser("keys create ci --scope run --json");
  assert.deepEqual([json.code, json.err], [0, ""]);
  assert.equal(
    (await books.purser("agents set helper --model demo:echo --no-tools")).err,
    "purser agents set --no-tools is deprecated: write --tool none\n",
  );
});
