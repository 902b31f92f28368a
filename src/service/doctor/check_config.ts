import type { Core } from "../core.ts";
import type { DoctorCheck } from "../../contract/service.ts";

/**
 * Names the config file of the process that answers. Its path is no secret, and whoever asks over the network has to
 * know which file to correct; of what is in it nothing is told here.
 */
export function examineConfig({ configPath }: Pick<Core, "configPath">): DoctorCheck {
  const detail = configPath ?? "no file: all settings have their defaults or come from the environment";
  return { name: "config", status: "ok", detail, advice: null };
}
