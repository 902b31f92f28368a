import assert from "node:assert/strict";
import { fixedClock } from "../kernel/clock.ts";
import { memoryTerminal } from "../../tests/harness/memory_terminal.ts";
import { inDirectory } from "../../tests/harness/in_directory.ts";
import { PurserError } from "../kernel/errors.ts";
import type { Release } from "../kernel/version.ts";
import { main } from "./mod.ts";
import { findUpdate } from "./update_hint.ts";

const REPOSITORY = "https://github.com/owner/purser";
const RELEASE: Release = { kind: "npm", repository: `git+${REPOSITORY}.git` };
const HOUR_MS = 3_600_000;
const answer = (version: string, repository = `git+${REPOSITORY}.git`) =>
  Response.json({ name: "purser", version, repository: { type: "git", url: repository } });

/** A machine whose registry gives these answers, one after the other. */
function machine(folder: string, answers: (() => Response)[], release = RELEASE) {
  const clock = fixedClock("2026-11-27T12:00:00.000Z");
  const asked: string[] = [];
  const fetch = (input: unknown) => {
    asked.push(String(input));
    const next = answers.shift();
    return next ? Promise.resolve(next()) : Promise.reject(new Error("offline"));
  };
  const look = async ({ isTold = true, env = {}, signal }: {
    isTold?: boolean;
    env?: Record<string, string>;
    signal?: AbortSignal;
  } = {}) => {
    const hint = await findUpdate({
      clock,
      fetch: fetch as typeof globalThis.fetch,
      release,
      registry: "https://registry.example/npm",
      env: { HOME: "/nowhere", XDG_CACHE_HOME: folder, ...env },
      signal,
    });
    if (hint && isTold) assert.equal(await hint.remember(), true);
    return hint?.text;
  };
  return { clock, asked, look };
}

Deno.test("findUpdate() asks once a day, tells once a day, and is silent once the release is there", () =>
  inDirectory(async (folder) => {
    const { clock, asked, look } = machine(folder, [
      () => answer("0.2.0"),
      () => answer("0.10.1"),
      () => answer("0.1.0"),
    ]);
    const text = "purser 0.2.0 is available, this is 0.1.0: npm install --global purser@0.2.0";
    assert.equal(await look({ isTold: false }), text);
    assert.equal(await look(), text, "a hint that wasn't told is one still");
    assert.equal(await look(), undefined);
    assert.deepEqual(asked, ["https://registry.example/npm/purser/latest"]);
    clock.advance(24 * HOUR_MS);
    assert.match(await look() ?? "", /^purser 0\.10\.1 is available/);
    clock.advance(24 * HOUR_MS);
    assert.equal(await look(), undefined);
    clock.advance(-48 * HOUR_MS);
    assert.equal(await look(), undefined);
    assert.equal(asked.length, 4, "a clock that was set back doesn't silence it for long");
  }));

Deno.test("findUpdate() believes only the package of its own repository, with a version of three numbers", async () => {
  for (
    const [name, response] of [
      ["another's package", () => answer("9.0.0", "git+https://github.com/other/purser.git")],
      ["no repository", () => Response.json({ version: "9.0.0" })],
      ["a version that is none", () => answer("9.0.0\u001b[2J")],
      ["a version before a release", () => answer("9.0.0-rc.1")],
      ["an older version", () => answer("0.0.9")],
      ["no JSON", () => new Response("<html>")],
      ["no such package", () => new Response("{}", { status: 404 })],
      [
        "a redirect",
        () => new Response(null, { status: 302, headers: { location: "https://evil.example" } }),
      ],
      ["an endless answer", () => new Response(" ".repeat(2 ** 20) + "{}")],
    ] as const
  ) {
    await inDirectory(async (folder) => {
      const { clock, asked, look } = machine(folder, [response]);
      assert.equal(await look(), undefined, name);
      clock.advance(23 * HOUR_MS);
      assert.equal(await look(), undefined, name);
      assert.equal(asked.length, 1, `${name}: nothing more is asked that day`);
    });
  }
});

Deno.test("findUpdate() asks again an hour after a command that was over before the answer", () =>
  inDirectory(async (folder) => {
    const { clock, asked, look } = machine(folder, []);
    await assert.rejects(look({ signal: AbortSignal.abort() }), /offline/);
    clock.advance(HOUR_MS - 1);
    assert.equal(await look(), undefined);
    assert.equal(asked.length, 1);
    clock.advance(1);
    assert.equal(await look(), undefined);
    assert.equal(asked.length, 2);
  }));

Deno.test("findUpdate() asks nothing where it can't keep that it has asked", () =>
  inDirectory(async (folder) => {
    const { asked, look } = machine(folder, [() => answer("0.2.0")]);
    await Deno.writeTextFile(`${folder}/purser`, "no folder");
    await assert.rejects(look(), /^PurserError: Cannot write .*update\.json/);
    assert.equal(await look({ env: { XDG_CACHE_HOME: "", HOME: "" } }), undefined);
    assert.deepEqual(asked, []);
  }));

Deno.test("findUpdate() says for each kind of installation how it is updated", async () => {
  const cases: [Release["kind"], Record<string, string>, string][] = [
    ["npm", {}, "npm install --global purser@0.2.0"],
    ["npm", { npm_command: "exec" }, "npx purser@0.2.0"],
    ["npm", { npm_command: "run-script" }, "npm install purser@0.2.0"],
    ["bundle", {}, `deno task bundle in version 0.2.0 of ${REPOSITORY}, then install it again`],
    ["binary", {}, `replace this file by that of version 0.2.0, from ${REPOSITORY}`],
    ["image", {}, "pull the image of version 0.2.0, and start it over the same volume"],
  ];
  for (const [kind, env, command] of cases) {
    await inDirectory(async (folder) => {
      const { look } = machine(folder, [() => answer("0.2.0")], { kind, repository: REPOSITORY });
      assert.equal(await look({ env }), `purser 0.2.0 is available, this is 0.1.0: ${command}`);
    });
  }
});

/** Runs a command to its end, with time enough for a hint; returns what it says. */
async function run(
  { args = [], env = {}, isTerminal = true, isRelease = true }: {
    args?: string[];
    env?: Record<string, string>;
    isTerminal?: boolean;
    isRelease?: boolean;
  },
) {
  let said = "";
  await inDirectory(async (folder) => {
    await Deno.mkdir(`${folder}/purser`);
    const answered_at = new Date(Date.now() - HOUR_MS).toISOString();
    await Deno.writeTextFile(
      `${folder}/purser/update.json`,
      JSON.stringify({ answered_at, asked_at: answered_at, latest: "0.2.0" }),
    );
    const terminal = memoryTerminal({ columns: isTerminal ? 80 : undefined });
    const code = await main(["budgets", "list", ...args], {
      terminal,
      release: isRelease ? RELEASE : undefined,
      fetch: () => assert.fail("the registry has answered today"),
      env: { HOME: folder, XDG_CACHE_HOME: folder, ...env },
      async connect() {
        // Far more turns of the event loop than a hint takes.
        for (let i = 0; i < 300; i++) await Deno.stat(folder);
        throw new PurserError("unavailable", "Cannot reach the server");
      },
    });
    assert.equal(code, 1);
    said = terminal.err;
  });
  return said;
}

Deno.test("a command on a terminal ends with the hint, and keeps its result; others say and ask nothing", async () => {
  assert.match(
    await run({}),
    /^purser 0\.2\.0 is available, this is 0\.1\.0: npm .*\nerror: Cannot reach the server\n$/,
  );
  const silent: [string, Parameters<typeof run>[0]][] = [
    ["no terminal", { isTerminal: false }],
    ["--json", { args: ["--json"] }],
    ["CI", { env: { CI: "true" } }],
    ["NO_UPDATE_NOTIFIER", { env: { NO_UPDATE_NOTIFIER: "1" } }],
    ["PURSER_UPDATE_CHECK=off", { env: { PURSER_UPDATE_CHECK: "off" } }],
    ["a build that is no release", { isRelease: false }],
  ];
  for (const [name, options] of silent) {
    const said = await run(options);
    assert.match(said, /Cannot reach the server/, name);
    assert.doesNotMatch(said, /is available/, name);
  }
});

Deno.test("an address of a registry that isn't https:// is refused, before anything is asked", async () => {
  const terminal = memoryTerminal({ columns: 80 });
  const env = { PURSER_UPDATE_CHECK: "http://registry.example" };
  assert.equal(await main(["config", "show"], { terminal, env, release: RELEASE }), 2);
  assert.match(
    terminal.err,
    /Cannot use PURSER_UPDATE_CHECK: http:\/\/ is not allowed; give an https:\/\/ URL/,
  );
});
