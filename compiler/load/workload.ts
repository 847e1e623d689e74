/** What a load consists of: the requests it sends, and how their answers are judged. */
import type { HttpReply } from "./inference-client.ts";

/** Requests for a server, by their numbers. */
export interface Workload {
  /** Of the model that answers, for the result. */
  readonly model: string;
  /** The classes that requests name; none where they name none. */
  readonly classes: readonly WorkloadClass[];
  /** @param index from 0. @param isCounted false for one that is sent before the load begins. */
  request(index: number, isCounted: boolean): Outgoing;
}

export interface WorkloadClass {
  readonly name: string;
  /** Null where the SLO of the load holds. */
  readonly sloMs: number | null;
}

/** A request that is ready to be sent. */
export interface Outgoing {
  /** Below the URL of the server. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Index of its class; of no meaning where there is none. */
  readonly classIndex: number;
  /** Looks at an answer with status 200. @throws ReplyError */
  judge(reply: HttpReply): Judged;
}

/** What an answer says. */
export interface Judged {
  readonly variant: string | null;
  /** Accuracy as the server states it, 0..1. */
  readonly accuracy: number | null;
  /** How right it is, 0..1; null where nobody knows. */
  readonly score: number | null;
}
