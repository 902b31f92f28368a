export { default as protobuf } from "npm:protobufjs@7.6.6";
