import { type Connection, errorOf } from "../client/mod.ts";

/** Sends a request whose body or answer is a stream; throws the problem where it is refused. */
export async function fetchStream({ send }: Connection, request: Request): Promise<Response> {
  const response = await send(request);
  if (response.ok) return response;
  throw await errorOf(response);
}
