import type { Context, Hono } from "hono";
import { PurserError } from "../../kernel/errors.ts";

/** Why no route took a request: there is nothing at its path, or nothing for its method; then says for which. */
export function explainUnknownRoute(app: Pick<Hono, "routes">, c: Context): PurserError {
  const { method, path } = c.req;
  const methods = new Set(
    app.routes.filter((route) => route.method !== "ALL" && isAt(route.path, path)).map((route) =>
      route.method
    ),
  );
  if (methods.size === 0) {
    return new PurserError("not_found", `Cannot find ${method} ${path}: see /docs for what there is`);
  }
  const allowed = [...methods].sort().join(", ");
  c.header("Allow", allowed);
  return new PurserError("method_not_allowed", `Cannot ${method} ${path}: it takes ${allowed}`);
}

/** Whether a path is one of those that a pattern such as `/runs/:run_id` stands for. */
export function isAt(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return wanted.length === given.length &&
    wanted.every((part, i) => part.startsWith(":") ? given[i] !== "" : part === given[i]);
}
