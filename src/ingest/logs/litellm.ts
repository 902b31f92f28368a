import { toProviderName } from "../../contract/costs/provider_names.ts";
import { toIso } from "../../kernel/clock.ts";
import { HOLES } from "./holes.ts";
import type { LogSink, RecordsRequest } from "./importer.ts";
import { type Fields, fieldsOf, textOf, usageWithCache } from "./log_record.ts";
import {
  defineTool,
  idsByLiteLlm,
  objectOf,
  statedOf,
  tagsIn,
  tellCall,
  textsOf,
  tokensOf,
  utcOf,
} from "./tool_records.ts";

/** The most rows of a page that all versions accept. The total of an answer is capped, so that it tells no last page. */
const PAGE_ROWS = 100;

/** LiteLLM's spend logs: its table of calls, as CSV, JSON or JSON lines, and as its proxy's API returns it. */
export default defineTool({
  name: "litellm",
  title: "LiteLLM",
  seen: "1.108, from its sources, 2026-11",
  holes: HOLES.litellm,
  table: "LiteLLM's spend logs",
  required: ["request_id", "startTime"],
  known:
    "model call_type api_key spend total_tokens prompt_tokens completion_tokens endTime request_duration_ms completionStartTime model_id " +
    "model_group custom_llm_provider api_base user metadata cache_hit cache_key request_tags team_id organization_id end_user " +
    "requester_ip_address messages response session_id status mcp_namespaced_tool_name agent_id proxy_server_request",
  read: readSpendLog,
  api: {
    variables: ["LITELLM_PROXY_API_KEY"],
    scope: "the proxy's master key, or the key of an admin",
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    requests({ from, to }) {
      const window = { start_date: secondOf(from), end_date: secondOf(to), page: "1" };
      const query = { ...window, page_size: `${PAGE_ROWS}`, sort_by: "startTime", sort_order: "asc" };
      return [[{ path: "/spend/logs/v2", query }]];
    },
    next: (rows, _, { query }) => rows.length < PAGE_ROWS ? undefined : nextPage(rows.at(-1), query),
  },
});

const secondOf = (at: number) => toIso(at).slice(0, 19).replace("T", " ");

/**
 * Returns the page after one that ends with a row. Its window begins with the second of that row, so that no row which is written in
 * the meantime moves the others by a place, and no page is far from its start; the rows of that second come again.
 */
function nextPage(last: unknown, { start_date, page }: RecordsRequest["query"]): Record<string, string> {
  const second = secondOf(utcOf(fieldsOf(last).startTime));
  return second > start_date!
    ? { start_date: second, page: "1" }
    : { start_date: start_date!, page: `${Number(page) + 1}` };
}

function readSpendLog(row: Fields, sink: LogSink): void {
  if (textOf(row.cache_hit)?.toLowerCase() === "true") {
    return sink.note("Answers of LiteLLM's own cache are no calls, and left out");
  }
  // A tool of MCP is called by LiteLLM itself.
  if (row.mcp_namespaced_tool_name !== undefined && statedOf(row.spend) === undefined) return;
  const metadata = objectOf(row.metadata);
  // The provider's usage in OpenAI's form.
  const counts = { ...objectOf(metadata.additional_usage_values), ...objectOf(metadata.usage_object) };
  const details = objectOf(counts.prompt_tokens_details);
  const isStreamed = row.completionStartTime !== undefined && row.completionStartTime !== row.endTime;
  const hasDetails = counts.prompt_tokens_details != null || counts.cache_read_input_tokens != null;
  const [id, model, session] = [row.request_id, row.model, row.session_id].map(textOf);
  const prefix = `${textOf(row.custom_llm_provider)}/`;
  tellCall(sink, {
    ref: id!,
    ...idsByLiteLlm(id),
    provider: providerOf(row),
    model: model?.startsWith(prefix) ? model.slice(prefix.length) : model,
    at: utcOf(row.startTime),
    endedAt: row.endTime,
    usage: usageWithCache({
      inputTokens: tokensOf(row.prompt_tokens),
      outputTokens: tokensOf(row.completion_tokens),
      cacheReadTokens: tokensOf(details.cached_tokens, counts.cache_read_input_tokens),
      cacheWriteTokens: tokensOf(counts.cache_creation_input_tokens, details.cache_creation_tokens),
      cacheWrite1hTokens: tokensOf(objectOf(details.cache_creation_token_details).ephemeral_1h_input_tokens),
      reasoningTokens: tokensOf(objectOf(counts.completion_tokens_details).reasoning_tokens),
    }, true),
    hasFailed: row.status === "failure",
    // LiteLLM counts the tokens itself where a stream has no usage.
    isGuessed: isStreamed && Object.keys(counts).length > 0 && !hasDetails,
    statedCostUsd: statedOf(row.spend),
    serviceTier: textOf(counts.service_tier),
    speed: textOf(counts.speed),
    inferenceGeo: textOf(counts.inference_geo),
    // LiteLLM gives each call that has none a session of its own.
    session: session && /^[0-9a-f]{8}-[0-9a-f]{4}-4/.test(session) ? undefined : session,
    tags: tagsOf(row, metadata),
  });
}

/** Returns who bills; undefined for the protocol of OpenAI at another address, and for another proxy. */
function providerOf({ custom_llm_provider, api_base }: Fields): string | undefined {
  const name = textOf(custom_llm_provider);
  const base = textOf(api_base);
  const isOther = name === "openai" && base !== undefined &&
    !/^https:\/\/([a-z]+\.)?api\.openai\.com/.test(base);
  return name === undefined || isOther || name === "litellm_proxy" ? undefined : toProviderName(name);
}

function tagsOf(row: Fields, metadata: Fields): Record<string, string> {
  const tags: Record<string, string> = {};
  const plain: string[] = [];
  for (const text of textsOf(row.request_tags)) {
    const [, name, value] = /^([a-z][a-z0-9_.-]*)[:=] ?(.+)$/.exec(text) ?? [];
    if (name !== undefined) tags[name] = value!;
    else if (!text.startsWith("User-Agent:")) plain.push(text);
  }
  return tagsIn({
    ...tags,
    ...objectOf(metadata.spend_logs_metadata),
    litellm_tags: plain.join(","),
    user: row.user,
    team: metadata.user_api_key_team_alias ?? row.team_id,
    customer: row.end_user,
    project: metadata.user_api_key_project_alias ?? metadata.user_api_key_project_id,
    litellm_key: metadata.user_api_key_alias ?? row.api_key,
    litellm_agent: row.agent_id,
  });
}
