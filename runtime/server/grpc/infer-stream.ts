/** Triton's stream of inference requests: answers in the order of requests, an error for each. */
import { HttpError } from "../connections/http-error.ts";
import { clientOf, type DuplexCall, refuseStream } from "./calls.ts";
import type { Client, GrpcContext } from "./context.ts";
import { seenOf } from "./entrance.ts";
import { inferMessage } from "./infer.ts";
import { streamedAnswer, streamedError } from "./infer-response.ts";

/** By this, a client of Triton asks that an error ends its stream, with a status. */
const STRICT_ERRORS = "triton_grpc_error";

export class InferStreams {
  readonly #context: GrpcContext;
  readonly #open = new Set<DuplexCall>();

  constructor(context: GrpcContext) {
    this.#context = context;
  }

  /** Serves a stream until its client ends it. */
  serve(call: DuplexCall): void {
    this.#open.add(call);
    call.once("cancelled", () => this.#open.delete(call));
    new InferStream(this.#context, call).start();
  }

  /** Ends all of them. */
  close(): void {
    for (const call of this.#open) {
      refuseStream(call, new HttpError(503, "the server is shutting down"));
    }
  }
}

/** What ends a stream whose client wants it so. */
interface Failed {
  readonly error: unknown;
}

class InferStream {
  readonly #context: GrpcContext;
  readonly #call: DuplexCall;
  readonly #client: Client;
  readonly #isStrict: boolean;
  #waiting = 0;
  /** Kept once the answers so far are written. */
  #written: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(context: GrpcContext, call: DuplexCall) {
    this.#context = context;
    this.#call = call;
    this.#client = clientOf(call);
    this.#isStrict = String(call.metadata.get(STRICT_ERRORS)[0]) === "true";
    // Each request of the stream waits for the client to go.
    call.setMaxListeners(0);
  }

  start(): void {
    const call = this.#call;
    call.on("data", (message: Uint8Array) => this.#take(message));
    call.on("end", () => {
      this.#written = this.#written.then(() => void call.end());
    });
  }

  #take(message: Uint8Array): void {
    if (this.#isOver) return;
    this.#waiting++;
    if (this.#waiting >= this.#context.maxPerStream) this.#call.pause();
    const answer = this.#answer(message);
    this.#written = this.#written.then(async () => this.#write(await answer));
  }

  /** Never rejects. */
  async #answer(message: Uint8Array): Promise<Uint8Array | Failed> {
    const { counts } = this.#context;
    const seen = seenOf(this.#call).ofMessage(message.length);
    try {
      const response = await inferMessage(this.#context, message, this.#client, seen, true);
      counts.onMessage("OK");
      seen.onAnswer(response.length);
      seen.end("OK");
      return streamedAnswer(response);
    } catch (error) {
      const { name, details } = seen.refusal(error);
      counts.onMessage(name);
      seen.end(name);
      return this.#isStrict ? { error } : streamedError(details, seen.messageId);
    }
  }

  /** Kept once the client has room for more. */
  #write(bytes: Uint8Array | Failed): Promise<void> {
    const call = this.#call;
    if (this.#isOver || call.cancelled) return Promise.resolve();
    if ("error" in bytes) {
      this.#isOver = true;
      refuseStream(call, bytes.error);
      return Promise.resolve();
    }
    const onGone = this.#context.answers.begin(bytes.length, call.getPeer());
    return new Promise((resolve) => {
      const settle = () => {
        onGone();
        stayed();
        this.#waiting--;
        if (this.#waiting < this.#context.maxPerStream) call.resume();
        resolve();
      };
      const stayed = this.#client.onceGone(settle);
      call.write(bytes, settle);
    });
  }
}
