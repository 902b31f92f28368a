/** The checks of `GET /doctor`. */
export { examineService } from "./examine_service.ts";
