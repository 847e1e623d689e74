// What node:http takes by itself: reads the body of every request and answers 200 bytes.
import { createServer } from "node:http";

const REPLY = Buffer.alloc(200, " ");

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-length": REPLY.length });
    response.end(REPLY);
  });
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`{"port":${server.address().port}\n}`));
