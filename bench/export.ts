/**
 * The exports of a ledger: `purser export calls` and `purser export focus`, each in a process of its own, in rows per second and with the
 * most memory that it held. `--thorough` also exports a million entries: the memory must be the same.
 */
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { openCore } from "../src/service/mod.ts";
import { recordCalls, recordPrices } from "../src/ledger/mod.ts";
import { priceLines, priceRecordOf, sumLines, usageOf } from "../src/pricing/mod.ts";
import { runTimed } from "./run_timed.ts";
import { flatRates } from "../tests/harness/flat_rates.ts";

const SIZES = Deno.args.includes("--thorough") ? [200_000, 1_000_000] : [200_000];
const END = Date.parse("2026-11-01T00:00:00Z");
const MONTH_MS = 31 * 86_400_000;
const BATCH = 10_000;

const rates = flatRates({ input: 3_000_000n, output: 15_000_000n, cacheRead: 300_000n });

/** Fills a database with the calls of a month, as a gateway books them: by 20 agents, 8 models and 4 teams. */
async function fill(path: string, size: number): Promise<void> {
  const core = await openCore({ config: { dbUrl: path } });
  const { statements } = recordPrices([{ rates }], new Set());
  await core.store.write(statements);
  for (let from = 0; from < size; from += BATCH) {
    const calls = Array.from({ length: BATCH }, (_, index) => {
      const n = from + index;
      const usage = usageOf({
        inputTokens: 4_000 + n % 997,
        outputTokens: 200 + n % 89,
        cacheReadTokens: 3_000,
      });
      return {
        callId: `call_${String(n).padStart(26, "0")}`,
        at: END - MONTH_MS + Math.floor(n / size * MONTH_MS),
        agentId: `agent-${n % 20}`,
        sessionId: `session-${Math.floor(n / 40)}`,
        runId: `run-${Math.floor(n / 20)}`,
        keyId: `key-${n % 8}`,
        step: 1,
        tools: [],
        provider: "anthropic",
        model: `claude-${n % 8}`,
        usage,
        ...sumLines(rates, priceLines(rates, usage)),
        priceSource: "config",
        rates,
        priceId: priceRecordOf(rates).priceId,
        durationMs: 900 + n % 50,
        isEstimated: false,
        responseId: `msg_${String(n).padStart(24, "0")}`,
        tags: { team: `team-${n % 4}` },
      };
    });
    await core.store.write(recordCalls(calls));
  }
  await core.close();
}

/** Runs a command. */
const run = (args: readonly string[]) =>
  runTimed(Deno.execPath(), [
    ...["run", "--quiet", ...CLI_PERMISSIONS, new URL("../cli.ts", import.meta.url).pathname],
    ...args,
  ]);

const fix = (figure: number | undefined, decimals: number) => figure?.toFixed(decimals) ?? "?";

const print = (name: string, ...cells: string[]) =>
  console.log(name.padEnd(50) + cells.map((cell) => cell.padStart(12)).join(""));

const home = await Deno.makeTempDir({ prefix: "purser_bench_export_" });
try {
  const rest = await run(["--version"]);
  console.log(`start-up ${rest.seconds.toFixed(2)} s, CPU ${fix(rest.cpuSeconds, 2)} s\n`);
  print("export", "rows", "time", "CPU", "rows/s", "rows/CPU s", "memory");
  for (const size of SIZES) {
    const db = `${home}/${size}.db`;
    await fill(db, size);
    for (
      const name of [
        "calls --format parquet",
        "calls --format csv",
        "focus --per-call --format parquet --month 2026-10",
        "focus --format csv --month 2026-10",
      ]
    ) {
      const to = `${home}/${size} ${name}`;
      const { seconds, cpuSeconds, megabytes } = await run([
        ...["export", ...name.split(" "), "--to", to],
        ...["--db", db, "--json"],
      ]);
      // Of charges, the calls that are read; by call, each has three.
      const rows = name.includes("per-call") ? size * 3 : size;
      print(
        name,
        String(rows),
        `${fix(seconds, 1)} s`,
        `${fix(cpuSeconds, 1)} s`,
        fix(rows / seconds, 0),
        fix(cpuSeconds && rows / cpuSeconds, 0),
        `${fix(megabytes, 0)} MB`,
      );
    }
  }
} finally {
  await Deno.remove(home, { recursive: true });
}
