/**
 * HTTP/1.1 over plain sockets, one request at a time on each: a load generator that takes as little
 * of the machine as Node allows.
 */
import { connect } from "node:net";
import { ascending } from "./numbers.ts";

interface Load {
  readonly port: number;
  /** As `inferMessage` makes it. */
  readonly message: Buffer;
  readonly requests: number;
}

interface Connection {
  /** @returns ms from the write to the last byte. */
  exchange(message: Buffer): Promise<number>;
  close(): void;
}

/** One request for a row of zeros of the model, the whole message. */
export function inferMessage(model: string, width: number): Buffer {
  const tensor = { name: "x", datatype: "FP32", shape: [1, width] };
  const json = Buffer.from(
    JSON.stringify({
      inputs: [{ ...tensor, parameters: { binary_data_size: 4 * width } }],
      parameters: { binary_data_output: true },
    }),
  );
  const head = [
    `POST /v2/models/${model}/infer HTTP/1.1`,
    "host: localhost",
    "content-type: application/octet-stream",
    `inference-header-content-length: ${json.length}`,
    `content-length: ${json.length + 4 * width}`,
  ];
  return Buffer.concat([
    Buffer.from(`${head.join("\r\n")}\r\n\r\n`),
    json,
    Buffer.alloc(4 * width),
  ]);
}

/**
 * Sends the next request when the reply to the last is there, on every connection. Latencies in ms,
 * ascending.
 */
export async function closedLoop({
  port,
  message,
  connections,
  requests,
}: Load & { readonly connections: number }): Promise<{
  requestsPerSecond: number;
  latenciesMs: number[];
}> {
  const latenciesMs: number[] = [];
  let left = requests;
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = await open(port);
      while (left-- > 0) latenciesMs.push(await connection.exchange(message));
      connection.close();
    }),
  );
  const seconds = (performance.now() - startMs) / 1000;
  return { requestsPerSecond: requests / seconds, latenciesMs: ascending(latenciesMs) };
}

/**
 * Sends at the times of a Poisson process, on as many connections as that takes. Latencies in ms
 * from the write to the last byte, ascending.
 * @param mostWaiting it sends no more once as many wait for their replies, and returns fewer times.
 */
export async function openLoop({
  port,
  message,
  qps,
  requests,
  mostWaiting = Number.POSITIVE_INFINITY,
}: Load & { readonly qps: number; readonly mostWaiting?: number }): Promise<number[]> {
  const latenciesMs: number[] = [];
  const idle: Connection[] = [];
  const pending: Promise<void>[] = [];
  let dueMs = performance.now();
  for (let request = 0; request < requests; request++) {
    if (request - latenciesMs.length >= mostWaiting) break;
    dueMs -= (1000 / qps) * Math.log(1 - Math.random());
    const aheadMs = dueMs - performance.now();
    if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
    const connection = idle.pop() ?? (await open(port));
    const exchange = connection.exchange(message).then((latencyMs) => {
      latenciesMs.push(latencyMs);
      idle.push(connection);
    });
    pending.push(exchange);
  }
  await Promise.all(pending);
  for (const connection of idle) connection.close();
  return ascending(latenciesMs);
}

async function open(port: number): Promise<Connection> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await new Promise((resolve, reject) => {
    socket.once("connect", () => resolve(null)).once("error", reject);
  });
  let sentMs = 0;
  let head = "";
  let missing = -1;
  let resolveReply = (_latencyMs: number): void => {};
  let rejectReply = (_error: Error): void => {};
  socket.on("error", (error) => rejectReply(error));
  socket.on("close", () => rejectReply(new Error("the server closed the connection")));
  socket.on("data", (chunk: Buffer) => {
    if (missing < 0) {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      if (!head.startsWith("HTTP/1.1 200")) rejectReply(new Error(head));
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
      missing = end + 4 + length - head.length;
      head = "";
    } else missing -= chunk.length;
    if (missing > 0) return;
    missing = -1;
    resolveReply(performance.now() - sentMs);
  });
  return {
    exchange: (message) =>
      new Promise((resolve, reject) => {
        resolveReply = resolve;
        rejectReply = reject;
        sentMs = performance.now();
        socket.write(message);
      }),
    close: () => socket.destroy(),
  };
}
