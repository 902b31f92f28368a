import assert from "node:assert/strict";
import { join } from "node:path";
import { DASHBOARD, makeDashboard } from "../build/dashboards.ts";
import { ROOT } from "../build/run_deno.ts";
import { AGENT, EVENT } from "./harness/bodies.ts";
import { answerTo } from "./harness/answers.ts";
import { openWithChannels, RULE } from "./harness/deliveries.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { said } from "./harness/node.ts";
import { recordingChannel } from "./harness/recording_channel.ts";
import { readScrape } from "./harness/scrape.ts";
import type { TestPurser } from "./harness/test_purser.ts";
import { requestFor, sendTo } from "./gateway/requests.ts";

/** The dashboard and the alerts of `deploy/`, over the metrics that Purser has, on a real Prometheus. */

const RULES = "deploy/prometheus/alerts.yml";
const MOST_SCRAPES = 200;

const missing = await said("prometheus", ["--version"]).then(
  () => undefined,
  () => "prometheus is not installed",
);
const name = (text: string) => missing === undefined ? text : `${text} (${missing})`;
const ignore = missing !== undefined && Deno.env.get("PURSER_REQUIRE_ALL") !== "1";

interface Target {
  expr: string;
}
const panels = (makeDashboard() as { panels: { title: string; targets?: Target[] }[] }).panels;
const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

/** Returns the names of metrics in a text, without the suffixes of histograms. */
const metricsIn = (text: string) =>
  [...text.matchAll(/\bpurser_\w+/g)].map(([each]) => each.replace(/_bucket$/, ""));

/** Does something of each kind that the metrics count. */
async function work(purser: TestPurser, turn: number): Promise<void> {
  const call = { ...EVENT, provider: "acme", model: "m", cost_usd: 0.01 };
  await purser.api("POST", "/costs/events", [
    { ...call, call_id: `priced${turn}` },
    { ...call, call_id: `plan${turn}`, cost_usd: undefined, billing: "plan", plan_usd: 0.02 },
  ]);
  const { body } = requestFor({ api: "openai-chat", provider: "openai", model: "gpt-4o-mini" }, {
    isStreamed: true,
  });
  await (await sendTo(purser, { path: "/openai/v1/chat/completions", body })).text();
  await purser.api("POST", "/agents/a/runs", { input: "Hi" });
}

async function openBusy(fake: Awaited<ReturnType<typeof startFakeProvider>>): Promise<TestPurser> {
  const purser = await openWithChannels([recordingChannel("ops")], { rules: [RULE], fake });
  await purser.api("PUT", "/agents/a", AGENT);
  await purser.api("POST", "/budgets", { name: "Day", limit_usd: 5, per: "day" });
  return purser;
}

const openProvider = () => startFakeProvider((request) => answerTo(request, { text: "Hello" }));

Deno.test("the dashboard in the repository is the one that deno task dashboards makes", async () => {
  assert.deepEqual(JSON.parse(await Deno.readTextFile(join(ROOT, DASHBOARD))), makeDashboard());
});

Deno.test("each metric is on the dashboard, and the dashboard and the alerts know no other", async () => {
  await using fake = await openProvider();
  await using purser = await openBusy(fake);
  await work(purser, 0);
  const { types } = readScrape(await (await purser.fetch("GET", "/metrics")).text());
  const shown = new Set(queries.flatMap(({ expr }) => metricsIn(expr)));
  assert.deepEqual([...shown].sort(), Object.keys(types).sort());
  const rules = (await Deno.readTextFile(join(ROOT, RULES))).replaceAll(/^#.*$/gm, "");
  const alerted = metricsIn(rules);
  assert.ok(alerted.length >= 8);
  for (const each of alerted) assert.ok(each in types, each);
});

Deno.test({
  name: name("on a real Prometheus every query of the dashboard returns a number"),
  ignore,
  fn: () =>
    inDirectory(async (folder) => {
      await using fake = await openProvider();
      await using purser = await openBusy(fake);
      let scraped = Promise.withResolvers<void>();
      await using server = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen() {} },
        async ({ url }) => {
          const answer = await purser.app.request(new URL(url).pathname);
          scraped.resolve();
          scraped = Promise.withResolvers();
          return answer;
        },
      );
      const config = `
global: { scrape_interval: 250ms, scrape_timeout: 250ms }
rule_files: [${join(ROOT, RULES)}]
scrape_configs: [{ job_name: purser, static_configs: [{ targets: ["127.0.0.1:${server.addr.port}"] }] }]`;
      await Deno.writeTextFile(join(folder, "prometheus.yml"), config);
      await using prometheus = startPrometheus(folder);
      const address = await prometheus.address;
      const ask = async (expr: string) => {
        const query = expr.replaceAll("$job", "purser").replaceAll("$__rate_interval", "10s");
        const response = await fetch(`${address}/api/v1/query?${new URLSearchParams({ query })}`);
        const answer = await response.json();
        assert.equal(answer.status, "success", `${query}: ${answer.error}`);
        return answer.data.result.map(({ value }: { value: [number, string] }) =>
          Number(value[1])
        ) as number[];
      };
      let without = queries;
      for (let turn = 0; without.length > 0; turn++) {
        assert.ok(
          turn < MOST_SCRAPES,
          `no data: ${without.map(({ title, expr }) => `${title}: ${expr}`).join("\n")}`,
        );
        await work(purser, turn);
        await scraped.promise;
        const answers = await Promise.all(without.map(({ expr }) => ask(expr)));
        without = without.filter((_, index) => !answers[index]!.some(Number.isFinite));
      }
      const [spent] = await ask("max by (name) (purser_budget_spent_usd)");
      assert.ok(spent! > 0);
      const { data } = await (await fetch(`${address}/api/v1/rules`)).json();
      assert.ok(data.groups[0].rules.length >= 8, "it has read the alerts");
    }),
});

Deno.test({
  name: name("promtool accepts the alerts, which fire when and for what their tests say"),
  ignore,
  async fn() {
    await said("promtool", ["check", "rules", RULES], ROOT);
    await said("promtool", ["test", "rules", RULES.replace(".yml", "_test.yml")], ROOT);
  },
});

function startPrometheus(folder: string) {
  const child = new Deno.Command("prometheus", {
    args: [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/tsdb`,
      "--web.listen-address=127.0.0.1:0",
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const address = (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      assert.ok(!done, text);
      text += value;
      const port = /"Listening on" address=127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (port && /Server is ready/.test(text)) return `http://127.0.0.1:${port}`;
    }
  })();
  return {
    address,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      while (!(await reader.read()).done);
      await child.status;
    },
  };
}
