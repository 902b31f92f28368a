export { default } from "npm:typescript@5.9.3";
