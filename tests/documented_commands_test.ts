import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { installArguments } from "../build/bundle_cli.ts";
import { ROOT } from "../build/run_deno.ts";
import { denoCacheVariables, npmCacheVariables } from "./harness/cache_variables.ts";
import { until } from "./harness/deliveries.ts";
import { newPlace } from "./harness/cli_process.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { findCli, installCli } from "./harness/installed_cli.ts";
import { said, skipNode } from "./harness/node.ts";
import { onTerminal } from "./harness/on_terminal.ts";
import { createNpmProject } from "./harness/npm_project.ts";

/** The commands of the documents can be pasted into any shell, and those that install Purser give a working `purser`. */

const DOCUMENTS = [
  "README.md",
  "CONTRIBUTING.md",
  "build/npm/README.md",
  "docs",
  "examples",
  "plugins",
  "bench",
];

async function readDocuments(path: string): Promise<[path: string, text: string][]> {
  if (path.endsWith(".md")) return [[path, await Deno.readTextFile(join(ROOT, path))]];
  const found: [string, string][] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, path))) {
    if (isDirectory || name.endsWith(".md")) found.push(...await readDocuments(`${path}/${name}`));
  }
  return found;
}

/** Returns the words of a command line that a shell would expand or take as a comment; quoted text is none. */
function unquoted(line: string): string[] {
  return line.replaceAll(/"[^"]*"|'[^']*'/g, "x").split(/\s+/).filter((word) => /^#|[?*]/.test(word));
}

Deno.test("no command of the documents has an unquoted ? or *, or a comment, which zsh refuses at its prompt", async () => {
  const faults: string[] = [];
  let checked = 0;
  for (const document of DOCUMENTS) {
    for (const [path, text] of await readDocuments(document)) {
      for (const [, code] of text.matchAll(/^ *```(?:sh|bash|console|text)\n([^]*?)^ *```/gm)) {
        for (const line of code!.split("\n")) {
          if (!/^\s*(?:\$ )?(?:purser|deno|npx|npm|curl|export|source|cd) /.test(line)) continue;
          checked++;
          for (const word of unquoted(line)) faults.push(`${path}: ${word} in ${line.trim()}`);
        }
      }
    }
  }
  assert.ok(checked > 60, String(checked));
  assert.deepEqual(faults, []);
});

Deno.test("docs/installing.md has the line that deno task bundle prints", async () => {
  const text = (await Deno.readTextFile(join(ROOT, "docs/installing.md"))).replaceAll(/\\\n\s*/g, "");
  assert.ok(text.includes(`\ndeno ${installArguments("dist/bundle").join(" ")}\n`));
});

/** Types keys once the viewer shows its own. */
function typeOnce(keys: string): Parameters<typeof onTerminal>[2] {
  let isTyped = false;
  return async (out, { type }) => {
    if (isTyped || !out.includes("q quit")) return;
    isTyped = true;
    await type(keys);
  };
}

Deno.test("the installed command leaves the terminal to Purser: replay opens with its first step and its keys", async () => {
  await using place = await newPlace();
  const command = await installCli(place.folder);
  const env = { ...place.env, PATH: `${dirname(Deno.execPath())}:${place.env.PATH}`, LANG: "C.UTF-8" };
  const purser = async (line: string) => await onTerminal(`${command} ${line}`, env);
  await purser("agents set helper --model demo:echo");
  await purser("run helper hi --session first");
  for (const line of ["cost", "sessions list"]) {
    // deno-lint-ignore no-control-regex -- the sequences that erase a line and what follows
    assert.doesNotMatch(await purser(line), /\x1b\[2K|\x1b\[J|\x1b\[0G/);
  }
  const shown = await onTerminal(`${command} state replay first`, env, typeOnce("q"));
  assert.match(shown, /Step 1 of 4/);
  const afterKeys = shown.slice(shown.indexOf("q quit"));
  // deno-lint-ignore no-control-regex -- as above
  assert.doesNotMatch(afterKeys.split("\x1b[?7h")[0]!, /\x1b\[2K|\x1b\[J/);
});

Deno.test("an installed release asks the registry once, and tells people at a terminal of a newer one once", async () => {
  await using place = await newPlace();
  const repository = "https://github.com/owner/purser";
  let requests = 0;
  await using registry = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
    requests++;
    return Response.json({ version: "9.8.7", repository: { url: `git+${repository}.git` } });
  });
  const [deno, ...args] = await findCli();
  const release = JSON.stringify({ kind: "binary", repository });
  await Deno.writeTextFile(
    `${place.folder}/release.js`,
    `globalThis.purserRelease = ${release};\nawait import(${JSON.stringify(args.pop())});`,
  );
  const command = [deno, ...args, `${place.folder}/release.js`].join(" ");
  const env = {
    ...place.env,
    LANG: "C.UTF-8",
    XDG_CACHE_HOME: place.folder,
    PURSER_UPDATE_CHECK: `http://127.0.0.1:${registry.addr.port}`,
  };
  await onTerminal(`${command} agents set helper --model demo:echo --json`, env);
  await onTerminal(`${command} run helper hi --session first | cat`, env);
  assert.equal(requests, 0);
  const known = () => Deno.readTextFile(`${place.folder}/purser/update.json`).catch(() => "");
  const typeQuit = typeOnce("q")!;
  const first = await onTerminal(`${command} state replay first`, env, async (out, terminal) => {
    if (out.includes("q quit")) await until(async () => (await known()).includes("latest"));
    await typeQuit(out, terminal);
  });
  const shown = first + await onTerminal(`${command} cost`, env) + await onTerminal(`${command} cost`, env);
  const hints = shown.match(/purser 9\.8\.7 is available, this is .*$/gm)?.map((line) => line.trimEnd());
  assert.equal(hints?.length, 1, shown);
  assert.match(hints[0]!, /replace this file by that of version 9\.8\.7, from https:/);
  assert.equal(requests, 1);
});

/** Creates a folder with Node's programs and a shell as the PATH of a machine without Deno. */
async function pathWithoutDeno(folder: string, node: string): Promise<string> {
  await Deno.mkdir(`${folder}/bin`);
  await Deno.symlink(await Deno.realPath(node), `${folder}/bin/node`);
  for (const name of ["npm", "npx", "sh"]) {
    const found = await said("sh", ["-c", `command -v ${name}`]);
    await Deno.symlink(await Deno.realPath(found), `${folder}/bin/${name}`);
  }
  await assert.rejects(said("sh", ["-c", `PATH=${folder}/bin; command -v deno`]));
  return `${folder}/bin`;
}

async function run(line: string, env: Record<string, string>) {
  const { code, stdout, stderr } = await new Deno.Command(`${env.PATH}/sh`, {
    args: ["-c", line],
    cwd: ROOT,
    clearEnv: true,
    env,
    stdin: "null",
  }).output();
  const text = new TextDecoder();
  return { code, out: text.decode(stdout), err: text.decode(stderr) };
}

/** The version of Deno in the documents, as npm has it. */
const NPM_DENO = /deno@[\d.]+/g;

Deno.test("the documents and the gate name one version of Deno", async () => {
  const texts = (await Promise.all(DOCUMENTS.map(readDocuments))).flat().map(([, text]) => text);
  const named = [...texts, await Deno.readTextFile(join(ROOT, ".ci/run"))]
    .flatMap((text) => [...text.matchAll(NPM_DENO)].map(([name]) => name));
  assert.equal(new Set(named).size, 1, named.join(" "));
});

const readme = await Deno.readTextFile(join(ROOT, "README.md"));
const [withNpx] = /^npx -y deno@[^\n]* cli\.ts cost$/m.exec(readme)!;
const hasNpmDeno = !skipNode &&
  await said("npx", ["-y", "--offline", NPM_DENO.exec(withNpx)![0], "--version"]).then(
    () => true,
    () => false,
  );

Deno.test({
  name: "the README's line for machines with Node alone works without deno on the PATH",
  ignore: !hasNpmDeno && Deno.env.get("PURSER_REQUIRE_ALL") !== "1",
  fn: () =>
    inDirectory(async (folder) => {
      const { HOME = "" } = Deno.env.toObject();
      const PATH = await pathWithoutDeno(folder, await said("node", ["-p", "process.execPath"]));
      const caches = { ...denoCacheVariables(), ...await npmCacheVariables() };
      const env = { PATH, HOME, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder, ...caches };
      const { code, out, err } = await run(withNpx.replace("npx -y", "npx -y --offline"), env);
      assert.deepEqual([code, out], [0, "No model call has been booked yet\n"], err);
    }),
});

Deno.test({
  name: "the command of the npm package works without deno on the PATH",
  ignore: skipNode,
  fn: () =>
    inDirectory(async (folder) => {
      const project = await createNpmProject();
      const { name, version } = project.built;
      const installing = await Deno.readTextFile(join(ROOT, "docs/installing.md"));
      assert.ok(installing.includes(`npm install --global ./${name}-${version}.tgz\n`));
      const PATH = await pathWithoutDeno(folder, project.node);
      const env = { PATH, HOME: folder };
      const { code, out, err } = await run(`${project.folder}/node_modules/.bin/purser cost`, env);
      await Deno.remove(project.folder, { recursive: true });
      assert.deepEqual([code, out], [0, "No model call has been booked yet\n"], err);
    }),
});
