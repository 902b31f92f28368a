import {
  createRule,
  getRule,
  listAlerts,
  listRules,
  MAX_HISTORY,
  removeRule,
  testRule,
  updateRule,
} from "../../alerts/mod.ts";
import type { Core } from "../../core.ts";
import { createRoute, json, jsonBody, pageQuery, problems, z } from "../route_parts.ts";
import { createRouter } from "../router.ts";
import { Alert, Rule, RuleBody, RuleChangesBody, RuleTest } from "../schemas.ts";

const params = z.object({ rule_id: z.string().openapi({ example: "rule_01" }) });
const tags = ["alerts"];

const create = createRoute({
  method: "post",
  path: "/alerts/rules",
  summary: "Add an alert rule",
  description:
    "It fires at the next call that is booked while its line is crossed, whenever the money was spent.",
  tags,
  request: { body: jsonBody(RuleBody) },
  responses: {
    201: {
      ...json(Rule, "The rule"),
      headers: z.object({ location: z.string().openapi({ description: "Where it is" }) }),
    },
    ...problems("invalid", "too_large", "unsupported_media_type"),
  },
});

const list = createRoute({
  method: "get",
  path: "/alerts/rules",
  summary: "All alert rules",
  tags,
  responses: { 200: json(z.array(Rule), "Oldest first"), ...problems() },
});

const get = createRoute({
  method: "get",
  path: "/alerts/rules/{rule_id}",
  summary: "An alert rule",
  tags,
  request: { params },
  responses: { 200: json(Rule, "The rule"), ...problems("not_found") },
});

const update = createRoute({
  method: "patch",
  path: "/alerts/rules/{rule_id}",
  summary: "Enable, disable or change an alert rule",
  description:
    "Only what is given is changed. A new threshold, threshold type, agent or repeat forgets which windows the " +
    "rule has told of; its cooldown goes on. A new cooldown counts from when the rule last fired.",
  tags,
  request: { params, body: jsonBody(RuleChangesBody) },
  responses: {
    200: json(Rule, "The rule as it is now"),
    ...problems("invalid", "not_found", "too_large", "unsupported_media_type"),
  },
});

const remove = createRoute({
  method: "delete",
  path: "/alerts/rules/{rule_id}",
  summary: "Remove an alert rule; its history stays",
  tags,
  request: { params },
  responses: { 204: { description: "It is gone" }, ...problems("not_found") },
});

const test = createRoute({
  method: "post",
  path: "/alerts/rules/{rule_id}/test",
  summary: "Send a test of an alert rule through every channel",
  description:
    "One attempt in each, whatever its `min_severity`, for a disabled rule too. It is kept in the history, marked, " +
    "and neither counts as spend nor uses up the cooldown.",
  tags,
  request: { params },
  responses: {
    200: json(RuleTest, "All delivered it"),
    207: json(RuleTest, "Some delivered it"),
    502: json(RuleTest, "None delivered it"),
    ...problems("not_found"),
  },
});

const history = createRoute({
  method: "get",
  path: "/alerts/history",
  summary: "The latest alerts, and what became of them in each channel",
  description: `The newest ${MAX_HISTORY} are kept. Tests of rules are among them, marked.`,
  tags,
  request: { query: z.strictObject({ limit: pageQuery(MAX_HISTORY, MAX_HISTORY).limit }) },
  responses: { 200: json(z.array(Alert), "Newest first"), ...problems("invalid") },
});

export function alertRoutes(core: Core) {
  return createRouter()
    .openapi(create, async (c) => {
      const rule = await createRule(core, c.req.valid("json"));
      c.header("location", `/alerts/rules/${rule.rule_id}`);
      return c.json(rule, 201);
    })
    .openapi(list, async (c) => c.json(await listRules(core), 200))
    .openapi(get, async (c) => c.json(await getRule(core, c.req.valid("param").rule_id), 200))
    .openapi(update, async (c) => {
      return c.json(await updateRule(core, c.req.valid("param").rule_id, c.req.valid("json")), 200);
    })
    .openapi(remove, async (c) => {
      await removeRule(core, c.req.valid("param").rule_id);
      return c.body(null, 204);
    })
    .openapi(test, async (c) => {
      const outcome = await testRule(core, c.req.valid("param").rule_id);
      const failed = outcome.results.filter(({ status }) => status === "failed").length;
      if (failed === 0) return c.json(outcome, 200);
      return failed < outcome.results.length ? c.json(outcome, 207) : c.json(outcome, 502);
    })
    .openapi(history, async (c) => c.json(await listAlerts(core, c.req.valid("query")), 200));
}
