import assert from "node:assert/strict";
import { newPlace } from "./harness/cli_process.ts";
import { inProcess } from "./harness/in_process.ts";

/** `purser config check|show`, over real files and the environment of a process. */

const CONFIG = {
  port: 9000,
  log_level: "info",
  api_key: "psr_of_the_file",
  tools: ["./tools.ts"],
  channels: [{ kind: "webhook", name: "ops", url: "https://me:pw@hooks.example/s3cret" }],
  providers: { local: { base_url: "http://u:pw@127.0.0.1:11434/v1", api_key: "short" } },
  profiles: { prod: { server: "https://books.example", api_key: "psr_of_the_profile" } },
};

async function configPlace(config: unknown) {
  const place = await newPlace();
  const path = `${place.folder}/purser.json`;
  await Deno.writeTextFile(path, typeof config === "string" ? config : JSON.stringify(config));
  Object.assign(place.env, { PURSER_CONFIG: path });
  return { place, path };
}

Deno.test("config show has each setting with what has set it, and no secret, however short", async () => {
  const { place, path } = await configPlace(CONFIG);
  await using _place = place;
  Object.assign(place.env, { PURSER_HOST: "::1", PURSER_DB_TOKEN: "t0ken", OPENAI_API_KEY: "sk-1" });
  const show = async (...args: string[]) => {
    const { code, out, err } = await inProcess(place, ["config", "show", "--json", ...args]);
    assert.equal(code, 0, err);
    const rows = JSON.parse(out) as { setting: string; value: string; source: string }[];
    return { out, of: new Map(rows.map(({ setting, value, source }) => [setting, [value, source]])) };
  };
  const { out, of } = await show();
  assert.deepEqual(of.get("db"), [place.env.PURSER_DB, "PURSER_DB"]);
  assert.deepEqual(of.get("host"), ["::1", "PURSER_HOST"]);
  assert.deepEqual(of.get("port"), ["9000", path]);
  assert.deepEqual(of.get("durability"), ["full", "default"]);
  assert.deepEqual(of.get("db_token"), ["set", "a variable"]);
  assert.deepEqual(of.get("OPENAI_API_KEY"), ["set", "environment"]);
  assert.deepEqual(of.get("channels"), ["ops (webhook)", path]);
  assert.deepEqual(of.get("providers"), ["local", path]);
  assert.deepEqual(of.get("tools"), [`${place.folder}/tools.ts`, path]);
  const remote = await show("--profile", "prod");
  assert.deepEqual(remote.of.get("server"), ["https://books.example", "server of the profile prod"]);
  assert.deepEqual(remote.of.get("api_key"), ["set", path]);
  const table = (await inProcess(place, ["config", "show"])).out;
  for (const secret of ["psr_of", "s3cret", "pw", "short", "t0ken", "sk-1"]) {
    for (const text of [out, remote.out, table]) assert.ok(!text.includes(secret), secret);
  }
});

Deno.test("config check names every fault with its path, and the files that are missing", async () => {
  const check = async (config: unknown) => {
    const { place, path } = await configPlace(config);
    await using _place = place;
    const { code, out } = await inProcess(place, ["config", "check"]);
    return {
      code,
      lines: out.replaceAll(path, "FILE").replaceAll(place.folder, "FOLDER").trim().split("\n"),
    };
  };
  assert.deepEqual(await check({ ...CONFIG, tools: [] }), { code: 0, lines: ["FILE is valid"] });
  const many = {
    port: "x",
    prot: 1,
    durability: "fast",
    limits: { runs: 0 },
    week_start: 1,
    tools: 7,
    host: "",
  };
  const { code, lines } = await check(many);
  assert.deepEqual([code, lines.length, lines.at(-1)], [1, 8, "7 faults in FILE"]);
  assert.ok(lines.includes("prot is not a setting; did you mean port?"), lines.join("\n"));
  assert.deepEqual(await check(CONFIG), {
    code: 1,
    lines: [
      "tools: FOLDER/tools.ts: no such file or directory; correct its path",
      "1 fault in FILE",
    ],
  });
  const broken = await check('{ "port": ');
  assert.equal(broken.code, 1);
  assert.match(broken.lines[0]!, /^Cannot use the config file FILE: .*line 1/);
});
