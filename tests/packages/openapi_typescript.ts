export { astToString, default } from "npm:openapi-typescript@7.13.0";
