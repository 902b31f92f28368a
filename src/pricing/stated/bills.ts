import type { NanoUsd } from "../../kernel/money.ts";
import { PurserError } from "../../kernel/errors.ts";
import { RecentMap } from "../../kernel/recent_map.ts";
import { BILL_FORMS, type BillForm, COST_UNITS, type StatesCost } from "../../contract/costs/stated_costs.ts";
import { providerIdOf } from "../catalog/names/provider_names.ts";
import { amountOf, type Statement, valueAt } from "./statement.ts";

/** An amount that an answer states. */
export interface StatedAmount {
  nanoUsd: NanoUsd;
  /** True for the fee of a router alone, where a provider bills a key of the caller's own beside it. */
  isFeeOnly?: boolean;
}

/** The way in which a provider states the bill of a call. */
export interface Bill {
  /** Reads the amount; undefined if the answer states no amount. */
  read(statement: Statement): StatedAmount | undefined;
  /** Returns true for a model that the provider documents as free. */
  isFree?(model: string): boolean;
}

/**
 * The providers that document an amount in their answers as the bill of the call, as of 2026-11-26. Others may send a field of
 * the same name with another meaning: an estimate, a share, another unit.
 *
 * - OpenRouter: `usage.cost` is "the total amount charged to your account"; with `is_byok` the provider has billed
 *   `cost_details.upstream_inference_cost` to a key of the caller's own beside it, otherwise that is a part of `cost`.
 *   https://openrouter.ai/docs/cookbook/administration/usage-accounting. Free: `:free`, `openrouter/free`,
 *   https://openrouter.ai/docs/guides/routing/model-variants/free
 * - Perplexity: `usage.cost.total_cost`, with its request and search fees, in USD.
 *   https://docs.perplexity.ai/api-reference/chat-completions-post, https://docs.perplexity.ai/docs/agent-api
 * - xAI: `usage.cost_in_usd_ticks` is "the actual amount billed"; 10,000,000,000 ticks are 1 USD.
 *   https://docs.x.ai/developers/cost-tracking
 * - Vercel's AI Gateway: `usage.cost` as OpenRouter's, or the text `provider_metadata.gateway.cost`.
 *   https://vercel.com/docs/ai-gateway/sdks-and-apis/openai-chat-completions, https://vercel.com/docs/ai-gateway/usage
 * - LiteLLM: the header `x-litellm-response-cost` of a whole answer, `usage.cost` of a stream.
 *   https://docs.litellm.ai/docs/proxy/response_headers, https://github.com/BerriAI/litellm/pull/39069
 *
 * Cloudflare's AI Gateway states no cost of its own in an answer (only in its logs, as "an estimation":
 * https://developers.cloudflare.com/ai-gateway/observability/costs/), and passes on that of the provider behind it, which its
 * path or the model names: https://developers.cloudflare.com/ai-gateway/usage/providers/,
 * https://developers.cloudflare.com/ai-gateway/usage/rest-api/
 */
const BILLS: Readonly<Record<BillForm, Bill>> = {
  openrouter: {
    read: readOpenRouter,
    isFree: (model) => /:free(?::|$)/.test(model) || model === "openrouter/free",
  },
  perplexity: { read: readPerplexity },
  xai: { read: ({ usage }) => stated([valueAt(usage, "cost_in_usd_ticks")], -10) },
  vercel: { read: (statement) => readOpenRouter(statement) ?? stated([statement.gateway?.cost]) },
  litellm: { read: readLiteLlm },
};

/** The ids of the providers in the prices, and other names, by the form of their bill. */
const NAMES: Readonly<Record<string, BillForm>> = {
  "openrouter": "openrouter",
  "perplexity": "perplexity",
  "x-ai": "xai",
  "grok": "xai", // Cloudflare's name
  "vercel_ai_gateway": "vercel",
  "gateway": "vercel", // the AI SDK's name
  "litellm": "litellm",
  "litellm_proxy": "litellm",
  "litellm-proxy": "litellm",
};

/** The hosts of the APIs, which have regional ones below them. */
const HOSTS: Readonly<Record<string, BillForm>> = {
  "openrouter.ai": "openrouter",
  "perplexity.ai": "perplexity",
  "x.ai": "xai",
  "ai-gateway.vercel.sh": "vercel",
};

/** Paths of Cloudflare's gateway that name the provider behind it, unless the model does. */
const CLOUDFLARE = {
  "gateway.ai.cloudflare.com": /^\/v1\/[^/]+\/[^/]+\/(?!compat(?:\/|$))([^/]+)/,
  "api.cloudflare.com": undefined,
} as const;

/** A provider that can be called: its address, and the declaration of its config. */
export interface BilledProvider {
  baseUrl?: string;
  statesCost?: StatesCost;
}

/** Returns the bill of a provider, by the declaration of its config, its address, or its name; undefined if it states no bill. */
export type FindBill = (provider: string, model: string) => Bill | undefined;

/** The names of providers, and of makers of models, whose bills are remembered. */
const MAX_KNOWN = 1_000;

/** Creates the look-up. Throws `invalid` for a declaration of no known form. */
export function createBills(providers: Readonly<Record<string, BilledProvider>> = {}): FindBill {
  const declared = new Map<string, Bill | undefined>();
  for (const [name, { statesCost }] of Object.entries(providers)) {
    if (statesCost !== undefined) declared.set(name, declaredBill(name, statesCost));
  }
  const known = new RecentMap<{ bill: Bill | undefined }>(MAX_KNOWN);
  return (provider, model) => {
    if (declared.has(provider)) return declared.get(provider);
    const key = `${provider}\n${makerOf(model)}`;
    const found = known.get(key);
    if (found) return found.bill;
    const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
    const bill = billOfAddress(own?.baseUrl, model) ?? billOfName(provider) ??
      (providerIdOf(provider) === "cloudflare" ? billOfName(makerOf(model)) : undefined);
    known.set(key, { bill });
    return bill;
  };
}

function declaredBill(provider: string, statesCost: StatesCost): Bill | undefined {
  if (statesCost === "none") return undefined;
  if (typeof statesCost === "string" && BILL_FORMS.includes(statesCost)) return BILLS[statesCost];
  if (typeof statesCost === "object" && Object.hasOwn(COST_UNITS, statesCost.unit)) {
    const exponent = COST_UNITS[statesCost.unit];
    if ("header" in statesCost) {
      const name = statesCost.header.toLowerCase();
      return { read: ({ headers }) => stated([headers?.get(name)], exponent) };
    }
    const path = statesCost.field.split(".");
    return { read: ({ usage }) => stated([valueAt(usage, ...path)], exponent) };
  }
  throw new PurserError(
    "invalid",
    `Cannot use the provider ${provider}: statesCost must be ${
      [...BILL_FORMS, "none"].join(", ")
    }, or a field or a ` +
      `header with a unit of ${Object.keys(COST_UNITS).join(", ")}`,
  );
}

function billOfName(name: string): Bill | undefined {
  const id = providerIdOf(name);
  return Object.hasOwn(NAMES, id) ? BILLS[NAMES[id]!] : undefined;
}

function billOfAddress(address: string | undefined, model: string): Bill | undefined {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null) return undefined;
  const host = Object.keys(HOSTS).find((each) => url.hostname === each || url.hostname.endsWith(`.${each}`));
  if (host !== undefined) return BILLS[HOSTS[host]!];
  if (!Object.hasOwn(CLOUDFLARE, url.hostname)) return undefined;
  const path = CLOUDFLARE[url.hostname as keyof typeof CLOUDFLARE];
  return billOfName(path?.exec(url.pathname)?.[1] ?? makerOf(model));
}

/** Returns the beginning of a model's name, as in `xai/grok-4.3`. */
function makerOf(model: string): string {
  return model.split("/")[0]!;
}

function stated(values: readonly unknown[], exponent = 0): StatedAmount | undefined {
  const nanoUsd = amountOf(values, exponent);
  return nanoUsd === undefined ? undefined : { nanoUsd };
}

function readOpenRouter({ usage }: Statement): StatedAmount | undefined {
  const cost = valueAt(usage, "cost");
  const fee = stated([cost]);
  if (!fee) return undefined;
  const upstream = valueAt(usage, "cost_details", "upstream_inference_cost");
  const inference = amountOf([upstream]) ?? 0n;
  // Some SDKs drop the flag. What is charged can't be less than a part of it.
  const isOwnKey = valueAt(usage, "is_byok") ?? inference > fee.nanoUsd;
  if (isOwnKey !== true) return fee;
  return inference > 0n ? stated([cost, upstream]) : { ...fee, isFeeOnly: true };
}

function readPerplexity({ usage }: Statement): StatedAmount | undefined {
  const currency = valueAt(usage, "cost", "currency") ?? "USD";
  return currency === "USD" ? stated([valueAt(usage, "cost", "total_cost")]) : undefined;
}

function readLiteLlm({ usage, headers, isStreamed }: Statement): StatedAmount | undefined {
  const ofHeader = isStreamed ? undefined : stated([headers?.get("x-litellm-response-cost")]);
  // Some versions send a header of 0 with an answer whose usage has the cost.
  return ofHeader?.nanoUsd ? ofHeader : stated([valueAt(usage, "cost")]) ?? ofHeader;
}

/** Returns the amount that an answer seems to state, whether or not its provider documents one, to be kept beside the call. */
export function findAmount(statement: Statement): StatedAmount | undefined {
  const { usage, gateway, headers } = statement;
  const hasCost = usage !== undefined && Object.keys(usage).some((name) => name.includes("cost"));
  if (!hasCost && !gateway && !headers?.get("x-litellm-response-cost")) return undefined;
  const fields = ["cost", "total_cost", "estimated_cost", "cost_usd"];
  return stated([fields.map((field) => valueAt(statement.usage, field)).find((value) => value != null)]) ??
    readPerplexity(statement) ?? BILLS.xai.read(statement) ?? BILLS.vercel.read(statement) ??
    readLiteLlm(statement);
}
