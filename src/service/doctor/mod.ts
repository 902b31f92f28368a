/** The checks of `GET /doctor`. */
export { examineClock } from "./check_clock.ts";
export { examineConfig } from "./check_config.ts";
export { examineKeys } from "./check_keys.ts";
