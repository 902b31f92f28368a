import assert from "node:assert/strict";
import { delimiter, dirname, join } from "node:path";
import { ROOT } from "../build/run_deno.ts";
import { npmCacheVariables } from "./harness/cache_variables.ts";
import { newPlace, untilItAnswers } from "./harness/cli_process.ts";
import { composeMissing, openComposeNetwork } from "./harness/compose_network.ts";
import { until } from "./harness/deliveries.ts";
import { blocks, readDocument, words } from "./harness/documents.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { findCli } from "./harness/installed_cli.ts";
import { nodeMissing, nodeOfVersion, said, WITH_NPX } from "./harness/node.ts";
import { createNpmProject } from "./harness/npm_project.ts";

/** The ways of docs/five_minutes.md from nothing to a booked call, in thorough runs; container_image_test.ts has the image. */

const NPM_TARBALL = "purser-0.1.0.tgz";

/** Returns the commands below a heading, those that `docker compose` runs in a container without its words. */
async function linesOf(heading: string, language: string): Promise<string[]> {
  const text = await readDocument("docs/five_minutes.md");
  return blocks(text, language, heading).join("").trim().replaceAll(/\\\n\s*/g, "").split("\n");
}

for (const version of nodeMissing === undefined ? WITH_NPX : []) {
  Deno.test(`docs/five_minutes.md: with npm alone, Node ${version} and an empty home, a run is booked and served`, () =>
    inDirectory(async (home) => {
      const [build, pack, install, ...commands] = await linesOf("With npm alone", "sh");
      assert.match(build!, /^npx -y deno@\S+ task npm$/); // The package is the one that all test files share.
      const project = await createNpmProject();
      await said(
        "npm",
        [...words(pack!.replace("./npm", `${project.folder}/build`)).slice(1), "--silent"],
        home,
      );
      await Deno.mkdir(`${home}/bin`);
      await Deno.symlink(await nodeOfVersion(version), `${home}/bin/node`);
      const programs = dirname(await said("sh", ["-c", "command -v npm"]));
      const certificates = Deno.env.get("NODE_EXTRA_CA_CERTS");
      const env: Record<string, string> = {
        HOME: home,
        PATH: [`${home}/bin`, `${home}/prefix/bin`, programs, "/usr/bin", "/bin"].join(delimiter),
        npm_config_prefix: `${home}/prefix`,
        ...await npmCacheVariables(),
        npm_config_prefer_offline: "true",
        ...certificates && { NODE_EXTRA_CA_CERTS: certificates },
        NO_COLOR: "1",
      };
      const start = (line: string) => {
        const [program, ...args] = words(line);
        const options = { args, cwd: home, env, clearEnv: true, stdin: "null" } as const;
        return new Deno.Command("env", {
          ...options,
          args: [program!, ...args],
          stdout: "piped",
          stderr: "piped",
        })
          .spawn();
      };
      const run = async (line: string) => {
        const { code, stdout, stderr } = await start(line).output();
        const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
        assert.equal(code, 0, `${line}\n${out}${err}`);
        return out!;
      };
      await run(install!);
      const serve = commands.pop()!;
      let printed = "";
      for (const line of commands) printed += await run(line);
      assert.match(printed, /The calculator says 391\.[^]*^helper +█+ +\$0\.0001074 /m);
      const server = start(`${serve} --port 0`);
      const { url, drained } = await untilItAnswers(server);
      const page = await (await fetch(`${url}/ui/`)).text();
      assert.match(page, /<title>Purser<\/title>/);
      const costs = await (await fetch(`${url}/costs`)).json();
      assert.deepEqual(costs.map((row: Record<string, unknown>) => [row.agent_id, row.cost_usd]), [
        ["helper", 0.0001074],
      ]);
      server.kill("SIGTERM");
      await Promise.all([drained, server.stdout.cancel(), server.status]);
      assert.match(await run(`npx --yes --package ./${NPM_TARBALL} purser --version`), /^purser 0\.1\.0$/m);
    }));
}

Deno.test({
  name: "docs/five_minutes.md: Purser, Caddy and Prometheus start together with the files of compose.yaml" +
    (composeMissing === undefined ? "" : ` (${composeMissing})`),
  ignore: composeMissing !== undefined,
  fn: () =>
    inDirectory(async (folder) => {
      await using place = await newPlace();
      await using network = await openComposeNetwork(folder);
      const [deno, ...cli] = await findCli();
      const env = { ...place.env, PURSER_CONFIG: join(ROOT, "deploy/purser.json") };
      const purser = (...args: string[]) =>
        network.run("env", ...Object.entries(env).map((pair) => pair.join("=")), deno, ...cli, ...args);
      const keys: Record<string, string> = {};
      const [, ops, prometheus] = await linesOf("With TLS, Prometheus and Grafana", "text");
      for (const line of [ops!, prometheus!]) {
        const [, args, file] = /^docker compose run --rm purser (.*) > (\S+)$/.exec(line)!;
        keys[file!] = await purser(...words(args!));
      }
      await Deno.writeTextFile(`${folder}/secrets/purser_metrics_key`, keys["deploy/metrics.key"]!);

      network.start(env, deno, ...cli, "serve", "--host", "0.0.0.0");
      const caddyfile = ["--adapter", "caddyfile", "--config", join(ROOT, "deploy/Caddyfile")];
      network.start({ HOME: folder, XDG_DATA_HOME: folder }, "caddy", "run", ...caddyfile);
      const config = `--config.file=${join(ROOT, "deploy/prometheus/prometheus.yml")}`;
      network.start({}, "prometheus", config, `--storage.tsdb.path=${folder}/tsdb`);

      const root = `${folder}/caddy/pki/authorities/local/root.crt`;
      const curl = (...args: string[]) => network.run("curl", "-fsSg", "--cacert", root, ...args);
      const authorized = ["-H", `authorization: Bearer ${keys["ops.key"]}`];
      await until(() => curl("https://localhost/readyz").then(() => true, () => false));
      const call = [{ call_id: "a", at: new Date().toISOString(), agent_id: "nightly", provider: "acme" }]
        .map((one) => ({ ...one, model: "m", input_tokens: 10, output_tokens: 2, cost_usd: 0.25 }));
      const json = ["-H", "content-type: application/json", "-d", JSON.stringify(call)];
      assert.match(await curl("https://localhost/costs/events", ...authorized, ...json), /"booked":1/);
      const costs = JSON.parse(await curl("https://localhost/costs", ...authorized));
      assert.deepEqual(costs.map((row: Record<string, unknown>) => row.cost_usd), [0.25]);
      await assert.rejects(curl("https://localhost/costs"), /401/);

      const query = async (expr: string) => {
        const answer = JSON.parse(
          await curl(`http://localhost:9090/api/v1/query?query=${encodeURIComponent(expr)}`),
        );
        return answer.data.result.map(({ value }: { value: [number, string] }) => Number(value[1]));
      };
      // The interval of deploy/prometheus is as long as `until()` waits.
      const isUp = async () => (await query('up{job="purser"}').catch(() => []))[0] === 1;
      await until(isUp).catch(() => until(isUp));
      await until(async () => (await query("sum(purser_spend_usd_total)"))[0] === 0.25);
      const rules = JSON.parse(await curl("http://localhost:9090/api/v1/rules"));
      const found = rules.data.groups.flatMap(({ rules }: { rules: { health: string }[] }) => rules);
      assert.ok(found.length >= 8);
    }),
});
