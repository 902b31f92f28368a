export { RE2JS } from "npm:re2js@2.10.0";
