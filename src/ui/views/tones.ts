import type { Severity } from "../../contract/values.ts";
import type { Tone } from "../parts/card.tsx";

/** The tones of severities. */
export const SEVERITY_TONES: Readonly<Record<Severity, Tone>> = {
  info: "neutral",
  warning: "warning",
  critical: "bad",
};
