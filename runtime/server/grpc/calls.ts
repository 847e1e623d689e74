/** Calls as grpc-js has them, each counted once and answered whatever happens. */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type {
  Server,
  ServerDuplexStream,
  ServerUnaryCall,
  ServerWritableStream,
} from "@grpc/grpc-js";
import type { ByteHold } from "../bodies/body-memory.ts";
import { BadRequest } from "../tensors/bad-request.ts";
import type { Client, GrpcContext } from "./context.ts";
import { isPast } from "./deadline.ts";
import { seenOf } from "./interceptor.ts";
import type { Seen } from "./seen.ts";

type UnaryCall = ServerUnaryCall<Uint8Array, Uint8Array>;
export type DuplexCall = ServerDuplexStream<Uint8Array, Uint8Array>;
export type WritableCall = ServerWritableStream<Uint8Array, Uint8Array>;

/** Messages are bytes for grpc-js; they are decoded and encoded here. */
const asIs = (bytes: Buffer): Uint8Array => bytes;
const asBuffer = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, length);

/** @param path such as `/inference.GRPCInferenceService/ServerLive`. */
export function registerUnary(
  server: Server,
  { counts, answers }: GrpcContext,
  path: string,
  answer: (
    message: Uint8Array,
    client: Client,
    seen: Seen,
    hold: ByteHold,
  ) => Uint8Array | Promise<Uint8Array>,
): void {
  const method = methodOf(path);
  const handle = async (call: UnaryCall, respond: (...of: never[]) => void) => {
    const tell = respond as (error: object | null, answer?: Uint8Array) => void;
    const seen = seenOf(call);
    const hold = holdOf(call);
    seen.onMessage(call.request.length);
    counts.begin();
    try {
      const bytes = await answer(call.request, clientOf(call), seen, hold);
      counts.end(method, call.cancelled ? "CANCELLED" : "OK");
      if (call.cancelled) return;
      seen.onAnswer(bytes.length);
      call.once("cancelled", answers.begin(bytes.length, call.getPeer()));
      tell(null, bytes);
    } catch (error) {
      const { name, ...refusal } = seen.refusal(error);
      counts.end(method, name);
      tell(refusal);
    } finally {
      hold.release();
    }
  };
  server.register(path, handle as never, asBuffer, asIs, "unary");
}

/** Registers an RPC with a short request. */
export function registerAnswer<I extends DescMessage, O extends DescMessage>(
  server: Server,
  context: GrpcContext,
  path: string,
  [input, output]: readonly [I, O],
  answer: (request: MessageShape<I>) => MessageInitShape<O> | Promise<MessageInitShape<O>>,
): void {
  registerUnary(server, context, path, async (message) => {
    return toBinary(output, create(output, await answer(readMessage(input, message))));
  });
}

/** @param handle never throws; it ends the call by `end` or `refuse`. */
export function registerDuplex(
  server: Server,
  { counts }: GrpcContext,
  path: string,
  handle: (call: DuplexCall) => void,
): void {
  const counted = (call: DuplexCall) => {
    countStream(call, counts, methodOf(path));
    handle(call);
  };
  server.register(path, counted as never, asBuffer, asIs, "bidi");
}

export function registerServerStream(
  server: Server,
  { counts }: GrpcContext,
  path: string,
  handle: (call: WritableCall) => void,
): void {
  const counted = (call: WritableCall) => {
    countStream(call, counts, methodOf(path));
    handle(call);
  };
  server.register(path, counted as never, asBuffer, asIs, "serverStream");
}

/** Ends a stream with a status. */
export function refuseStream(call: DuplexCall | WritableCall, error: unknown): void {
  const seen = seenOf(call);
  const { name, ...refusal } = seen.refusal(error);
  seen.endedBy = name;
  call.emit("error", refusal);
}

function countStream(
  call: DuplexCall | WritableCall,
  counts: GrpcContext["counts"],
  method: string,
): void {
  counts.begin();
  // grpc-js emits this also after the last message was sent.
  call.once("cancelled", () => {
    const ended = call.writableEnded ? "OK" : "CANCELLED";
    counts.end(method, seenOf(call).endedBy ?? ended);
  });
}

/** @throws BadRequest if the bytes are not such a message. */
export function readMessage<I extends DescMessage>(
  schema: I,
  message: Uint8Array,
): MessageShape<I> {
  try {
    return fromBinary(schema, message, { readUnknownFields: false });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const expected = `expected a message ${schema.typeName} (${reason})`;
    throw new BadRequest("request", expected, `${message.length} bytes`);
  }
}

/** Returns the memory of the next message of a call; the caller releases it. */
export function holdOf(call: UnaryCall | DuplexCall): ByteHold {
  const { messages } = seenOf(call);
  if (messages === undefined) throw new Error("a call has no reader");
  return messages.takeHold();
}

export function clientOf(call: UnaryCall | DuplexCall): Client {
  const deadline = call.getDeadline();
  return {
    deadlineMs: typeof deadline === "number" ? deadline : deadline.getTime(),
    onceGone: (act) => {
      const tell = () => act(isPast(deadline) ? "timeout" : "cancelled");
      call.once("cancelled", tell);
      if (call.cancelled) tell();
      return () => void call.off("cancelled", tell);
    },
  };
}

function methodOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
