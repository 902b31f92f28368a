export { Converter } from "npm:@apiture/openapi-down-convert@0.14.2";
