import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import type { ApiClient } from "./api_client.ts";

/** A way to the API that has to be closed. */
export interface Connection {
  api: ApiClient;
  /** Sends a request as it is, for answers that are streams; the URL's path counts, its host is replaced. */
  send(request: Request): Promise<Response>;
  /** Who answers: this process over its own database, the owner of a local file, or a remote server. */
  kind: "local" | "owner" | "remote";
  /** What the table or a message may call it: a path or a host. */
  where: string;
  close(): Promise<void>;
}

/** Finds the way to the API: `--server`, or the local database, itself or through the process that owns it. */
export function connect(
  _options: { config: Config; env: Record<string, string | undefined>; log: Log; say: (line: string) => void },
): Promise<Connection> {
  throw new Error("under construction");
}
