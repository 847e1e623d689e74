/** Interface of a load: its requests, and the judgement of their answers. */
import type { HttpReply } from "./inference-client.ts";

/** Requests for a server, by index. */
export interface Workload {
  readonly model: string;
  /** Classes that requests name; empty for none. */
  readonly classes: readonly WorkloadClass[];
  /** @param index from 0. @param isCounted false for requests before the load begins. */
  request(index: number, isCounted: boolean): Outgoing;
}

export interface WorkloadClass {
  readonly name: string;
  /** Null to use the SLO of the load. */
  readonly sloMs: number | null;
}

/** Request that is ready to be sent. */
export interface Outgoing {
  /** Path below the URL of the server. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Index of its class; ignored without classes. */
  readonly classIndex: number;
  /** Judges an answer with status 200. @throws ReplyError */
  judge(reply: HttpReply): Judged;
}

/** Content of an answer. */
export interface Judged {
  readonly variant: string | null;
  /** Accuracy stated by the server, 0..1. */
  readonly accuracy: number | null;
  /** Correctness, 0..1; null if unknown. */
  readonly score: number | null;
}
