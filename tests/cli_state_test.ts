import assert from "node:assert/strict";
import { newPlace, type Place, purser, start } from "./harness/cli_process.ts";
import { inProcess } from "./harness/in_process.ts";

/** `purser state` as people use it: exports and imports in processes of their own, over files. */

/** A machine with an agent and a session of one run. */
async function newPlaceWithSession(): Promise<Place> {
  const place = await newPlace();
  await inProcess(place, "agents set helper --model demo:echo --tool calculator".split(" "));
  await inProcess(place, ["run", "helper", "What is 17 * 23?", "--session", "first"]);
  return place;
}

const filesOf = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

Deno.test("a session moves from one database to another by a file, and continues there", async () => {
  await using place = await newPlaceWithSession();
  const file = `${place.folder}/session.json`;
  const exported = await inProcess(place, [
    "state",
    "export",
    "helper",
    "--output",
    file,
    "--tag",
    "why=a b",
    "--with-events",
  ]);
  assert.deepEqual([exported.code, exported.err], [0, ""]);
  assert.match(
    exported.out,
    /^Exported session first of helper to .*session\.json: 4 messages, \d\.\d kB\n$/,
  );
  assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);

  const shown = await inProcess(place, ["state", "show", file]);
  assert.match(
    shown.out,
    /^Field +Value\nschema_version +1\nagent_id +helper\nsession_id +first\nstatus +completed\nmessages +4\nevent_log_count +9\nsource_environment +local\nexported_at +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\ntags +why=a b\n$/,
  );
  const document = JSON.parse((await inProcess(place, ["state", "show", file, "--format", "json"])).out);
  assert.deepEqual(document, JSON.parse(await Deno.readTextFile(file)));

  const other = {
    ...place,
    env: { ...place.env, PURSER_DB: `${place.folder}/other.db`, PURSER_ENVIRONMENT: "laptop" },
  };
  assert.deepEqual(await inProcess(other, ["state", "import", file, "--dry-run"]), {
    code: 0,
    out: "Would restore session first of helper: 4 messages\nThe session does not exist here\n" +
      "9 events would be kept as imported history\nAgent helper would be created from the snapshot\n" +
      "Nothing was written\n",
    err: "",
  });
  assert.equal((await inProcess(other, ["sessions", "list"])).out, "No sessions yet\n");
  assert.match(
    (await inProcess(other, ["state", "import", file])).out,
    /^Restored session first of helper: 4 messages\n/,
  );
  const show = await inProcess(other, ["sessions", "show", "first"]);
  assert.match(show.out, /Cost +\$0\n/);
  assert.match(
    show.out,
    /Restored +.* UTC, from environment local, exported .* UTC\n +cost \$0\.\d+ there, for \d+ tokens; not counted here\n +with 9 events of history/,
  );
  assert.equal((await inProcess(other, ["cost", "--by", "agent"])).out.includes("helper"), false);
  assert.equal((await inProcess(other, ["run", "helper", "hi", "--session", "first"])).code, 0);

  const replay = await inProcess(other, ["state", "replay", "first", "--json"]);
  const steps = replay.out.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual([steps[0].imported_from, steps[0].type], ["local", "session.created"]);
  assert.equal(
    steps.some(({ type, imported_from }) => type === "session.restored" && imported_from === undefined),
    true,
  );
  const fromFile = await inProcess(place, ["state", "replay", file, "--from", "5", "--until", "6"]);
  assert.match(fromFile.out, /^#5 .* tool\.called .*\n.*\n#6 .* tool\.returned [^]*\{"result":391\}\n$/);
});

Deno.test("snapshots work through pipes, gzip, a file beside a server, and the server", async () => {
  await using place = await newPlaceWithSession();
  const piped = await purser(place, ["state", "export", "helper", "--output", "-"]);
  const { exported_at: _at, integrity: _integrity, ...document } = JSON.parse(piped.out);
  const zipped = `${place.folder}/session.json.gz`;
  await inProcess(place, ["state", "export", "helper", "--output", zipped]);
  const gz = await Deno.readFile(zipped);
  assert.deepEqual([...gz.subarray(0, 2)], [0x1f, 0x8b]);
  assert.match((await inProcess(place, ["state", "show", zipped])).out, /messages +4/);
  assert.match((await inProcess(place, ["state", "show", "-"], gz)).out, /messages +4/);

  const server = start({ ...place, env: { ...place.env, PURSER_DB: `${place.folder}/server.db` } }, [
    "serve",
    "--port",
    "0",
  ]);
  try {
    const url = await readUrl(server);
    const { PURSER_DB: _db, ...env } = place.env;
    const remote = { ...place, env: { ...env, PURSER_SERVER: url } };
    const owned = { ...place, env: { ...place.env, PURSER_DB: `${place.folder}/server.db` } };
    for (
      const [where, args, stdin] of [
        [remote, ["-"], piped.out],
        [remote, [zipped], undefined],
        [owned, ["-"], gz],
        [owned, [zipped], undefined],
      ] as const
    ) {
      const { code, out } = await purser(where, ["state", "import", ...args], stdin);
      assert.match(out, /^Restored session first of helper: 4 messages\n/);
      assert.equal(code, 0);
    }
    for (const where of [remote, owned]) {
      const again = JSON.parse((await inProcess(where, ["state", "export", "helper", "--output", "-"])).out);
      assert.deepEqual(again.state.messages, document.state.messages);
    }
  } finally {
    server.kill("SIGTERM");
    await Promise.all([server.stderr.cancel(), server.status]);
  }
});

Deno.test("a failed export or import prints one sentence, and leaves no file and no trace", async () => {
  await using place = await newPlaceWithSession();
  const broken = `${place.folder}/broken.json`;
  await Deno.writeTextFile(broken, '{"schema_version": 1, "agent_id": "helper", "session_id": "first"');
  const large = `${place.folder}/large.json`;
  await Deno.writeTextFile(large, '{"a":"');
  await Deno.truncate(large, 2 * 1024 ** 3); // sparse
  const empty = `${place.folder}/empty.json`;
  await Deno.writeTextFile(empty, "");
  const before = filesOf(place.folder);
  const cases: [string[], number, RegExp][] = [
    [["export", "helper"], 2, /--output is missing; give a file, or - for standard output/],
    [["export", "helper", "--output", place.folder], 1, /Cannot write .*: is a directory/],
    [["export", "helper", "--output", "/no/such/place"], 1, /no such file or directory/],
    [["export", "helper", "--output", "x", "--tag", "novalue"], 2, /"novalue" is not of the form key=value/],
    [["export", "unknown", "--output", "-"], 3, /agent unknown has no session/],
    [
      ["export", "unknown", "--session", "first", "--output", "-"],
      1,
      /it belongs to agent helper, not to unknown/,
    ],
    [["import", place.folder], 1, /is a directory/],
    [["import", `${place.folder}/none.json`], 1, /no such file or directory/],
    [["import", empty], 1, /the document is empty/],
    [["show", empty], 1, /the document is empty/],
    [["import", broken], 1, /it is truncated/],
    [["show", broken], 1, /it is truncated/],
    [["import", large], 1, /it is over 268435456 bytes; max_snapshot_bytes in the config allows more/],
    [["replay", broken], 1, /it is truncated/],
  ];
  for (const [args, code, message] of cases) {
    const outcome = await inProcess(place, ["state", ...args]);
    assert.deepEqual([outcome.code, outcome.out], [code, ""], args.join(" "));
    assert.match(outcome.err, message);
    assert.ok(outcome.err.trim().split("\n").length <= 2, outcome.err);
  }
  assert.deepEqual(filesOf(place.folder), before);
  const session = JSON.parse((await inProcess(place, ["sessions", "show", "first", "--json"])).out);
  assert.deepEqual([session.message_count, session.event_log_count], [4, 9]);
});

Deno.test("an export warns of credentials, and replaces them on request", async () => {
  await using place = await newPlaceWithSession();
  const key = ["sk", "proj", "abcdefghij0123456789ABCDEFGHIJ0123456789"].join("-");
  await inProcess(place, ["run", "helper", `My key is ${key}, keep it`, "--session", "second"]);
  const plain = await inProcess(place, [
    "state",
    "export",
    "helper",
    "--session",
    "second",
    "--output",
    "-",
    "--with-events",
  ]);
  assert.ok(plain.out.includes(key));
  assert.match(
    plain.err,
    /^warning: The snapshot holds what looks like \d+ credentials \(.*openai_key.*\); --redact replaces them\n$/,
  );
  const redacted = await inProcess(place, [
    "state",
    "export",
    "helper",
    "--session",
    "second",
    "--output",
    "-",
    "--with-events",
    "--redact",
  ]);
  assert.equal(redacted.out.includes(key), false);
  assert.match(redacted.out, /My key is \[redacted:openai_key\], keep it/);
  assert.match(redacted.err, /^Replaced \d+ credentials: .*openai_key/);
  const { code, out } = await inProcess(place, ["state", "import", "-", "--dry-run"], redacted.out);
  assert.deepEqual([code, out.split("\n")[0]], [0, "Would restore session second of helper: 2 messages"]);
});

async function readUrl(server: Deno.ChildProcess): Promise<string> {
  let said = "";
  const decoder = new TextDecoder();
  const reader = server.stderr.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`The server did not start: ${said}`);
    said += decoder.decode(value, { stream: true });
    const url = /answers at (http:\/\/\S+)/.exec(said)?.[1];
    if (url) {
      reader.releaseLock();
      return url;
    }
  }
}
