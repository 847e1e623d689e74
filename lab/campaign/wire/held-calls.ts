/** Calls over plain HTTP/2 whose messages are not finished, come slowly, or are bombs. */
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { deflateSync, gzipSync } from "node:zlib";

const SERVICE = "/inference.GRPCInferenceService";
const MIB = 2 ** 20;
const LONG_BYTES = 60 * MIB;
const DRIP_MS = 500;

export const HELD_KINDS = [
  "a unary message without its last byte",
  "a stream's message without its last byte",
  "only the length of a unary message",
  "only the length of a stream's message",
  "a message a few bytes at a time",
  "a gzip bomb",
  "a deflate bomb",
  "thousands of empty messages",
  "thousands of empty messages in gzip",
  "a whole message on a stream that stays open",
] as const;
export type HeldKind = (typeof HELD_KINDS)[number];

/** A call that is open until the server ends it. */
export interface HeldCall {
  readonly kind: HeldKind;
  /** Resolves with the gRPC status, or "reset" where there was none. */
  readonly ended: Promise<string>;
}

export class HeldClient {
  readonly session: ClientHttp2Session;

  /** @param address HOST:PORT. */
  constructor(address: string) {
    // The client's own limit of memory, in MB, would end its streams.
    this.session = connect(`http://${address}`, { maxSessionMemory: 1000 });
    this.session.on("error", () => {});
  }

  open(kind: HeldKind): HeldCall {
    const isUnary = /unary|bomb/.test(kind);
    const encoding = kind === "a deflate bomb" ? "deflate" : "gzip";
    const stream = this.session.request({
      ":method": "POST",
      ":path": `${SERVICE}/${isUnary ? "ModelInfer" : "ModelStreamInfer"}`,
      "content-type": "application/grpc",
      "grpc-encoding": encoding,
      te: "trailers",
    });
    const ended = statusOf(stream);
    void send(stream, kind);
    return { kind, ended };
  }

  close(): void {
    this.session.destroy();
  }
}

async function statusOf(stream: ClientHttp2Stream): Promise<string> {
  let status = "reset";
  const take = (headers: Readonly<Record<string, unknown>>) => {
    status = String(headers["grpc-status"] ?? status);
  };
  stream
    .on("response", take)
    .on("trailers", take)
    .on("error", () => {});
  stream.resume();
  if (!stream.closed) await once(stream, "close").catch(() => {});
  return status;
}

const zeros = Buffer.alloc(MIB);
const empty = gzipSync("");
const packedEmpty = Buffer.concat(
  Array.from({ length: 20_000 }, () => [headOf(empty.length, 1), empty]).flat(),
);
const bombs = new Map<HeldKind, Buffer>();

async function send(stream: ClientHttp2Stream, kind: HeldKind): Promise<void> {
  if (kind === "thousands of empty messages") {
    await write(stream, Buffer.alloc(MIB));
  } else if (kind === "thousands of empty messages in gzip") {
    await write(stream, packedEmpty);
  } else if (kind.endsWith("bomb")) {
    stream.end(bombOf(kind));
  } else if (kind.startsWith("only")) {
    await write(stream, headOf(LONG_BYTES));
  } else if (kind === "a message a few bytes at a time") {
    await write(stream, headOf(LONG_BYTES));
    const drip = setInterval(() => stream.write("dripping"), DRIP_MS);
    stream.on("close", () => clearInterval(drip));
  } else if (kind.startsWith("a whole")) {
    await sendLong(stream, LONG_BYTES);
  } else await sendLong(stream, LONG_BYTES - 1);
}

async function sendLong(stream: ClientHttp2Stream, bytes: number): Promise<void> {
  await write(stream, headOf(LONG_BYTES));
  for (let left = bytes; left > 0 && !stream.closed; left -= MIB) {
    await write(stream, zeros.subarray(0, Math.min(MIB, left)));
  }
}

/** Resolves once it is sent, or the stream is over. */
async function write(stream: ClientHttp2Stream, bytes: Buffer): Promise<void> {
  await new Promise<void>((resolve) => {
    stream.once("close", resolve);
    stream.write(bytes, () => {
      stream.off("close", resolve);
      resolve();
    });
  });
}

function bombOf(kind: HeldKind): Buffer {
  let bomb = bombs.get(kind);
  if (bomb === undefined) {
    const plain = Buffer.alloc(LONG_BYTES);
    const packed = kind === "a gzip bomb" ? gzipSync(plain) : deflateSync(plain);
    bomb = Buffer.concat([headOf(packed.length, 1), packed]);
    bombs.set(kind, bomb);
  }
  return bomb;
}

function headOf(bytes: number, flag = 0): Buffer {
  const head = Buffer.alloc(5, flag);
  head.writeUInt32BE(bytes, 1);
  return head;
}
