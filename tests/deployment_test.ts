import assert from "node:assert/strict";
import { join } from "node:path";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { readEnvironment } from "../src/config/mod.ts";
import { VERSION } from "../src/kernel/version.ts";
import { newPlace } from "./harness/cli_process.ts";
import { inProcess } from "./harness/in_process.ts";
import { denoCacheVariables } from "./harness/cache_variables.ts";
import { below, findContainerBuild, readDockerfile } from "./harness/container_build.ts";
import { installCli } from "./harness/installed_cli.ts";

/**
 * The image and the service without a container engine: the commands of the Dockerfile are run with its folders below another
 * one. container_image_test.ts builds and runs the image.
 */

const ROOT = new URL("..", import.meta.url).pathname;

interface Ran {
  code: number;
  out: string;
  err: string;
}

async function run([program, ...args]: string[], options: Deno.CommandOptions): Promise<Ran> {
  const { code, stdout, stderr } = await new Deno.Command(program!, { args, ...options }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}

/** Starts a server, and returns its port once it answers. */
async function startServer([program, ...args]: string[], options: Deno.CommandOptions) {
  const child = new Deno.Command(program!, {
    args,
    ...options,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  })
    .spawn();
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  let port: string | undefined;
  while (port === undefined) {
    const { done, value } = await reader.read();
    assert.ok(!done, said);
    port = /answers at http:\/\/[\d.]+:(\d+)/.exec(said += value)?.[1];
  }
  return {
    port,
    /** Ends it as a service manager does, and returns its exit code. */
    async stop(): Promise<number> {
      child.kill("SIGTERM");
      while (!(await reader.read()).done);
      return (await child.status).code;
    },
  };
}

Deno.test("the container file's commands build Purser from what it copies, and start it", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "purser_container_" }));
  const { PATH = "", HOME = "" } = readEnvironment();
  let env: Record<string, string> = { PATH, HOME, ...denoCacheVariables() };
  let [healthCheck, entryPoint, command]: [string[], string[], string[]] = [[], [], []];
  const made = await findContainerBuild();
  let stages = 0;
  for (const { name, rest } of await readDockerfile()) {
    const list = () => JSON.parse(below(folder, rest.slice(rest.indexOf("[")))) as string[];
    if (name === "ARG" && rest.startsWith("BASE=")) {
      assert.equal(rest, `BASE=denoland/deno:${Deno.version.deno}`);
    } else if (name === "ARG" && rest.startsWith("VERSION=")) assert.equal(rest, `VERSION=${VERSION}`);
    else if (name === "COPY") {
      if (stages === 1) continue; // it was copied before that stage was run
      const [, from, to] = /^--from=build (?:--chown=\S+ )?\/made(\/\S+) (\/\S*)$/.exec(rest) ??
        assert.fail(rest);
      const target = join(folder, to!);
      await Deno.mkdir(target, { recursive: true });
      assert.equal((await run(["cp", "-a", `${made}${from}.`, target], {})).code, 0, rest);
    } else if (name === "ENV") {
      // Deno's cache has the packages of the build, and what it has compiled is no part of the image.
      const pairs = below(folder, rest).split(" ").filter((pair) => !pair.startsWith("DENO_DIR="));
      env = { ...env, ...Object.fromEntries(pairs.map((pair) => pair.split("=") as [string, string])) };
    } else if (name === "ENTRYPOINT") entryPoint = list();
    else if (name === "CMD") command = list();
    else if (name === "HEALTHCHECK") healthCheck = list();
    else if (name === "FROM") stages++;
    else assert.match(name, /^(ARG|LABEL|WORKDIR|USER|VOLUME|EXPOSE|RUN)$/);
  }
  assert.equal((await Deno.stat(`${folder}/data`)).mode! & 0o777, 0o700);
  assert.deepEqual(entryPoint.filter((word) => word.startsWith("--allow")), CLI_PERMISSIONS);

  const options = { cwd: folder, env, clearEnv: true };
  const refused = await run([...entryPoint, ...command, "--port", "0"], options);
  assert.equal(refused.code, 4);
  assert.match(refused.err, /without an API key any client that reaches it could spend your money/);
  const created = await run([...entryPoint, "keys", "create", "ops", "--scope", "admin"], options);
  assert.match(created.out, /^psr_\w+\n$/, created.err);
  const server = await startServer([...entryPoint, ...command, "--port", "0"], options);
  const at = healthCheck.map((word) => word.replace("8420", server.port));
  assert.equal((await run(at, options)).code, 0);
  const key = created.out.trim();
  const asked = ["cost", "--server", `http://127.0.0.1:${server.port}`, "--api-key", key];
  assert.match((await run([...entryPoint, ...asked], options)).out, /^No model call/);
  assert.equal(await server.stop(), 0);
  assert.equal((await run(at, options)).code, 1);
  await Deno.stat(`${folder}/data/purser.db`);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("compose.yaml mounts files that exist, and Prometheus has its key where compose.yaml puts it", async () => {
  const compose = await Deno.readTextFile(join(ROOT, "compose.yaml"));
  const mounted = [...compose.matchAll(/\.\/(deploy\/[\w./-]+):\//g)].map(([, path]) => path!);
  assert.ok(mounted.length >= 5);
  for (const path of mounted) await Deno.stat(join(ROOT, path));
  const [secret] = /(?<=secrets: \[)\w+/.exec(compose)!;
  const scraping = await Deno.readTextFile(join(ROOT, "deploy/prometheus/prometheus.yml"));
  assert.ok(scraping.includes(`credentials_file: /run/secrets/${secret}\n`));
});

for (
  const [what, ...command] of [
    ["compose.yaml", "docker-compose", "config", "--quiet"],
    ["the Caddyfile", "caddy", "validate", "--adapter", "caddyfile", "--config", "deploy/Caddyfile"],
  ] as const
) {
  const hasProgram = await run([command[0]!, "version"], {}).then(() => true, () => false);
  Deno.test({
    name: `${command[0]} accepts ${what}${hasProgram ? "" : ` (${command[0]} is not installed)`}`,
    ignore: !hasProgram,
    async fn() {
      // The secret of compose.yaml is a file that its user makes.
      const { code, err } = await run([...command], { cwd: ROOT });
      assert.equal(code, 0, err);
    },
  });
}

const hasSystemd = await new Deno.Command("systemd-analyze", { args: ["--version"] }).output()
  .then(({ success }) => success, () => false);

Deno.test({
  name: "the unit of the machine is valid to systemd, and its command serves with its environment",
  ignore: !hasSystemd,
  async fn() {
    const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "purser_unit_" }));
    const installed = await installCli(folder);
    const { PATH = "" } = readEnvironment();
    const printed = await run([installed, "service", "install", "--system-wide", "--print"], {
      env: { PATH, HOME: folder, ...denoCacheVariables() },
      clearEnv: true,
    });
    assert.equal(printed.code, 0, printed.err);
    const unit = printed.out;
    await verifyUnit(folder, unit);
    for (const line of ["User=purser", "ProtectSystem=strict", "NoNewPrivileges=yes"]) {
      assert.ok(unit.includes(`\n${line}\n`), line);
    }

    const env: Record<string, string> = { PATH };
    for (const [, name, value] of unit.matchAll(/^Environment=(\w+)=(.*)$/gm)) {
      env[name!] = value!.replace(/^\/(?=var|etc)/, `${folder}/`);
    }
    await Deno.mkdir(`${folder}/var/lib/purser`, { recursive: true });
    const [command] = /(?<=^ExecStart=).*$/m.exec(unit)!;
    const server = await startServer([...command.split(" "), "--port", "0"], {
      cwd: folder,
      env,
      clearEnv: true,
    });
    assert.equal(
      (await fetch(`http://127.0.0.1:${server.port}/readyz`).then((answer) => answer.json())).status,
      "ok",
    );
    assert.equal(await server.stop(), 0);
    await Deno.stat(`${folder}/var/lib/purser/purser.db`);
    await Deno.remove(folder, { recursive: true });
  },
});

Deno.test({
  name:
    "service install writes a unit of this user over the database of the line, and uninstall removes it, once",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using place = await newPlace();
    place.env.XDG_CONFIG_HOME = `${place.folder}/a folder`;
    const file = `${place.env.XDG_CONFIG_HOME}/systemd/user/purser.service`;
    const database = `${place.folder}/100 % $BOOKS.db`;
    const installed = await inProcess(place, ["service", "install", "--db", database]);
    assert.equal(installed.code, 0, installed.err);
    const unit = await Deno.readTextFile(file);
    assert.ok(installed.out.startsWith(unit), "it shows what it has written");
    assert.match(installed.out, /\n {2}systemctl --user enable --now purser\.service\n$/);
    assert.ok(unit.includes(`serve --db "${place.folder}/100 %% $$BOOKS.db"\n`), unit);
    if (hasSystemd) {
      await verifyUnit(place.folder, unit.replace("ExecStart=purser", "ExecStart=/usr/bin/env purser"));
    }
    const removed = await inProcess(place, ["service", "uninstall"]);
    assert.match(removed.out, /^Removed .*\n\n {2}systemctl --user disable --now purser\.service\n$/);
    assert.equal((await inProcess(place, ["service", "uninstall"])).code, 3);
  },
});

async function verifyUnit(folder: string, unit: string): Promise<void> {
  const path = `${folder}/purser.service`;
  await Deno.writeTextFile(path, unit);
  const { code, err } = await run(["systemd-analyze", "verify", "--man=no", path], {
    env: { SYSTEMD_LOG_LEVEL: "warning" },
  });
  assert.deepEqual([code, err.split("\n").filter((line) => line.includes("purser"))], [0, []], err);
}
