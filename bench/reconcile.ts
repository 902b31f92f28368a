/**
 * A month of calls against its bill: `deno task bench reconcile`, with `--thorough` 10 million calls and 200,000 lines. Prints the time, the
 * time of processors, and the most memory of the process that compares; the progress goes to standard error. `BENCH_FOLDER` keeps the
 * database for the next run.
 */
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { openMonth } from "../src/bills/reconcile/open_month.ts";
import { reconcileMonth } from "../src/bills/reconcile/reconcile_month.ts";
import { getReconciliation } from "../src/bills/reconcile/stored_reconciliations.ts";
import anthropic from "../src/bills/sources/anthropic.ts";
import { DAY_MS, HOUR_MS } from "../src/kernel/clock.ts";
import { priceRecordOf, type Rates } from "../src/pricing/mod.ts";
import { openCore } from "../src/service/mod.ts";

const FROM = Date.UTC(2026, 9, 1);
const MONTH_MS = 31 * DAY_MS;
const MODELS = 5;
const KEYS = 12;

/** Pico-USD for each token. */
const RATES: Rates = {
  source: "bench",
  tiers: [{
    aboveInputTokens: -1,
    input: 3_000_000n,
    output: 15_000_000n,
    reasoning: 15_000_000n,
    cacheRead: 300_000n,
    cacheWrite: 3_750_000n,
    cacheWrite1h: 6_000_000n,
  }],
};

if (Deno.args[0] === "compare") await compare(Deno.args[1]!);
else {
  const kept = Deno.env.get("BENCH_FOLDER");
  const folder = kept ?? await Deno.makeTempDir({ prefix: "purser-bench-" });
  const calls = Deno.args.includes("--thorough")
    ? 10_000_000
    : Number(Deno.env.get("BENCH_CALLS") ?? 200_000);
  const path = `${folder}/reconcile_${calls}.db`;
  try {
    const isFilled = await Deno.stat(path).then(() => true, () => false);
    await (await openCore({ config: { dbUrl: path } })).close({ graceMs: 0 });
    if (isFilled) forget(path);
    else fill(path, calls);
    // A process of its own, so that its memory is that of the comparison.
    const { success } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-RWENS", "--allow-run=cat", "--quiet", "--no-check", import.meta.url, "compare", path],
      stdout: "inherit",
      stderr: "inherit",
    }).output();
    if (!success) Deno.exit(1);
  } finally {
    if (!kept) await Deno.remove(folder, { recursive: true });
  }
}

/** Makes calls over a month, and a bill of them: usage by the hour and key, costs by the day. */
function fill(path: string, calls: number): void {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
  const { priceId, hash, text } = priceRecordOf(RATES);
  db.prepare("INSERT INTO prices VALUES (?, ?, ?)").run(priceId, hash, text);
  for (let key = 0; key < KEYS; key++) {
    db.prepare("INSERT INTO upstreams VALUES (?, 'anthropic', ?, NULL, NULL, NULL, ?)").run(
      key,
      `KEY_${key}`,
      `apikey_${key}`,
    );
  }
  const tokens = "1000 + i % 4999 AS input, 100 + i % 911 AS output, i % 787 AS cached";
  db.exec(
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${
      calls - 1
    }), c AS (SELECT i, ${tokens} FROM n)
INSERT INTO calls (call_id, at, agent_id, source, tools, provider, model, service_tier, response_id, input_tokens, output_tokens,
  cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens, cost_nano_usd, unpriced, price_source, price_id,
  duration_ms, is_estimated, details, upstream_id)
SELECT printf('call_%012d', i), ${FROM} + i * ${MONTH_MS} / ${calls}, 'agent-' || (i % 20), 'gateway', '[]', 'anthropic',
  'claude-' || (i % ${MODELS}), 'standard', printf('msg_%020d', i), input, output, cached, 0, 0, 0, input + output,
  (input - cached) * 3000 + cached * 300 + output * 15000, 0, 'bench', ${priceId}, 2000 + i % 30011, 0,
  CASE WHEN i % 2 THEN '{"inference_geo":"us"}' END, i / ${MODELS} % ${KEYS} FROM c`,
  );
  const parts = [["input_tokens", "input_tokens - cache_read_tokens", 3000], [
    "cache_read_tokens",
    "cache_read_tokens",
    300,
  ], [
    "output_tokens",
    "output_tokens",
    15000,
  ], ["requests", "1", 0]] as const;
  const sums = parts.map(([part, sql]) => `sum(${sql}) AS ${part}`).join(", ");
  db.exec(
    `CREATE TEMP TABLE hours AS SELECT at / ${HOUR_MS} AS hour, model, upstream_id, ${sums} FROM calls GROUP BY 1, 2, 3`,
  );
  const columns =
    `source, account, import_id, state, natural_key, content, revision, month, series, category, starts_at, ends_at, model, part,
    credential, quantity, amount, amount_nano_usd, currency, is_equivalent`;
  for (const [part, , nano] of parts) {
    db.exec(
      `INSERT INTO bill_lines (${columns}) SELECT 'anthropic', '', 'bim_1', 'current', hour || '${part}' || model || upstream_id, '', 1,
  '2026-10', 'usage', 'usage', hour * ${HOUR_MS}, (hour + 1) * ${HOUR_MS}, model, '${part}', 'apikey_' || upstream_id, ${part}, NULL, NULL, NULL, 0
  FROM hours`,
    );
    if (nano === 0) continue;
    db.exec(
      `INSERT INTO bill_lines (${columns}) SELECT 'anthropic', '', 'bim_1', 'current', (hour / 24) || 'cost${part}' || model, '', 1,
  '2026-10', 'cost', 'usage', hour / 24 * ${DAY_MS}, (hour / 24 + 1) * ${DAY_MS}, model, '${part}', NULL, NULL,
  printf('%d.%09d', sum(${part}) * ${nano} / 1000000000, sum(${part}) * ${nano} % 1000000000), sum(${part}) * ${nano}, 'USD', 0
  FROM hours GROUP BY hour / 24, model`,
    );
  }
  db.exec(
    `INSERT INTO bill_imports VALUES ('bim_1', 'anthropic', '', 'done', ${FROM}, ${
      FROM + MONTH_MS
    }, 'q', NULL, NULL, ${FROM + MONTH_MS},
    1, 1, 0, '{}', NULL, ${FROM + MONTH_MS}, ${FROM + MONTH_MS})`,
  );
  db.close();
}

/** Removes an earlier comparison, which would be the answer. */
function forget(path: string): void {
  const db = new DatabaseSync(path);
  for (const table of ["bill_corrections", "reconciliation_variances", "reconciliations"]) {
    db.exec(`DELETE FROM ${table}`);
  }
  db.close();
}

async function compare(path: string): Promise<void> {
  const core = await openCore({ config: { dbUrl: path }, isReadOnly: false, rollUp: "never" });
  const input = { terms: anthropic, account: undefined, month: "2026-10", limitNanoUsd: undefined };
  await openMonth(core, input);
  console.error(`${(process.memoryUsage().rss / 1e6).toFixed(0)} MB before`);
  const before = process.cpuUsage();
  const start = performance.now();
  let shown = -1;
  const id = await reconcileMonth(core, input, (done) => {
    const percent = Math.floor(done * 10) * 10;
    if (percent > shown) console.error(`${shown = percent} %`);
  });
  const seconds = (performance.now() - start) / 1_000;
  const cpu = process.cpuUsage(before);
  const { calls, lines, difference_usd, causes, coverage } = await getReconciliation(core, id);
  if (difference_usd !== 0 || causes.length > 0) {
    throw new Error(`${difference_usd} USD are different: ${JSON.stringify(causes)}`);
  }
  // Not maxRSS, which begins as that of the process that started this one.
  const { stdout } = await new Deno.Command("cat", { args: [`/proc/${Deno.pid}/status`] }).output();
  const megabytes = Number(/^VmHWM:\s*(\d+) kB$/m.exec(new TextDecoder().decode(stdout))![1]) / 1_024;
  console.log(`${calls} calls against ${lines} lines, ${coverage.of_scope} of them matched`);
  console.log(
    `${seconds.toFixed(1)} s, ${((cpu.user + cpu.system) / 1e6).toFixed(1)} s of processors, ${
      megabytes.toFixed(0)
    } MB at most`,
  );
  await core.close({ graceMs: 0 });
}
