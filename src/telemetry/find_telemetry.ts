import type { Clock } from "../kernel/clock.ts";
import { noTelemetry, type Telemetry } from "./telemetry.ts";

/** Where every OpenTelemetry implementation for JavaScript registers itself; Deno's does with `OTEL_DENO=true`. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/**
 * The telemetry of this process: OpenTelemetry where an implementation has been registered before, else none. Without
 * one nothing is loaded, so that short commands don't pay for it.
 */
export async function findTelemetry(clock: Pick<Clock, "monotonic">): Promise<Telemetry> {
  if (!(REGISTRY in globalThis)) return noTelemetry;
  const { createOpenTelemetry } = await import("./open_telemetry.ts");
  return createOpenTelemetry(clock);
}
