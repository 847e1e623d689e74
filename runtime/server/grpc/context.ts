/** State that the calls of the gRPC listener share. */
import type { HostedModel } from "../applications/hosted-model.ts";
import type { ServerState } from "../applications/server-state.ts";
import type { JsonThread } from "../json/json-thread.ts";
import type { GivenUp } from "../requests/request.ts";
import type { Answers } from "./answers.ts";
import type { CallCounts } from "./counts.ts";

export interface GrpcContext {
  readonly state: ServerState;
  /** A model by one of its names. */
  readonly hostedOf: (name: string) => HostedModel | undefined;
  readonly counts: CallCounts;
  readonly answers: Answers;
  /** Decodes and encodes long tensors. */
  readonly thread: JsonThread;
  /** Maximum number of unanswered requests of one stream. */
  readonly maxPerStream: number;
}

/** A client as the call that it made knows it. */
export interface Client {
  /** Milliseconds since 1970; infinite without a deadline. */
  readonly deadlineMs: number;
  /** Calls back when it is gone, at once where it is already. @returns what ends that. */
  onceGone(act: (why: GivenUp) => void): () => void;
}
