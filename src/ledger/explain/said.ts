import type { Tags } from "../../contract/tags/tags.ts";
import type { QUALITIES } from "../../contract/values.ts";
import { countsOf, type Usage, type UsageCounts } from "../../pricing/mod.ts";
import type { ModelCall } from "../model_call.ts";

/**
 * The statement of a witness about a call, as it is kept: JSON, in which what a witness doesn't know is absent. Equal statements are
 * equal texts.
 */
export interface Said {
  counts: UsageCounts;
  more?: Pick<Usage, "details" | "others" | "models">;
  at: number;
  agent: string;
  session?: string;
  run?: string;
  /** The number of records around the call that it knows; undefined for all. */
  known?: number;
  key?: string;
  /** True for a key of one agent. */
  bound?: true;
  provider?: string;
  model?: string;
  response?: string;
  copy?: true;
  quality?: Exclude<typeof QUALITIES[number], "exact">;
  marks?: readonly string[];
  duration?: number;
  tier?: string;
  speed?: string;
  geo?: string;
  tools?: readonly string[];
  stated?: string;
  /** True if a plan pays. */
  plan?: true;
  tags?: Tags;
  /** The tags of the key, which replace those of the same name. */
  keyTags?: Tags;
}

/** The part of a statement that the columns of its call leave open; null for what the call has and the statement doesn't. */
export interface SaidBesides extends Pick<Said, "known" | "bound" | "copy" | "stated" | "tags" | "keyTags"> {
  provider?: null;
  model?: null;
}

/** Returns the part of a statement that goes into the row of its call besides the columns. */
export function saidBesides(
  { provider, model, known, bound, copy, stated, tags, keyTags }: Said,
): SaidBesides {
  return {
    ...(provider === undefined && { provider: null }),
    ...(model === undefined && { model: null }),
    known,
    bound,
    copy,
    stated,
    ...(keyTags && { tags, keyTags }),
  };
}

/** Returns the statement that a row of the ledger holds, as it was booked; undefined for a row that holds none. */
export function saidInRow(call: ModelCall): Said | undefined {
  const { said, usage, tools } = call;
  if (!said) return undefined;
  return {
    counts: countsOf(usage),
    at: call.at,
    agent: call.agentId,
    session: call.sessionId ?? undefined,
    run: call.runId ?? undefined,
    known: said.known,
    key: call.keyId ?? undefined,
    bound: said.bound,
    provider: said.provider === null ? undefined : call.provider,
    model: said.model === null ? undefined : call.model,
    response: call.responseId ?? undefined,
    copy: said.copy,
    quality: call.quality as Said["quality"],
    marks: call.marks,
    duration: call.durationMs ?? undefined,
    tier: call.serviceTier ?? undefined,
    speed: call.speed,
    geo: call.inferenceGeo,
    tools: tools.length > 0 ? tools : undefined,
    stated: said.stated,
    plan: call.planNanoUsd === undefined ? undefined : true,
    tags: said.keyTags ? said.tags : call.tags,
    keyTags: said.keyTags,
  };
}
