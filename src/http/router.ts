import { OpenAPIHono } from "@hono/zod-openapi";
import { PurserError } from "../errors.ts";

/** A router whose requests are checked against their schemas; all that is wrong is told at once, with paths. */
export function createRouter(): OpenAPIHono {
  return new OpenAPIHono({
    defaultHook: (result) => {
      if (result.success) return;
      const issues = result.error.issues.map(({ path, message }) => ({ path: formatPath(path), message }));
      const first = issues[0]!;
      throw new PurserError(
        "invalid",
        `Cannot read the request: ${first.path ? `${first.path}: ` : ""}${first.message}` +
          (issues.length > 1 ? ` (and ${issues.length - 1} more)` : ""),
        { details: { issues } },
      );
    },
  });
}

/** `[3].at` for `[3, "at"]`. */
function formatPath(path: readonly PropertyKey[]): string {
  return path.map((key, index) =>
    typeof key === "number" ? `[${key}]` : (index === 0 ? "" : ".") + String(key)
  ).join("");
}
