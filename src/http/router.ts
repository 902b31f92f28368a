import { OpenAPIHono } from "@hono/zod-openapi";
import { invalidInput } from "../contract/schema_issues.ts";
import type { ApiEnv } from "./middleware/principal.ts";

/** Routes of the API. */
export type Router = OpenAPIHono<ApiEnv>;

/** Creates a router that checks requests against their schemas; its error has every issue with its path. */
export function createRouter(): Router {
  return new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidInput(result.error, "the request");
    },
  });
}
