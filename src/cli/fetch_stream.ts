import type { Connection } from "../client/mod.ts";

/** Sends a request whose body or response is a stream. Throws the problem of a response that is not 2xx. */
export async function fetchStream({ send }: Connection, request: Request): Promise<Response> {
  const response = await send(request);
  if (response.ok) return response;
  const { errorOf } = await import("../client/mod.ts");
  throw await errorOf(response);
}
