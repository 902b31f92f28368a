import assert from "node:assert/strict";
import { withoutUndefined } from "../../kernel/records.ts";
import { readCodexWindows } from "./codex.ts";
import { readPlanHeaders } from "./plan_headers.ts";
import type { PlanWindow } from "./plan_window.ts";
import { readStatusLineWindows } from "./status_line.ts";

const AT = Date.parse("2026-11-26T11:45:00Z");
const HOUR = 3_600_000;
const RESET = AT + 3 * HOUR;

const plain = (windows: readonly PlanWindow[]) =>
  windows.map(({ credits, ...window }) => ({
    ...withoutUndefined(window),
    ...credits && { credits: withoutUndefined(credits) },
  }));

const recorded = (path: string) =>
  Deno.readTextFileSync(new URL(`../../../tests/fixtures/${path}`, import.meta.url));

Deno.test("readStatusLineWindows() reads each window of a plan, with its time in seconds", () => {
  const json = {
    session_id: "s",
    rate_limits: {
      five_hour: { used_percentage: 42.5, resets_at: RESET / 1000 },
      seven_day: { used_percentage: 0, resets_at: AT / 1000 + 86_400 },
      seven_day_opus: { used_percentage: 82.123456 },
      later: { used_percentage: null, resets_at: RESET / 1000 },
    },
  };
  assert.deepEqual(plain(readStatusLineWindows(json)), [
    { window: "five_hour", usedPercent: 42.5, resetsAt: RESET, lengthMs: 5 * HOUR },
    { window: "seven_day", usedPercent: 0, resetsAt: AT + 24 * HOUR, lengthMs: 168 * HOUR },
    { window: "seven_day_opus", usedPercent: 82.12, lengthMs: 168 * HOUR },
  ]);
});

Deno.test("readStatusLineWindows() reads nothing of a session without a plan, and of what is no status line", () => {
  assert.deepEqual(
    readStatusLineWindows(JSON.parse(recorded("plans/claude_code_without_plan.json"))),
    [],
  );
  const bad = [null, 1, "x", [], {}, { rate_limits: null }, { rate_limits: [1] }, {
    rate_limits: { five_hour: 5, "a b": { used_percentage: 1 }, x: { used_percentage: -1 } },
  }, { rate_limits: { five_hour: { used_percentage: NaN }, seven_day: { used_percentage: "10" } } }];
  for (const json of bad) assert.deepEqual(readStatusLineWindows(json), [], JSON.stringify(json));
  const odd = { rate_limits: { five_hour: { used_percentage: 1, resets_at: "soon" } } };
  assert.deepEqual(plain(readStatusLineWindows(odd)), [
    { window: "five_hour", usedPercent: 1, lengthMs: 5 * HOUR },
  ]);
});

Deno.test("readCodexWindows() names windows by their length, wherever a plan has them", () => {
  const windows = readCodexWindows({
    limit_id: "codex",
    primary: { used_percent: 14, window_minutes: 10_080, resets_at: RESET / 1000 },
    secondary: { used_percent: 100, window_minutes: 300, resets_at: RESET / 1000 },
    credits: { has_credits: true, unlimited: false, balance: "12.50" },
    plan_type: "plus",
    rate_limit_reached_type: "secondary",
  }, AT);
  const common = { measuredAt: AT, plan: "plus" };
  assert.deepEqual(plain(windows), [
    { window: "seven_day", ...common, usedPercent: 14, resetsAt: RESET, lengthMs: 168 * HOUR },
    {
      window: "five_hour",
      ...common,
      usedPercent: 100,
      resetsAt: RESET,
      lengthMs: 5 * HOUR,
      status: "rejected",
    },
    { window: "credits", ...common, credits: { hasCredits: true, isUnlimited: false, balance: "12.50" } },
  ]);
});

Deno.test("readCodexWindows() reads those of one model, of older versions, and why there are no credits", () => {
  const ofModel = { limit_id: "codex_bengal", limit_name: "GPT-6-Spark", primary: { used_percent: 3 } };
  assert.deepEqual(plain(readCodexWindows(ofModel, AT)), [
    { window: "codex_bengal:primary", measuredAt: AT, usedPercent: 3, models: "GPT-6-Spark" },
  ]);
  const older = { primary: { used_percent: 7, window_minutes: 30, resets_in_seconds: 60 } };
  assert.deepEqual(plain(readCodexWindows(older, AT)), [
    {
      window: "30_minutes",
      measuredAt: AT,
      usedPercent: 7,
      resetsAt: AT + 60_000,
      lengthMs: 1_800_000,
    },
  ]);
  assert.deepEqual(
    plain(readCodexWindows({ rate_limit_reached_type: "workspace_member_credits_depleted" }, AT)),
    [{ window: "credits", measuredAt: AT, status: "workspace_member_credits_depleted", credits: {} }],
  );
});

Deno.test("readCodexWindows() reads nothing of the recorded rollouts, which were made without a plan", () => {
  const folder = "logs/codex/01-single";
  const files: string[] = [];
  const walk = (path: string) => {
    for (
      const { name, isDirectory } of Deno.readDirSync(
        new URL(`../../../tests/fixtures/${path}/`, import.meta.url),
      )
    ) {
      if (isDirectory) walk(`${path}/${name}`);
      else if (name.endsWith(".jsonl")) files.push(`${path}/${name}`);
    }
  };
  walk(folder);
  const limits = files.flatMap((path) =>
    recorded(path).split("\n").filter((line) => line.includes('"rate_limits"'))
  )
    .map((line) => JSON.parse(line).payload.rate_limits);
  assert.ok(limits.length > 0);
  for (const each of limits) assert.deepEqual(readCodexWindows(each, AT), []);
});

Deno.test("readPlanHeaders() reads the unified headers of a Claude plan as they were recorded", () => {
  // One real answer of 2026-08-21, with other ids.
  const found = readPlanHeaders(
    new Headers({
      "anthropic-organization-id": "c3d4e5f6-0000-4000-8000-000000000003",
      "anthropic-ratelimit-unified-status": "allowed",
      "anthropic-ratelimit-unified-5h-status": "allowed",
      "anthropic-ratelimit-unified-5h-reset": "1787357400",
      "anthropic-ratelimit-unified-5h-utilization": "0.02",
      "anthropic-ratelimit-unified-7d-status": "allowed",
      "anthropic-ratelimit-unified-7d-reset": "1787677200",
      "anthropic-ratelimit-unified-7d-utilization": "0.29",
      "anthropic-ratelimit-unified-7d_oi-utilization": "-0.0",
      "anthropic-ratelimit-unified-representative-claim": "five_hour",
      "anthropic-ratelimit-unified-fallback-percentage": "0.5",
      "anthropic-ratelimit-unified-reset": "1787357400",
      "anthropic-ratelimit-unified-overage-status": "rejected",
      "anthropic-ratelimit-unified-overage-disabled-reason": "org_level_disabled",
    }),
    AT,
  );
  assert.equal(found?.agent, "claude-code");
  assert.equal(found?.account, "c3d4e5f6-0000-4000-8000-000000000003");
  const byName = new Map(plain(found!.windows).map((window) => [window.window, window]));
  assert.deepEqual([...byName.keys()].sort(), ["credits", "five_hour", "seven_day", "seven_day_oi"]);
  assert.deepEqual(byName.get("five_hour"), {
    window: "five_hour",
    measuredAt: AT,
    lengthMs: 5 * HOUR,
    status: "allowed",
    resetsAt: 1_787_357_400_000,
    usedPercent: 2,
  });
  assert.equal(byName.get("seven_day")?.usedPercent, 29);
  assert.ok(Object.is(byName.get("seven_day_oi")?.usedPercent, 0));
  assert.deepEqual(byName.get("credits"), {
    window: "credits",
    measuredAt: AT,
    status: "rejected",
    credits: { reason: "org_level_disabled" },
  });
});

Deno.test("readPlanHeaders() gives the window that a refusal names its status, and its end", () => {
  const rejected = (more: Record<string, string>) =>
    plain(
      readPlanHeaders(
        new Headers({
          "anthropic-ratelimit-unified-status": "rejected",
          "anthropic-ratelimit-unified-reset": String(RESET / 1000),
          ...more,
        }),
        AT,
      )!.windows,
    );
  const ended = { measuredAt: AT, resetsAt: RESET, status: "rejected" };
  assert.deepEqual(rejected({}), [{ window: "unified", ...ended }]);
  assert.deepEqual(rejected({ "anthropic-ratelimit-unified-representative-claim": "seven_day_opus" }), [
    { window: "seven_day_opus", ...ended, lengthMs: 168 * HOUR },
  ]);
  const inUse = rejected({
    "anthropic-ratelimit-unified-5h-utilization": "1.05",
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
    "anthropic-ratelimit-unified-overage-in-use": "true",
    "anthropic-ratelimit-unified-overage-status": "allowed",
  });
  assert.deepEqual(inUse.find(({ window }) => window === "five_hour"), {
    window: "five_hour",
    ...ended,
    status: "overage",
    usedPercent: 105,
    lengthMs: 5 * HOUR,
  });
  assert.deepEqual(inUse.find(({ window }) => window === "credits")?.credits, { isInUse: true });
});

Deno.test("readPlanHeaders() reads those of Codex, also of a limit of one model", () => {
  const found = readPlanHeaders(
    new Headers({
      "x-codex-primary-used-percent": "12.5",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-at": String(RESET / 1000),
      "x-codex-secondary-used-percent": "40",
      "x-codex-secondary-window-minutes": "10080",
      "x-codex-bengal-primary-used-percent": "1",
      "x-codex-bengal-limit-name": "GPT-6-Spark",
      "x-codex-credits-has-credits": "True",
      "x-codex-credits-balance": "12.50",
      "x-codex-plan-type": "pro",
    }),
    AT,
  );
  assert.equal(found?.agent, "codex");
  const common = { measuredAt: AT, plan: "pro" };
  assert.deepEqual(plain(found!.windows).sort((a, b) => a.window! < b.window! ? -1 : 1), [
    { window: "codex_bengal:primary", ...common, usedPercent: 1, models: "GPT-6-Spark" },
    { window: "credits", ...common, credits: { hasCredits: true, balance: "12.50" } },
    { window: "five_hour", ...common, usedPercent: 12.5, resetsAt: RESET, lengthMs: 5 * HOUR },
    { window: "seven_day", ...common, usedPercent: 40, lengthMs: 168 * HOUR },
  ]);
});

Deno.test("readPlanHeaders() finds nothing in the answer to a call with an API key", () => {
  const headers = new Headers({
    "anthropic-ratelimit-requests-remaining": "49",
    "anthropic-organization-id": "org",
    "x-codex-turn-state": "abc",
  });
  assert.equal(readPlanHeaders(headers, AT), undefined);
});
