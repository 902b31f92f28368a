import { PurserError } from "../../kernel/errors.ts";

const JSON_TYPE = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i;

/** Returns whether a request's content type is JSON. */
export function isJsonBody(request: Request): boolean {
  return JSON_TYPE.test(request.headers.get("content-type") ?? "");
}

/** Returns the error for a body of another type. */
export function notJson(): PurserError {
  return new PurserError(
    "unsupported_media_type",
    "Cannot read the body: send it as Content-Type: application/json",
  );
}
