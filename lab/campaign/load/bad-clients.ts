/** Clients that do wrong, one kind after the other, and what became of their requests. */
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export interface BadClient {
  readonly name: string;
  /** Whether what it sends is a request for inference of the model. */
  readonly isInference: boolean;
  /** @param message a good request. @returns the status of the answer, undefined if it left. */
  readonly act: (port: number, message: Uint8Array) => Promise<string | undefined>;
}

export interface BadGrpcClient {
  readonly name: string;
  /** @returns the status, `ended` for a call without one, `left`, or `unanswered`. */
  readonly act: (address: string) => Promise<string>;
}

/** Between the pieces of a slow body, ms. */
const SLOW_MS = 50;
const SLOW_PIECES = 8;
/** A client that leaves stays for so long, ms. */
const STAY_MS = 5;

const NOTHING = "\r\nhost: h\r\ncontent-length: 0\r\n\r\n";

export const BAD_CLIENTS: readonly BadClient[] = [
  { name: "no HTTP", isInference: false, act: (port) => asked(port, ["what is this?\r\n\r\n"]) },
  {
    name: "unknown model",
    isInference: false,
    act: (port) => asked(port, [`POST /v2/models/nobody/infer HTTP/1.1${NOTHING}`]),
  },
  {
    name: "broken JSON",
    isInference: true,
    act: (port, message) => asked(port, [headOf(message, "content-length: 9"), '{"inputs"']),
  },
  {
    name: "slow body",
    isInference: true,
    act: (port, message) => asked(port, piecesOf(message, SLOW_PIECES), SLOW_MS),
  },
  {
    name: "gone in the body",
    isInference: true,
    act: (port, message) => left(port, message.subarray(0, headLength(message) + 10)),
  },
  { name: "gone after it", isInference: true, act: (port, message) => left(port, message) },
];

/** A frame that promises 1 MB; and one that is whole and holds no message. */
const PROMISED = Buffer.from([0, 0, 0x0f, 0x42, 0x40, ...Buffer.alloc(1000)]);
const GARBAGE = Buffer.from([0, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff]);
/** For a call that stands still: above `bodyTimeout` and `linger`. */
const STANDING_MS = 35_000;

export const BAD_GRPC_CLIENTS: readonly BadGrpcClient[] = [
  { name: "no gRPC message", act: (address) => called(address, GARBAGE, STANDING_MS) },
  { name: "half a gRPC message, gone", act: (address) => called(address, PROMISED, STAY_MS) },
  {
    name: "half a gRPC message, and no more",
    act: async (address) => {
      const status = await called(address, PROMISED, STANDING_MS);
      return status === "left" ? "unanswered" : status;
    },
  },
];

/** Begins a call with some bytes, and leaves after a time. */
function called(address: string, bytes: Uint8Array, stayMs: number): Promise<string> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://${address}`);
    const done = (status: string) => {
      clearTimeout(timer);
      session.destroy();
      resolve(status);
    };
    const timer = setTimeout(() => done("left"), stayMs);
    session.on("error", () => {}).on("close", () => done("ended"));
    const call = session.request({
      ":method": "POST",
      ":path": "/inference.GRPCInferenceService/ModelInfer",
      "content-type": "application/grpc",
      te: "trailers",
    });
    const take = (headers: Readonly<Record<string, unknown>>) => {
      const status = headers["grpc-status"];
      if (status !== undefined) done(`grpc ${status}`);
    };
    call.on("response", take).on("trailers", take);
    call.on("error", () => {}).on("close", () => done("ended"));
    call.resume();
    call.write(bytes);
  });
}

function headLength(message: Uint8Array): number {
  return Buffer.from(message).indexOf("\r\n\r\n") + 4;
}

/** The request line of a message, and another header. */
function headOf(message: Uint8Array, header: string): string {
  const line = Buffer.from(message).toString("latin1").split("\r\n", 1)[0] ?? "";
  return `${line}\r\nhost: h\r\n${header}\r\n\r\n`;
}

function piecesOf(message: Uint8Array, count: number): Uint8Array[] {
  const size = Math.ceil(message.length / count);
  return Array.from({ length: count }, (_, at) => message.subarray(at * size, (at + 1) * size));
}

/** Sends pieces and waits for an answer. @returns its status, undefined for none. */
function asked(
  port: number,
  pieces: readonly (string | Uint8Array)[],
  everyMs = 0,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let head = "";
    const done = () => {
      socket.destroy();
      resolve(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]);
    };
    socket.on("error", done).on("close", done);
    socket.on("data", (chunk: Buffer) => {
      head += chunk.toString("latin1");
      if (head.includes("\r\n\r\n")) done();
    });
    void (async () => {
      for (const piece of pieces) {
        if (socket.destroyed) return;
        socket.write(piece);
        if (everyMs > 0) await pause(everyMs);
      }
    })();
  });
}

/** Sends bytes, and goes without an answer. */
function left(port: number, bytes: Uint8Array): Promise<undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {}).on("close", () => resolve(undefined));
    socket.write(bytes, () => setTimeout(() => socket.destroy(), STAY_MS));
  });
}
