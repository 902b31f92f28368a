import { STATUS } from "../../kernel/errors.ts";
import { ROUTE_PERMISSIONS } from "../route_permissions.ts";

/** What the document calls the way to show a key. */
const SCHEME_NAME = "api_key";

interface Guarded {
  security?: Record<string, string[]>[];
  responses: Record<string, unknown>;
}

/**
 * Writes the table of permissions into a document's operations: which scopes each needs. `[]` needs none, and is never
 * answered with 401. Gives the document's security schemes.
 */
export function describeSecurity(
  paths: Record<string, Record<string, Guarded>>,
): Record<string, object> {
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const scopes = ROUTE_PERMISSIONS[`${method.toUpperCase()} ${path}`]?.scopes ?? [];
      operation.security = scopes === "open" ? [] : scopes.map((scope) => ({ [SCHEME_NAME]: [scope] }));
      if (scopes === "open") delete operation.responses[STATUS.unauthorized];
    }
  }
  return {
    [SCHEME_NAME]: {
      type: "http",
      scheme: "bearer",
      bearerFormat: "psr_…",
      description:
        "An API key. Needed as soon as there is one, or ever was; before, only this machine is answered.",
    },
  };
}
