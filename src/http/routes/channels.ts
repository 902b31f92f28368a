import { readDigest, sendDigest } from "../../alerts/follow/mod.ts";
import { Digest, DigestQuery } from "../../contract/alerts/digests.ts";
import { testChannel } from "../../delivery/mod.ts";
import type { ConfiguredChannel } from "../../delivery/channels/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
import { isNumberPosition, linkNext, readCursor } from "../cursors.ts";
import { optionalPageQuery, page } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { MAX_PAGE } from "../../contract/limits.ts";
import { Channel, TestResult } from "../../contract/channels.ts";

const list = createRoute({
  method: "get",
  path: "/channels",
  scopes: ["read"],
  operationId: "listChannels",
  summary: "List the channels",
  description:
    "Each is checked without sending anything: that its plugin loads, and that its settings are valid. All of them, " +
    "unless a `limit` is given.",
  tags: ["channels"],
  request: { query: z.strictObject(optionalPageQuery(MAX_PAGE)) },
  responses: { 200: page(z.array(Channel), "Channels, in the order of the config"), ...problems("invalid") },
});

const test = createRoute({
  method: "post",
  path: "/channels/{name}/test",
  scopes: ["admin"],
  operationId: "testChannel",
  summary: "Send one test notification through a channel",
  description: "One attempt, which the history does not have.",
  tags: ["channels"],
  request: { params: z.object({ name: z.string().openapi({ example: "ops" }) }) },
  responses: {
    200: json(TestResult, "Delivered"),
    502: json(TestResult, "Not delivered, with the reason"),
    ...problems("not_found", ...BODY_CODES),
  },
});

const digest = createRoute({
  method: "get",
  path: "/digest",
  scopes: ["read"],
  operationId: "getDigest",
  summary: "Get the digest of the last day or week",
  description:
    "What channels with `digest` get: the spending of the last whole day or week of the server's time zone.",
  tags: ["channels"],
  request: { query: DigestQuery },
  responses: { 200: json(Digest, "The digest"), ...problems("invalid") },
});

const postDigest = createRoute({
  method: "post",
  path: "/channels/{name}/digest",
  scopes: ["admin"],
  operationId: "sendDigest",
  summary: "Send a digest through a channel now",
  description: "One attempt, also to a channel without `digest`, and in its quiet hours.",
  tags: ["channels"],
  request: { ...test.request, query: DigestQuery },
  responses: { ...test.responses, ...problems("invalid") },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(list, async (c) => {
      const { channels: { list } } = await core.whole();
      const { limit = list.length, cursor } = c.req.valid("query");
      const from = readCursor(cursor, isNumberPosition) ?? 0;
      if (from + limit < list.length) linkNext(c, from + limit);
      return c.json(await Promise.all(list.slice(from, from + limit).map(describeChannel)), 200);
    })
    .openapi(digest, async (c) => c.json(await readDigest(core, c.req.valid("query").period), 200))
    .openapi(postDigest, async (c) => {
      const { period } = c.req.valid("query");
      const result = await sendDigest(await core.whole(), c.req.valid("param").name, period);
      return result.status === "delivered" ? c.json(result, 200) : c.json(result, 502);
    })
    .openapi(test, async (c) => {
      const result = await testChannel(await core.whole(), c.req.valid("param").name);
      return result.status === "delivered" ? c.json(result, 200) : c.json(result, 502);
    });
}

async function describeChannel(channel: ConfiguredChannel): Promise<Channel> {
  const { sendResolved, digest, quietHours } = channel;
  const [problem = null, settings] = await Promise.all([channel.check(), channel.describe()]);
  return {
    name: channel.name,
    kind: channel.kind,
    min_severity: channel.minSeverity,
    timeout_ms: channel.timeoutMs,
    status: problem === null ? "ok" : "invalid",
    problem,
    settings: {
      ...(sendResolved && { send_resolved: true }),
      ...(digest && { digest }),
      ...(quietHours && { quiet_hours: quietHours }),
      ...settings,
    },
  };
}
