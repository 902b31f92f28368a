import { OpenAPIHono } from "@hono/zod-openapi";
import { PurserError } from "../errors.ts";
import { formatPath } from "../format_path.ts";

/** A router whose requests are checked against their schemas; all that is wrong is told at once, with paths. */
export function createRouter(): OpenAPIHono {
  return new OpenAPIHono({
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.error, "the request");
    },
  });
}

/** What a schema has refused, as one error that names every path. */
export function invalidRequest(
  error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] },
  what: string,
): PurserError {
  const issues = error.issues.map(({ path, message }) => ({ path: formatPath(path), message }));
  const first = issues[0]!;
  return new PurserError(
    "invalid",
    `Cannot read ${what}: ${first.path ? `${first.path}: ` : ""}${first.message}` +
      (issues.length > 1 ? ` (and ${issues.length - 1} more)` : ""),
    { details: { issues } },
  );
}
