/** Builds the document of the live page, at most once per second for all viewers. */
import type { ServerState } from "../../server/applications/server-state.ts";
import { LIVE_FORMAT, type LiveDocument, type ServerState as LiveState } from "./live.ts";
import { liveApplication } from "./live-application.ts";

/** Limit of the applications in a document. */
const MAX_APPLICATIONS = 16;
/** Lifetime of a document, slightly less than the poll interval of pages. */
const KEPT_MS = 950;

export class LiveDocuments {
  readonly #state: ServerState;
  #body: Buffer | undefined;
  #madeMs = Number.NEGATIVE_INFINITY;

  constructor(state: ServerState) {
    this.#state = state;
  }

  body(): Buffer {
    const nowMs = this.#state.nowMs();
    if (this.#body !== undefined && nowMs - this.#madeMs < KEPT_MS) return this.#body;
    this.#madeMs = nowMs;
    this.#body = Buffer.from(JSON.stringify(liveDocument(this.#state)));
    return this.#body;
  }
}

function liveDocument(state: ServerState): LiveDocument {
  const { applications, version } = state;
  return {
    format: LIVE_FORMAT,
    atMs: Math.round(state.epochOffsetMs() + state.nowMs()),
    version,
    state: stateOf(state),
    applications: applications.slice(0, MAX_APPLICATIONS).map((one) => liveApplication(state, one)),
    applicationsLeftOut: Math.max(0, applications.length - MAX_APPLICATIONS),
  };
}

function stateOf({ isStopping, isReady }: ServerState): LiveState {
  if (isStopping) return "draining";
  return isReady ? "ready" : "starting";
}
