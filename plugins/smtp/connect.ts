import { connect, type Socket } from "node:net";
import { DeliveryError } from "../../src/delivery/channels/mod.ts";

/** Connects to the first of a host's addresses at which somebody listens. Rejects with a DeliveryError. */
export async function connectToFirst(
  addresses: readonly string[],
  { host, port }: { host: string; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  let reason = "it has no address";
  for (const address of addresses) {
    try {
      return await connectTo(address, port, signal);
    } catch (error) {
      if (signal.aborted) throw new DeliveryError("stopped before there was a connection", { retry: true });
      const { code } = error as { code?: string };
      reason = code === "ECONNREFUSED" ? "connection refused" : code ?? "no connection";
    }
  }
  throw new DeliveryError(`cannot reach ${host}:${port}: ${reason}`, { retry: true });
}

function connectTo(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port });
    const settle = (act: () => void) => () => {
      signal.removeEventListener("abort", stop);
      act();
    };
    const stop = settle(() => {
      socket.destroy();
      reject(signal.reason);
    });
    const fail = (error: Error) => settle(() => reject(error))();
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.off("error", fail);
      settle(() => resolve(socket))();
    });
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
