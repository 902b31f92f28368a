import assert from "node:assert/strict";
import { newPlace, type Place, startServer } from "./harness/cli_process.ts";
import { inProcess } from "./harness/in_process.ts";

/** Profiles as users have them, with real files and servers. */

/** A server over another machine's database that records the credentials of its requests. */
async function startNotingServer(place: Place) {
  const server = await startServer({
    ...place,
    env: { ...place.env, PURSER_DB: `${place.folder}/server.db` },
  });
  const shown: (string | null)[] = [];
  const proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    shown.push(request.headers.get("authorization"));
    const { pathname, search } = new URL(request.url);
    const headers = { "content-type": request.headers.get("content-type") ?? "" };
    return fetch(server.url + pathname + search, { method: request.method, headers, body: request.body });
  });
  return {
    url: `http://127.0.0.1:${proxy.addr.port}`,
    shown,
    async [Symbol.asyncDispose]() {
      await proxy.shutdown();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Adds the profile `prod`: a server, and the file of its key. */
function addProfile(place: Place, { url }: { url: string }, key: string) {
  return inProcess(place, ["profiles", "add", "prod", "--server", url, "--api-key-file", key]);
}

Deno.test("a profile selects its server, and sends the key of its file to that server only", async () => {
  await using place = await newPlace();
  await Deno.writeTextFile(place.env.PURSER_DB!, ""); // as an empty database
  await using server = await startNotingServer(place);
  const key = `${place.folder}/key`;
  await Deno.writeTextFile(key, "psr_s3cr3t\n", { mode: 0o600 });
  const add = await addProfile(place, server, key);
  assert.equal(add.code, 0, add.err);
  assert.equal((await Deno.stat(`${place.folder}/purser/purser.json`)).mode! & 0o777, 0o600);

  // PURSER_DB is set on this machine; the profile of the line wins all the same.
  const set = await inProcess(place, ["agents", "set", "there", "--model", "demo:echo", "--profile", "prod"]);
  assert.deepEqual([set.code, set.err], [0, ""]);
  assert.deepEqual([...new Set(server.shown)], ["Bearer psr_s3cr3t"]);
  assert.match((await inProcess(place, ["agents", "list"])).out, /^No agents yet/);

  const { PURSER_DB: _, ...env } = place.env;
  const byEnvironment = { ...place, env: { ...env, PURSER_PROFILE: "prod" } };
  assert.match((await inProcess(byEnvironment, ["agents", "list"])).out, /^there /m);
  server.shown.length = 0;
  assert.equal((await inProcess(byEnvironment, ["agents", "list", "--server", server.url])).code, 0);
  assert.deepEqual(server.shown, [null]);

  const doctor = await inProcess(byEnvironment, ["doctor"]);
  assert.match(doctor.out, /^ok +connection +the server at 127\.0\.0\.1:\d+, from the profile prod; /m);
  const listed = await inProcess(place, ["profiles", "list"]);
  for (const { out, err } of [add, set, doctor, listed]) assert.doesNotMatch(out + err, /s3cr3t/);
});

Deno.test("a key file that others can read causes a warning and a missing one is named, when it is needed", async () => {
  await using place = await newPlace();
  await Deno.writeTextFile(place.env.PURSER_DB!, ""); // as an empty database
  await using server = await startNotingServer(place);
  const key = `${place.folder}/key`;
  const added = await addProfile(place, server, key);
  assert.equal(added.code, 0);
  // Not needed for a local database.
  assert.equal((await inProcess(place, ["agents", "list"])).err, "");
  assert.deepEqual(await inProcess(place, ["agents", "list", "--profile", "prod"]), {
    code: 1,
    out: "",
    err: `error: Cannot use the API key file ${key}: no such file or directory; write the key into it\n`,
  });
  await Deno.writeTextFile(key, "psr_1");
  await Deno.chmod(key, 0o644);
  const { code, err } = await inProcess(place, ["agents", "list", "--profile", "prod"]);
  assert.equal(code, 0);
  assert.match(JSON.parse(err).message, /^Other users can read the API key file .*: chmod 600 /);
});

Deno.test("profiles can be fixed while the rest of the config is invalid", async () => {
  await using place = await newPlace();
  await Deno.mkdir(`${place.folder}/purser`);
  await Deno.writeTextFile(`${place.folder}/purser/purser.json`, '{ "prot": 1, "api_key": "${MISSING}" }');
  const env = { ...place.env, PURSER_PROFILE: "prod" };
  assert.equal((await inProcess({ ...place, env }, ["agents", "list"])).code, 2);
  assert.equal((await inProcess({ ...place, env }, ["profiles", "add", "prod", "--db", "x.db"])).code, 0);
  assert.match(
    (await inProcess({ ...place, env }, ["profiles", "list"])).out,
    /^prod +db +\/.*x\.db +none$/m,
  );
  assert.equal((await inProcess({ ...place, env }, ["completions", "bash"])).code, 0);
});

Deno.test("an invalid profile is bad usage with a remedy", async () => {
  await using place = await newPlace();
  const wrong: [string, RegExp][] = [
    ["profiles add prod", /^error: Cannot add a profile without a target: give --server or --db\n/],
    ["profiles add prod --server http://x --api-key s3cr3t", /give --api-key-file/],
    ["profiles add prod --server http://x --db y", /^error: Cannot use --server together with --db/],
    ["profiles add prod --db y --api-key-file f", /a database takes no API key; set PURSER_DB_TOKEN/],
    ["profiles add pr/od --db y", /^error: Cannot add profile "pr\/od": a name has/],
    ["cost --profile prod --db y", /^error: Cannot use --profile together with --db: give one of them\n/],
  ];
  for (const [line, message] of wrong) {
    const { code, out, err } = await inProcess(place, line.split(" "));
    assert.deepEqual([code, out], [2, ""], line);
    assert.match(err, message);
    assert.doesNotMatch(err, /s3cr3t/);
  }
});

Deno.test("serve refuses a profile that names a server", async () => {
  await using place = await newPlace();
  await inProcess(place, ["profiles", "add", "prod", "--server", "http://127.0.0.1:1"]);
  const { code, err } = await inProcess(place, ["serve", "--port", "0", "--profile", "prod"]);
  assert.equal(code, 2);
  assert.match(
    err,
    /^error: Cannot serve while a server is set: the profile prod names one; use another profile\n/,
  );
});
