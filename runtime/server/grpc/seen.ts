/**
 * Records of gRPC calls and stream requests, and the metadata that answers repeat: ids and traces.
 */
import { status as Code, type Metadata } from "@grpc/grpc-js";
import { type Decision, OPEN_ACCESS } from "../access/access.ts";
import { type Need, needOfRpc } from "../access/scopes.ts";
import type { ServerState } from "../applications/server-state.ts";
import { httpErrorOf, reportFault } from "../protocol/refusal.ts";
import type { RequestRecord } from "../requests/request-record.ts";
import {
  REQUEST_ID,
  requestIdOf,
  type TraceParent,
  traceParentOf,
  traceParentText,
} from "../requests/trace-context.ts";
import { type CodeName, type Refusal, refusalOf } from "./codes.ts";
import type { MessageReader } from "./message-reader.ts";

/** Source and method of a call. */
interface CallHead {
  /** Full method, such as `/inference.GRPCInferenceService/ModelInfer`. */
  readonly path: string;
  readonly metadata: Metadata;
  /** Address and port of the client. */
  readonly peer: string;
}

export class Seen {
  /** None where no log and no trace is kept. */
  readonly record: RequestRecord | undefined;
  /** Name of the client's token after admission; undefined without a token. */
  clientName: string | undefined;
  /** Reader of the call's messages; undefined for a request on a stream. */
  messages: MessageReader | undefined;
  /** Code with which the call was refused. Default: it was not. */
  endedBy: CodeName | undefined;
  readonly #state: ServerState;
  readonly #head: CallHead;
  readonly #parent: TraceParent | undefined;
  /** Id from the client's metadata; a record has its own. */
  #id: string | undefined;
  #messageId = "";

  private constructor(
    state: ServerState,
    head: CallHead,
    parent: TraceParent | undefined,
    id?: string,
  ) {
    const { path, metadata, peer } = head;
    this.#state = state;
    this.#head = head;
    this.#parent = parent;
    this.#id = id;
    this.record = state.features.records?.begin({
      protocol: "grpc",
      method: path.slice(1),
      path,
      client: peer,
      userAgent: textOf(metadata, "user-agent"),
      id,
      parent,
    });
  }

  /** Called for every new call, before any check. */
  static ofCall(state: ServerState, head: CallHead): Seen {
    const { metadata } = head;
    const parent = traceParentOf(textOf(metadata, "traceparent"), stateOf(metadata));
    return new Seen(state, head, parent, requestIdOf(textOf(metadata, REQUEST_ID)));
  }

  /** Record of an inference request on this stream; its span is a child of the stream's. */
  ofMessage(bytes: number): Seen {
    const { record } = this;
    const state = this.#parent?.state ?? "";
    const parent = record === undefined ? undefined : { ...record, state };
    const seen = new Seen(this.#state, this.#head, parent);
    seen.onMessage(bytes);
    return seen;
  }

  /** Which scope its client needs. */
  get need(): Need {
    const { path } = this.#head;
    return needOfRpc(path.slice(path.lastIndexOf("/") + 1));
  }

  /** Checks access for a call, or for each message of a stream. */
  enter(): Decision | Promise<Decision> {
    const { access } = this.#state;
    const { need } = this;
    if (access.isIdle && need !== "admin") return OPEN_ACCESS;
    const { metadata, peer } = this.#head;
    const authorization = textOf(metadata, "authorization");
    return access.admit({ need, authorization, address: addressOf(peer) });
  }

  /** Request id that the answer repeats; undefined where it does not. */
  get id(): string | undefined {
    return this.record?.id ?? this.#id;
  }

  onMessage(bytes: number): void {
    if (this.record !== undefined) this.record.requestBytes = bytes;
  }

  /** Id in the message of the inference request; "" without one. */
  get messageId(): string {
    return this.#messageId;
  }

  /** Uses the id in the inference request's message if the metadata has none. */
  adoptId(id: string): void {
    this.#messageId = id;
    const own = requestIdOf(id);
    if (own === undefined) return;
    const { record } = this;
    if (record === undefined) this.#id ??= own;
    else if (record.isIdMade) {
      record.id = own;
      record.isIdMade = false;
    }
  }

  onAnswer(bytes: number): void {
    if (this.record !== undefined) this.record.responseBytes = bytes;
  }

  /** Records the error, unless one was recorded before. */
  onError(reason: string): void {
    if (this.record?.error === "") this.record.error = reason;
  }

  /** Error for the client; internal faults are reported to operators. */
  refusal(error: unknown): Refusal {
    const answer = httpErrorOf(error);
    reportFault(this.#state.onNotice, this.id, error, answer);
    if (this.record !== undefined) this.record.error = answer.message;
    return refusalOf(answer);
  }

  /** Metadata of its answer, or of its end without one: the id, and where it is in its trace. */
  marked(metadata: Metadata): Metadata {
    const { id, record } = this;
    const own = record ?? this.#parent;
    if (id !== undefined) metadata.set(REQUEST_ID, id);
    if (own === undefined) return metadata;
    metadata.set("traceparent", traceParentText(own.traceId, own.spanId, own.isSampled));
    const state = this.#parent?.state ?? "";
    if (state !== "") metadata.set("tracestate", state);
    return metadata;
  }

  /** Called when the call is over. @param code null if its client was gone before its answer. */
  end(code: CodeName | null): void {
    if (this.record === undefined) return;
    this.#state.features.records?.end(this.record, code === null ? null : Code[code]);
  }
}

/** @param peer such as `127.0.0.1:40000` or `[::1]:40000`. */
function addressOf(peer: string): string {
  const address = peer.slice(0, peer.lastIndexOf(":"));
  return address.startsWith("[") ? address.slice(1, -1) : address;
}

function textOf(metadata: Metadata, name: string): string | undefined {
  const [value] = metadata.get(name);
  return typeof value === "string" ? value : undefined;
}

/** Joins a list that was sent in several parts. */
function stateOf(metadata: Metadata): string | undefined {
  const parts = metadata.get("tracestate");
  return parts.length === 0 ? undefined : parts.join(",");
}
