import type { Sighting, SightingOrigin } from "../../src/calls/mod.ts";
import type { ModelCall } from "../../src/ledger/mod.ts";
import { usageOf } from "../../src/pricing/mod.ts";

export const AT = Date.UTC(2026, 10, 21, 9);

/** A log on one machine. */
export const LOG: SightingOrigin = {
  source: "log",
  name: "claude-code",
  agentId: "claude-code",
  machine: "laptop",
};

/** A record of a log. */
export const sighting = (more: Partial<Sighting> = {}): Sighting => ({
  ref: "msg_1",
  responseId: "msg_012345abcdef",
  requestId: "req_012345abcdef",
  provider: "local",
  model: "priced",
  at: AT,
  usage: usageOf({ inputTokens: 1_000, outputTokens: 631 }),
  quality: "exact",
  session: "ses_a",
  folder: "/home/ann/shop",
  branch: "main",
  ...more,
});

/** The same call as the gateway books it. */
export const gatewayCall = (more: Partial<ModelCall> = {}): ModelCall => ({
  callId: "call_1",
  at: AT - 500,
  agentId: "ann",
  sessionId: "ses_a",
  runId: null,
  keyId: "key_1",
  step: null,
  tools: [],
  provider: "local",
  model: "priced",
  usage: usageOf({ inputTokens: 1_000, outputTokens: 631 }),
  costNanoUsd: 3_524_000n,
  priceSource: "config",
  durationMs: 900,
  isEstimated: false,
  source: "gateway",
  responseId: "msg_012345abcdef",
  ...more,
});
