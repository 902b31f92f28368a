export { parquetReadObjects } from "npm:hyparquet@1.31.5";
