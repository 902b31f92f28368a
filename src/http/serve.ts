import type { Core } from "../core.ts";

/** A server that listens. */
export interface Listening {
  /** Where it listens, e.g. `http://127.0.0.1:8420`. */
  url: string;
  /** Serves what is in flight, refuses the rest, and resolves when all is answered. */
  shutdown(): Promise<void>;
}

/** Listens on a loopback address; any other is refused until keys exist. */
export function serve(_core: Core, _options: { host: string; port: number }): Promise<Listening> {
  throw new Error("under construction");
}
