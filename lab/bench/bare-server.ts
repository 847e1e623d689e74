/** What node:http takes by itself: reads the body of every request and answers 200 bytes. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const REPLY = Buffer.alloc(200, " ");

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-length": REPLY.length });
    response.end(REPLY);
  });
});
process.once("SIGTERM", () => process.exit(0));
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
});
