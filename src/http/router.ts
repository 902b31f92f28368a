import { OpenAPIHono } from "@hono/zod-openapi";
import { PurserError } from "../kernel/errors.ts";
import { toIssues } from "../contract/schema_issues.ts";
import type { ApiEnv } from "./middleware/principal.ts";

/** Some routes, and what stands in front of them. */
export type Router = OpenAPIHono<ApiEnv>;

/** A router whose requests are checked against their schemas; all that is wrong is told at once, with paths. */
export function createRouter(): Router {
  return new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.error, "the request");
    },
  });
}

/** What a schema has refused, as one error that names every path. */
export function invalidRequest(
  error: { issues: Parameters<typeof toIssues>[0] },
  what: string,
): PurserError {
  const issues = toIssues(error.issues);
  const first = issues[0]!;
  return new PurserError(
    "invalid",
    `Cannot read ${what}: ${first.path ? `${first.path}: ` : ""}${first.message}` +
      (issues.length > 1 ? ` (and ${issues.length - 1} more)` : ""),
    { details: { issues } },
  );
}
