import type { DoctorCheck } from "../../contract/service.ts";

/** The result of a check, without its name. */
export type Finding = Omit<DoctorCheck, "name">;

export function ok(detail: string): Finding {
  return { status: "ok", detail, advice: null };
}

export function warning(detail: string, advice: string): Finding {
  return { status: "warning", detail, advice };
}

export function failed(detail: string, advice: string | null): Finding {
  return { status: "failed", detail, advice };
}
