/** gRPC calls over plain HTTP/2: a load generator that does not read what it is answered. */
import { type ClientHttp2Session, connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { ModelInferRequestSchema } from "../../runtime/server/grpc/pb/inference-pb.ts";

/** One request for a row of zeros of the model, with the head of its frame. */
export function grpcMessage(model: string, width: number): Buffer {
  const request = create(ModelInferRequestSchema, {
    modelName: model,
    inputs: [{ name: "x", datatype: "FP32", shape: [1n, BigInt(width)] }],
    rawInputContents: [new Uint8Array(4 * width)],
  });
  const message = toBinary(ModelInferRequestSchema, request);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/**
 * Sends the next request when the answer to the last is there, so many at a time, over four
 * connections. @returns requests per second.
 */
export async function grpcLoop(
  address: string,
  message: Buffer,
  concurrency: number,
  requests: number,
): Promise<number> {
  const sessions = Array.from({ length: 4 }, () => connect(`http://${address}`));
  let left = requests;
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async (_, index) => {
      const session = sessions[index % sessions.length] as ClientHttp2Session;
      while (left-- > 0) await exchange(session, message);
    }),
  );
  const seconds = (performance.now() - startMs) / 1000;
  for (const session of sessions) session.close();
  return requests / seconds;
}

function exchange(session: ClientHttp2Session, message: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": "/inference.GRPCInferenceService/ModelInfer",
      "content-type": "application/grpc",
      te: "trailers",
    });
    let status = "";
    const take = (headers: Readonly<Record<string, unknown>>) => {
      status = String(headers["grpc-status"] ?? status);
    };
    stream.on("response", take);
    stream.on("trailers", take);
    stream.on("error", reject);
    stream.on("close", () => {
      if (status === "0") resolve();
      else reject(new Error(`expected an answer, got status ${status}`));
    });
    stream.resume();
    stream.end(message);
  });
}
