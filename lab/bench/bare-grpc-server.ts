/** What grpc-js takes by itself: takes every message as it is and answers 200 bytes. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";

const REPLY = Buffer.alloc(200, " ");
const asIs = (bytes: Buffer): Buffer => bytes;

const server = new Server({ "grpc.max_receive_message_length": -1 });
server.register(
  "/inference.GRPCInferenceService/ModelInfer",
  (_call: unknown, respond: (error: null, reply: Buffer) => void) => respond(null, REPLY),
  asIs,
  asIs,
  "unary",
);
process.once("SIGTERM", () => process.exit(0));
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  // Whoever starts it waits for an address of HTTP, which nobody asks.
  const http = createServer().listen(0, "127.0.0.1", () => {
    const { port: httpPort } = http.address() as AddressInfo;
    const url = `http://127.0.0.1:${httpPort}`;
    console.log(JSON.stringify({ url, grpcUrl: `127.0.0.1:${port}` }));
  });
});
