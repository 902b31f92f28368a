import { type Connection, errorOf } from "../client/mod.ts";

/** Sends a request whose body or answer is a stream; `make` is asked again where it has to be sent twice. */
export async function fetchStream({ send }: Connection, make: () => Request): Promise<Response> {
  const response = await send(make(), make);
  if (response.ok) return response;
  throw await errorOf(response);
}
