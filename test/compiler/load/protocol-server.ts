import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a test server was sent. */
export interface ReceivedQuery {
  readonly contentType: string | undefined;
  readonly header: unknown;
  readonly binary: Buffer;
}

export interface ProtocolServer {
  readonly url: string;
  readonly received: ReceivedQuery[];
  close(): Promise<void>;
}

/** Answers the query of a number, counted from 0. */
export type Answering = (response: ServerResponse, query: ReceivedQuery, index: number) => void;

/**
 * Enough of an Open Inference Protocol server: model "digits", x FP32 [-1, 3] to y FP32 [-1, 3].
 * @param classes that its configuration states.
 * @param metrics text for a number of received queries; null for a server without metrics.
 */
export async function startProtocolServer(
  answer: Answering,
  classes: unknown = null,
  metrics: ((received: number) => string) | null = null,
): Promise<ProtocolServer> {
  const received: ReceivedQuery[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      if (request.url === "/v2/repository/index" && request.method === "POST") {
        sendJson(response, [{ name: "digits", state: "READY" }, { name: "other" }]);
      } else if (request.url === "/v2/models/digits") {
        sendJson(response, METADATA);
      } else if (request.url === "/v2/models/digits/config" && classes !== null) {
        const parameters = { slo_classes: { string_value: JSON.stringify(classes) } };
        sendJson(response, { name: "digits", parameters });
      } else if (request.url === "/metrics" && metrics !== null) {
        response.end(metrics(received.length));
      } else if (request.url === "/v2/models/digits/infer") {
        const query = parseQuery(request, body);
        received.push(query);
        answer(response, query, received.length - 1);
      } else {
        sendJson(response, { error: `Request for unknown model: ${request.url}` }, 404);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const METADATA = {
  name: "digits",
  versions: ["1"],
  platform: "stratagem",
  inputs: [{ name: "x", datatype: "FP32", shape: [-1, 3] }],
  outputs: [{ name: "y", datatype: "FP32", shape: [-1, 3] }],
};

function parseQuery(request: IncomingMessage, body: Buffer): ReceivedQuery {
  const headerBytes = Number(request.headers["inference-header-content-length"]);
  return {
    contentType: request.headers["content-type"],
    header: JSON.parse(body.toString("utf8", 0, headerBytes)),
    binary: body.subarray(headerBytes),
  };
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

/** Gives the input back as output "y", as raw bytes. */
export function echoBinary(
  response: ServerResponse,
  { binary }: ReceivedQuery,
  parameters: Readonly<Record<string, unknown>>,
): void {
  const parts = { binary_data_size: binary.length };
  const outputs = [{ name: "y", datatype: "FP32", shape: [1, 3], parameters: parts }];
  const header = Buffer.from(
    JSON.stringify({ model_name: "digits", model_version: "1", parameters, outputs }),
  );
  response
    .writeHead(200, {
      "content-type": "application/octet-stream",
      "inference-header-content-length": header.length,
    })
    .end(Buffer.concat([header, binary]));
}
