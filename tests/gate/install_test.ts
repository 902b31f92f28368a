import assert from "node:assert/strict";
import { main } from "../../src/cli/mod.ts";
import { inProcess } from "../harness/in_process.ts";
import { memoryTerminal } from "../harness/memory_terminal.ts";
import { type AgentPlace, newAgentPlace } from "./agent_place.ts";

/** `purser gate install` and `uninstall` over the settings files of users. */

const FILES: Readonly<Record<string, string>> = {
  "claude-code": ".claude/settings.json",
  codex: ".codex/hooks.json",
  copilot: ".copilot/hooks/purser.json",
  gemini: ".gemini/settings.json",
};

const SETTINGS = `\uFEFF{
  // which model
  "model": "opus",
  "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }] },
}
`;

const gate = (place: AgentPlace, ...args: string[]) => inProcess(place, ["gate", ...args]);

async function succeed(place: AgentPlace, ...args: string[]): Promise<string> {
  const { code, out, err } = await gate(place, ...args);
  assert.equal(code, 0, err);
  return out;
}

/** Writes the settings of Claude Code. */
async function writeSettings(place: AgentPlace, text = SETTINGS): Promise<string> {
  const path = `${place.env.HOME}/.claude/settings.json`;
  await Deno.mkdir(`${place.env.HOME}/.claude`, { recursive: true });
  await Deno.writeTextFile(path, text);
  return path;
}

const exists = (path: string) => Deno.stat(path).then(() => true, () => false);
const read = (path: string) => Deno.readTextFile(path).then((text) => text, () => undefined);
/** With the byte order mark, which Deno leaves out. */
const bytes = async (path: string) =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(await Deno.readFile(path));

for (const [agent, file] of Object.entries(FILES)) {
  Deno.test(`gate install ${agent} creates the settings, changes nothing the second time, and uninstall removes them`, async () => {
    await using place = await newAgentPlace();
    const path = `${place.env.HOME}/${file}`;
    const said = await succeed(place, "install", agent, "--yes");
    assert.match(said, new RegExp(`^Set the gate of .* in ${path}\n$`));
    const written = await bytes(path);
    assert.match(
      written,
      new RegExp(`"purser gate --agent ${agent} --on-error open --db ${place.env.PURSER_DB}"`),
    );
    assert.match(await succeed(place, "install", agent, "--yes"), /is set already/);
    assert.equal(await bytes(path), written);
    assert.match(await succeed(place, "uninstall", agent, "--yes"), /^Removed the gate/);
    assert.equal(await exists(path), false);
    assert.match(await succeed(place, "uninstall", agent, "--yes"), /is not set/);
  });
}

Deno.test("gate install keeps what is there, and uninstall restores it to the byte", async () => {
  await using place = await newAgentPlace();
  const path = await writeSettings(place);
  await succeed(place, "install", "claude-code", "--yes");
  const installed = await bytes(path);
  assert.match(installed, /^\uFEFF\{\n {2}\/\/ which model\n/);
  assert.match(installed, /"say done"/);
  assert.equal(await bytes(`${path}.before-purser`), SETTINGS);

  // Another policy replaces the hook, and the copy stays that of the time before.
  await succeed(place, "install", "claude-code", "--yes", "--on-error", "closed");
  assert.equal((await bytes(path)).match(/--on-error closed/g)?.length, 2);
  assert.doesNotMatch(await bytes(path), /--on-error open/);

  await succeed(place, "uninstall", "claude-code", "--yes");
  assert.equal(await bytes(path), SETTINGS);
  assert.equal(await exists(`${path}.before-purser`), false);
});

Deno.test("gate uninstall keeps what has changed since", async () => {
  await using place = await newAgentPlace();
  const path = await writeSettings(place);
  await succeed(place, "install", "claude-code", "--yes");
  await Deno.writeTextFile(path, (await bytes(path)).replace('"opus"', '"haiku"'));
  await succeed(place, "uninstall", "claude-code", "--yes");
  assert.equal(await bytes(path), SETTINGS.replace('"opus"', '"haiku"'));
});

Deno.test("gate install asks on a terminal after it has shown what changes, and refuses to without one", async () => {
  await using place = await newAgentPlace();
  const path = await writeSettings(place);
  const refused = await gate(place, "install", "claude-code");
  assert.equal(refused.code, 2);
  assert.match(refused.err, /^error: Cannot ask whether to change .*: there is no terminal; add --yes$/m);
  for (const [key, code] of [["n", 1], ["y", 0]] as const) {
    assert.equal(await bytes(path), SETTINGS);
    const terminal = memoryTerminal({ columns: 100, keys: [key] });
    assert.equal(await main(["gate", "install", "claude-code"], { terminal, env: place.env }), code);
    assert.match(terminal.err, /^ {2}"model": "opus",$|^ {4}"model": "opus",$/m);
    assert.match(terminal.err, /^\+ .*UserPromptSubmit/m);
    assert.match(terminal.err, /Change it\? \[y\/N\] [ny]\n/);
  }
  assert.notEqual(await bytes(path), SETTINGS);
});

Deno.test("gate install refuses broken settings with line and column, and changes nothing", async () => {
  await using place = await newAgentPlace();
  const broken = '{\n  "model": "opus"\n  "env": {}\n}\n';
  const path = await writeSettings(place, broken);
  const { code, err } = await gate(place, "install", "claude-code", "--yes");
  assert.equal(code, 1);
  assert.match(
    err,
    /^error: Cannot edit .*settings\.json: line 3, column 3: comma expected; nothing was changed$/m,
  );
  assert.equal(await bytes(path), broken);
  assert.deepEqual(Array.from(Deno.readDirSync(`${place.env.HOME}/.claude`), ({ name }) => name), [
    "settings.json",
  ]);
});

Deno.test("gate install refuses settings that are not in UTF-8, and changes nothing", async () => {
  await using place = await newAgentPlace();
  const path = await writeSettings(place);
  const latin = Uint8Array.from([
    ...new TextEncoder().encode('{"a":"'),
    0xe9,
    ...new TextEncoder().encode('"}'),
  ]);
  await Deno.writeFile(path, latin);
  const { code, err } = await gate(place, "install", "claude-code", "--yes");
  assert.equal(code, 1);
  assert.match(err, /^error: Cannot read .*settings\.json: it is not in UTF-8$/m);
  assert.deepEqual(await Deno.readFile(path), latin);
});

Deno.test("gate install edits the file that a symbolic link leads to, and leaves the link", async () => {
  await using place = await newAgentPlace();
  const path = await writeSettings(place);
  const target = `${place.folder}/dotfiles.json`;
  await Deno.rename(path, target);
  await Deno.symlink(target, path);
  await succeed(place, "install", "claude-code", "--yes");
  assert.ok((await Deno.lstat(path)).isSymlink);
  assert.match(await bytes(target), /gate --agent claude-code/);
  await succeed(place, "uninstall", "claude-code", "--yes");
  assert.ok((await Deno.lstat(path)).isSymlink);
  assert.equal(await bytes(target), SETTINGS);

  await Deno.remove(target);
  await succeed(place, "install", "claude-code", "--yes");
  assert.ok((await Deno.lstat(path)).isSymlink);
  assert.match(await bytes(target), /gate --agent claude-code/);
});

Deno.test("gate install follows each link to a file that is yet to be created, and ends where links lead in a circle", async () => {
  await using place = await newAgentPlace();
  const path = await writeSettings(place);
  const [middle, target] = [`${place.folder}/middle.json`, `${place.folder}/target.json`];
  await Deno.remove(path);
  await Deno.symlink(middle, path);
  await Deno.symlink("target.json", middle);
  await succeed(place, "install", "claude-code", "--yes");
  assert.deepEqual((await Promise.all([path, middle].map(Deno.lstat))).map(({ isSymlink }) => isSymlink), [
    true,
    true,
  ]);
  assert.match(await bytes(target), /gate --agent claude-code/);

  await Deno.remove(middle);
  await Deno.symlink(path, middle);
  const { code, err } = await gate(place, "install", "claude-code", "--yes");
  assert.equal(code, 1);
  assert.match(err, /^error: Cannot read .*: too many levels of symbolic links/m);
});

Deno.test("gate install refuses settings that are a pipe, and waits for nothing", async () => {
  await using place = await newAgentPlace();
  const path = await writeSettings(place);
  await Deno.remove(path);
  await new Deno.Command("mkfifo", { args: [path] }).output();
  const { code, err } = await gate(place, "install", "claude-code", "--yes");
  assert.equal(code, 1);
  assert.match(err, /^error: Cannot read .*settings\.json: it is not a file$/m);
});

Deno.test("gate install leaves a file that is read-only, and keeps the permissions of another", async () => {
  await using place = await newAgentPlace();
  const path = await writeSettings(place);
  await Deno.chmod(path, 0o444);
  const { code, err } = await gate(place, "install", "claude-code", "--yes");
  assert.equal(code, 1);
  assert.match(err, /^error: Cannot write .*settings\.json: it is read-only$/m);
  assert.equal(await bytes(path), SETTINGS);
  assert.equal(await exists(`${path}.before-purser`), false);
  await Deno.chmod(path, 0o640);
  await succeed(place, "install", "claude-code", "--yes");
  assert.equal((await Deno.stat(path)).mode! & 0o777, 0o640);
});

Deno.test("gate install says that a folder is a file, and that settings are a folder", async () => {
  await using place = await newAgentPlace();
  await Deno.writeTextFile(`${place.env.HOME}/.codex`, "");
  await Deno.mkdir(`${place.env.HOME}/.gemini/settings.json`, { recursive: true });
  for (const [agent, reason] of [["codex", "not a directory"], ["gemini", "is a directory"]] as const) {
    const { code, err } = await gate(place, "install", agent, "--yes");
    assert.equal(code, 1);
    assert.match(err, new RegExp(`^error: Cannot read .*: ${reason}$`, "m"));
  }
});

Deno.test("two installations at once leave one gate, and a copy from which the settings are restored", async () => {
  await using place = await newAgentPlace();
  const path = await writeSettings(place);
  const outcomes = await Promise.all([1, 2, 3].map(() => gate(place, "install", "claude-code", "--yes")));
  assert.ok(outcomes.some(({ code }) => code === 0));
  assert.equal((await bytes(path)).match(/gate --agent/g)?.length, 2, "one for each event");
  await succeed(place, "uninstall", "claude-code", "--yes");
  assert.equal(await bytes(path), SETTINGS);
});

Deno.test("gate install --project names nothing of this machine", async () => {
  await using place = await newAgentPlace();
  const before = Deno.cwd();
  Deno.chdir(place.folder);
  try {
    await succeed(place, "install", "copilot", "--project", "--yes");
  } finally {
    Deno.chdir(before);
  }
  const { version, hooks } = JSON.parse((await read(`${place.folder}/.github/hooks/purser.json`))!);
  const command = "purser gate --agent copilot --on-error open";
  assert.deepEqual([version, hooks], [1, {
    permissionRequest: [{ type: "command", bash: command, powershell: command, timeoutSec: 30 }],
  }]);
  assert.equal((await gate(place, "install", "codex", "--project", "--user")).code, 2);
});
