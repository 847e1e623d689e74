/** Triton's stream of inference requests: answers in the order of requests, an error for each. */
import { type Admitted, OPEN_ACCESS } from "../access/access.ts";
import type { ByteHold } from "../bodies/body-memory.ts";
import { HttpError } from "../connections/http-error.ts";
import { clientOf, type DuplexCall, holdOf, refuseStream } from "./calls.ts";
import type { Client, GrpcContext } from "./context.ts";
import { inferMessage } from "./infer.ts";
import { streamedError } from "./infer-response.ts";
import { seenOf } from "./interceptor.ts";

/** While the server stops, a stream without messages for this time is considered complete. */
const QUIET_MS = 100;

/** Messages that all streams take in one turn of the event loop; one read may bring thousands. */
const PER_TURN = 64;

/** Parameter by which a client of Triton requests that an error ends its stream with a status. */
const STRICT_ERRORS = "triton_grpc_error";

export class InferStreams {
  readonly #context: GrpcContext;
  readonly #open = new Set<InferStream>();
  readonly #turns = new Turns();

  constructor(context: GrpcContext) {
    this.#context = context;
  }

  /** Serves a stream until its client ends it. */
  serve(call: DuplexCall): void {
    const stream = new InferStream(this.#context, call, this.#turns);
    this.#open.add(stream);
    call.once("cancelled", () => this.#open.delete(stream));
    stream.start();
  }

  /** Answers the requests received so far, and ends the streams. */
  async finish(): Promise<void> {
    await Promise.all([...this.#open].map((stream) => stream.finish()));
  }
}

/** Counts messages by turns of the event loop. */
class Turns {
  #taken = 0;
  readonly #next: (() => void)[] = [];

  /** @param goOn called in the next turn if this one has had its messages. @returns whether so. */
  isSpentBy(goOn: () => void): boolean {
    if (this.#taken === 0) setImmediate(() => this.#begin());
    this.#taken++;
    if (this.#taken < PER_TURN) return false;
    this.#next.push(goOn);
    return true;
  }

  #begin(): void {
    this.#taken = 0;
    for (const goOn of this.#next.splice(0)) goOn();
  }
}

/** Error that ends a stream of a client that requested it. */
interface Failed {
  readonly error: unknown;
}

class InferStream {
  readonly #context: GrpcContext;
  readonly #call: DuplexCall;
  readonly #client: Client;
  readonly #turns: Turns;
  readonly #isStrict: boolean;
  #taken = 0;
  #waiting = 0;
  #waitsForTurn = false;
  /** Kept once the answers so far are written. */
  #written: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(context: GrpcContext, call: DuplexCall, turns: Turns) {
    this.#context = context;
    this.#turns = turns;
    this.#call = call;
    this.#client = clientOf(call);
    this.#isStrict = String(call.metadata.get(STRICT_ERRORS)[0]) === "true";
    // Each request of the stream listens for the client's disconnection.
    call.setMaxListeners(0);
  }

  start(): void {
    const call = this.#call;
    call.on("data", (message: Uint8Array) => this.#take(message));
    call.on("end", () => {
      this.#written = this.#written.then(() => void call.end());
    });
  }

  /** Resolves after some time without new messages, once the received ones are answered. */
  finish(): Promise<void> {
    return new Promise((resolve) => {
      let taken = this.#taken;
      const look = setInterval(() => {
        const isQuiet = this.#taken === taken && this.#waiting === 0;
        taken = this.#taken;
        if (!isQuiet && !this.#call.cancelled) return;
        clearInterval(look);
        this.#end(new HttpError(503, "the server is shutting down"));
        resolve();
      }, QUIET_MS);
    });
  }

  #end(error: unknown): void {
    if (this.#isOver || this.#call.cancelled || this.#call.writableEnded) return;
    this.#isOver = true;
    refuseStream(this.#call, error);
  }

  #take(message: Uint8Array): void {
    const hold = holdOf(this.#call);
    if (this.#isOver) {
      hold.release();
      return;
    }
    this.#taken++;
    this.#waiting++;
    this.#waitsForTurn ||= this.#turns.isSpentBy(() => {
      this.#waitsForTurn = false;
      this.#flow();
    });
    this.#flow();
    const answer = this.#answer(message, hold);
    this.#written = this.#written.then(async () => this.#write(await answer));
  }

  /** Reads on, or not while too many messages wait. */
  #flow(): void {
    const isFull = this.#waitsForTurn || this.#waiting >= this.#context.maxPerStream;
    if (isFull) this.#call.pause();
    else this.#call.resume();
  }

  /** Never rejects. */
  async #answer(message: Uint8Array, hold: ByteHold): Promise<Uint8Array | Failed> {
    const { counts } = this.#context;
    const seen = seenOf(this.#call).ofMessage(message.length);
    let entered: Admitted = OPEN_ACCESS;
    try {
      const decision = await seen.enter();
      if (decision instanceof HttpError) throw decision;
      entered = decision;
      seen.clientName = decision.name;
      const response = await inferMessage(this.#context, message, this.#client, seen, hold, true);
      counts.onMessage("OK");
      seen.onAnswer(response.length);
      seen.end("OK");
      return response;
    } catch (error) {
      const { name, details } = seen.refusal(error);
      counts.onMessage(name);
      seen.end(name);
      return this.#isStrict ? { error } : streamedError(details, seen.messageId);
    } finally {
      hold.release();
      entered.leave();
    }
  }

  /** Kept once the client has room for more. */
  #write(bytes: Uint8Array | Failed): Promise<void> {
    const call = this.#call;
    if (this.#isOver || call.cancelled) return Promise.resolve();
    if ("error" in bytes) {
      this.#end(bytes.error);
      return Promise.resolve();
    }
    const onGone = this.#context.answers.begin(bytes.length, call.getPeer());
    return new Promise((resolve) => {
      const settle = () => {
        onGone();
        stayed();
        this.#waiting--;
        this.#flow();
        resolve();
      };
      const stayed = this.#client.onceGone(settle);
      call.write(bytes, settle);
    });
  }
}
