import type { MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type { Telemetry } from "../../telemetry/mod.ts";

/** Names the span that the server has made for a request by the route that answers it, not by its path. */
export function nameRequests(telemetry: Telemetry): MiddlewareHandler {
  return (c, next) => {
    if (telemetry.isOn) {
      const route = matchedRoutes(c).findLast(({ method }) => method !== "ALL");
      if (route) telemetry.nameRequest(c.req.raw, inBraces(route.path));
    }
    return next();
  };
}

/** `/agents/:agent_id` as the API's document writes it: `/agents/{agent_id}`. */
function inBraces(path: string): string {
  return path.replace(/:(\w+)(\{[^}]*\})?\??/g, "{$1}");
}
