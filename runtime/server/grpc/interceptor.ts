/**
 * Interceptor of all calls: checks a call by its metadata before its message is read, and records
 * its end.
 */
import {
  status as Code,
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptor,
} from "@grpc/grpc-js";
import type { Decision } from "../access/access.ts";
import type { ServerState } from "../applications/server-state.ts";
import { HttpError } from "../connections/http-error.ts";
import { type CodeName, refusalOf } from "./codes.ts";
import type { CallCounts } from "./counts.ts";
import { isPast } from "./deadline.ts";
import { type MessageLimits, MessageReader } from "./message-reader.ts";
import { Seen } from "./seen.ts";

const BROKEN = "the client cancelled the call before its message was complete";

const NOT_HERE = new HttpError(501, "administrators are served by another listener");

/** Calls by their metadata object, which their handlers receive as well. */
const SEEN = new WeakMap<Metadata, Seen>();

/** @throws Error for a call that did not pass the interceptor. */
export function seenOf({ metadata }: { readonly metadata: Metadata }): Seen {
  const seen = SEEN.get(metadata);
  if (seen === undefined) throw new Error("a call did not pass the interceptor");
  return seen;
}

export interface InterceptorOptions {
  /** Whether this listener serves administrators. */
  readonly servesAdmin: boolean;
  /** Returns why calls of a connection are rejected, undefined if they are not. */
  readonly surplusAt: (peer: string) => HttpError | undefined;
  readonly messages: MessageLimits;
  readonly counts: CallCounts;
}

export function interceptorOf(
  state: ServerState,
  { servesAdmin, surplusAt, messages, counts }: InterceptorOptions,
): ServerInterceptor {
  return ({ path, requestStream }, call) => {
    let seen: Seen | undefined;
    let ended: CodeName | undefined;
    let isWhole = false;
    let isOver = false;
    let leave = () => {};
    const peer = call.getPeer();
    const refuse = (error: HttpError) => {
      const refusal = seen?.refusal(error) ?? refusalOf(error);
      if (seen !== undefined) seen.endedBy = refusal.name;
      // The code that handles a call with one message counts it once it has the message.
      if (!requestStream && !isWhole) counts.refuse(path, refusal.name);
      intercepting.sendStatus(refusal);
    };
    const reader = new MessageReader(call, !requestStream, messages, refuse);
    const intercepting: ServerInterceptingCall = new ServerInterceptingCall(call, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata, pass) => {
            const own = begun(state, { path, metadata, peer });
            own.messages = reader;
            seen = own;
            const settle = (decision: Decision) => {
              if (decision instanceof HttpError) {
                intercepting.sendStatus(own.refusal(decision));
                return;
              }
              own.clientName = decision.name;
              // On streams each message counts separately while it is processed.
              if (requestStream || isOver) decision.leave();
              else leave = decision.leave;
              if (!isOver) reader.begin(decision.name);
              pass(metadata);
            };
            const isHere = servesAdmin || own.need !== "admin";
            const decision = surplusAt(peer) ?? (isHere ? own.enter() : NOT_HERE);
            if (decision instanceof Promise) void decision.then(settle);
            else settle(decision);
          },
          onReceiveHalfClose: (pass) => {
            isWhole = true;
            pass();
          },
          onCancel: () => {
            isOver = true;
            leave();
            if (!isWhole) reader.leave();
            if (ended !== undefined) seen?.end(ended);
            else {
              if (!isWhole && !requestStream) seen?.onError(BROKEN);
              // The code that handles the call learns of the cancellation at the same time, and
              // reports it.
              const code = isPast(call.getDeadline()) ? "DEADLINE_EXCEEDED" : null;
              setImmediate(() => seen?.end(code));
            }
          },
        });
      },
      sendMetadata: (metadata, next) => next(seen?.marked(metadata) ?? metadata),
      sendStatus: (status, next) => {
        ended ??= Code[status.code ?? Code.OK] as CodeName;
        if (ended !== "OK" && seen !== undefined) {
          seen.onError(status.details ?? "");
          next({ ...status, metadata: seen.marked(status.metadata ?? new Metadata()) });
        } else next(status);
      },
    });
    return intercepting;
  };
}

/** Called for every call of every service, with its path and metadata. */
function begun(state: ServerState, head: Parameters<typeof Seen.ofCall>[1]): Seen {
  const seen = Seen.ofCall(state, head);
  SEEN.set(head.metadata, seen);
  return seen;
}
