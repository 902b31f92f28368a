import { MAX_ALERT_HISTORY, MAX_PAGE, PAGE_SIZES } from "../../contract/limits.ts";
import {
  createRule,
  explainAlert,
  getRule,
  listAlerts,
  listRules,
  removeRule,
  resendAlert,
  testRule,
  updateRule,
} from "../../alerts/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createOnce, IDEMPOTENCY_KEY } from "../middleware/idempotency.ts";
import { etagBy, IF_MATCH, readPreconditions } from "../middleware/preconditions.ts";
import { onlyAgentOf, viewerOfRequest } from "../middleware/agent_reach.ts";
import { createRoute, z } from "../create_route.ts";
import { headers } from "../../contract/headers.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody, optionalHeaders } from "../route_parts.ts";
import { isTimePosition, pageByTime, positionIn, readCursor } from "../cursors.ts";
import type { TimePosition } from "../../store/mod.ts";
import { limitQuery, optionalPageQuery, page } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { asAuthor } from "../middleware/principal.ts";
import { answerWhole, WHOLE_PAGE } from "../whole_lists.ts";
import { Alert, AlertDetail, AlertId } from "../../contract/alerts/alerts.ts";
import { AcknowledgementBody, AlertResend, RuleTest } from "../../contract/alerts/sent_alerts.ts";
import {
  AlertRule,
  RULE_FIELDS,
  RuleBody,
  RuleChangesBody,
  RuleId,
} from "../../contract/alerts/alert_rules.ts";

const params = z.object({ rule_id: RuleId });

const create = createRoute({
  method: "post",
  path: "/alerts/rules",
  scopes: ["admin"],
  operationId: "createAlertRule",
  summary: "Add an alert rule",
  description:
    "It fires at the next call that is booked while its threshold is exceeded, whenever the money was spent.",
  tags: ["alerts"],
  request: {
    ...optionalHeaders(IDEMPOTENCY_KEY),
    body: jsonBody(RuleBody, {
      name: "Daily limit",
      threshold_type: "per_day_usd",
      threshold_usd: 10,
      severity: "critical",
      cooldown_seconds: 3600,
    }),
  },
  responses: {
    201: {
      ...json(AlertRule, "The rule"),
      headers: headers("Location", "ETag", "Idempotency-Replayed"),
    },
    ...problems("invalid", "conflict", "idempotency_mismatch", ...BODY_CODES),
  },
});

const list = createRoute({
  method: "get",
  path: "/alerts/rules",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listAlertRules",
  summary: "List alert rules",
  tags: ["alerts"],
  description: "All of them, unless a `limit` is given.",
  request: { query: z.strictObject(optionalPageQuery(MAX_PAGE)) },
  responses: { 200: page(z.array(AlertRule), "Rules, oldest first"), ...problems("invalid") },
});

const get = createRoute({
  method: "get",
  path: "/alerts/rules/{rule_id}",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "getAlertRule",
  summary: "Get an alert rule",
  description: "The `ETag` is that of the fields that its author sets: spending and firing don't change it.",
  tags: ["alerts"],
  request: { params },
  responses: {
    200: { ...json(AlertRule, "The rule"), headers: headers("ETag") },
    ...problems("not_found"),
  },
});

const update = createRoute({
  method: "patch",
  path: "/alerts/rules/{rule_id}",
  scopes: ["admin"],
  operationId: "updateAlertRule",
  summary: "Enable, disable or change an alert rule",
  description:
    "Changes only the given fields. A new threshold, threshold type, subject or repeat resets the windows in which the " +
    "rule has fired; its cooldown continues. A new cooldown counts from when the rule last fired.",
  tags: ["alerts"],
  request: { params, ...optionalHeaders(IF_MATCH), body: jsonBody(RuleChangesBody, { enabled: false }) },
  responses: {
    200: { ...json(AlertRule, "The changed rule"), headers: headers("ETag") },
    ...problems("invalid", "not_found", "conflict", "precondition_failed", ...BODY_CODES),
  },
});

const remove = createRoute({
  method: "delete",
  path: "/alerts/rules/{rule_id}",
  scopes: ["admin"],
  operationId: "deleteAlertRule",
  summary: "Delete an alert rule; its history stays",
  tags: ["alerts"],
  request: { params, ...optionalHeaders(IF_MATCH) },
  responses: {
    204: { description: "Deleted" },
    ...problems("invalid", "not_found", "conflict", "precondition_failed", ...BODY_CODES),
  },
});

const test = createRoute({
  method: "post",
  path: "/alerts/rules/{rule_id}/test",
  scopes: ["admin"],
  operationId: "testAlertRule",
  summary: "Send a test of an alert rule to every channel",
  description:
    "One attempt per channel, whatever its `min_severity`, also for a disabled rule. The history has it, marked as a " +
    "test; it neither counts as spend nor starts the cooldown.",
  tags: ["alerts"],
  request: { params },
  responses: {
    200: json(RuleTest, "All channels delivered it"),
    207: json(RuleTest, "Some channels delivered it"),
    502: json(RuleTest, "No channel delivered it"),
    ...problems("not_found", ...BODY_CODES),
  },
});

const history = createRoute({
  method: "get",
  path: "/alerts/history",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listAlerts",
  summary: "List the latest alerts with their deliveries by channel",
  description: `The newest ${MAX_ALERT_HISTORY} are kept, tests of rules included, which are marked.`,
  tags: ["alerts"],
  request: { query: z.strictObject({ limit: limitQuery(PAGE_SIZES.alerts) }) },
  responses: { 200: json(z.array(Alert), "Alerts, newest first"), ...problems("invalid") },
});

const explain = createRoute({
  method: "get",
  path: "/alerts/history/{alert_id}",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "getAlert",
  csvField: "deliveries",
  summary: "Get an alert with the spending that moved it",
  description:
    "The agents, models and sessions with the most spending from the start of the window until the alert, and the " +
    "earlier alerts of its rule or budget.",
  tags: ["alerts"],
  request: { params: z.object({ alert_id: AlertId }) },
  responses: { 200: json(AlertDetail, "The alert"), ...problems("not_found") },
});

const resend = createRoute({
  method: "post",
  path: "/alerts/history/{alert_id}/resend",
  scopes: ["admin"],
  operationId: "resendAlert",
  summary: "Send an alert of the history once more",
  description:
    "One attempt through every channel whose `min_severity` it reaches today. The alert's deliveries in the history " +
    "include these; the rule and its cooldown stay as they are.",
  tags: ["alerts"],
  request: { params: z.object({ alert_id: AlertId }) },
  responses: {
    200: json(AlertResend, "All channels delivered it"),
    207: json(AlertResend, "Some channels delivered it"),
    502: json(AlertResend, "No channel delivered it"),
    ...problems("not_found", "conflict", ...BODY_CODES),
  },
});

const acknowledge = createRoute({
  method: "post",
  path: "/alerts/history/{alert_id}/ack",
  scopes: ["admin"],
  operationId: "acknowledgeAlert",
  csvField: "deliveries",
  summary: "Acknowledge an alert that fires",
  description:
    "Its rule doesn't fire again for the same run, session, day or month, or for the hour until its spending has fallen " +
    "below the threshold. Channels with `send_resolved` are told.",
  tags: ["alerts"],
  request: {
    params: z.object({ alert_id: AlertId }),
    body: jsonBody(AcknowledgementBody, { note: "A planned run" }),
  },
  responses: { 200: json(AlertDetail, "The alert"), ...problems("not_found", "conflict", ...BODY_CODES) },
});

/** Returns the status of a response about attempts through several channels. */
function statusOf(results: readonly { status: "delivered" | "failed" }[]): 200 | 207 | 502 {
  const failed = results.filter(({ status }) => status === "failed").length;
  return failed === 0 ? 200 : failed < results.length ? 207 : 502;
}

const etagOfRule = etagBy(["rule_id", ...RULE_FIELDS, "created_at"]);

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(create, async (c) => {
      const input = c.req.valid("json");
      const rule = await createOnce<AlertRule>(
        c,
        core,
        input,
        (settle) => createRule(asAuthor(c, core), input, settle),
      );
      c.header("location", `/alerts/rules/${rule.rule_id}`);
      c.header("etag", await etagOfRule(rule));
      return c.json(rule, 201);
    })
    .openapi(list, async (c) => {
      const { limit, cursor } = c.req.valid("query");
      // Not the rules over all agents: their values are the spend of all agents.
      const agentId = onlyAgentOf(c);
      const list = (after: TimePosition | undefined, limit: number) =>
        listRules(core, { agentId, after, limit });
      const positionOf = positionIn("created_at", "rule_id");
      if (limit !== undefined) return c.json(await pageByTime(c, { limit, cursor }, positionOf, list), 200);
      const first = readCursor(cursor, isTimePosition);
      const answer = await answerWhole(c, core, async (after: TimePosition | undefined = first) => {
        const entries = await list(after, WHOLE_PAGE.entries);
        const last = entries[WHOLE_PAGE.entries - 1];
        return { entries, next: last && positionOf(last) };
      });
      return answer instanceof Response ? answer as never : c.json(answer, 200);
    })
    .openapi(get, async (c) => {
      const rule = await getRule(core, c.req.valid("param").rule_id, onlyAgentOf(c));
      c.header("etag", await etagOfRule(rule));
      return c.json(rule, 200);
    })
    .openapi(update, async (c) => {
      const { rule_id } = c.req.valid("param");
      const check = readPreconditions(c, etagOfRule);
      const rule = await updateRule(asAuthor(c, core), rule_id, c.req.valid("json"), check);
      c.header("etag", await etagOfRule(rule));
      return c.json(rule, 200);
    })
    .openapi(remove, async (c) => {
      await removeRule(asAuthor(c, core), c.req.valid("param").rule_id, readPreconditions(c, etagOfRule));
      return c.body(null, 204);
    })
    .openapi(test, async (c) => {
      const outcome = await testRule(await core.whole(), c.req.valid("param").rule_id);
      return c.json(outcome, statusOf(outcome.results));
    })
    .openapi(explain, async (c) => {
      return c.json(await explainAlert(core, c.req.valid("param").alert_id, viewerOfRequest(c)), 200);
    })
    .openapi(resend, async (c) => {
      const outcome = await resendAlert(await core.whole(), c.req.valid("param").alert_id);
      return c.json(outcome, statusOf(outcome.results));
    })
    .openapi(acknowledge, async (c) => {
      const { note } = c.req.valid("json");
      const { acknowledgeAlert } = await import("../../alerts/follow/mod.ts");
      return c.json(await acknowledgeAlert(asAuthor(c, core), c.req.valid("param").alert_id, note), 200);
    })
    .openapi(history, async (c) => {
      return c.json(
        await listAlerts(core, { ...c.req.valid("query"), viewer: viewerOfRequest(c) }),
        200,
      );
    });
}
