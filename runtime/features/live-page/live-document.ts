/** The document of the live page, made at most once a second for all who look. */
import type { House } from "../../server/applications/house.ts";
import { LIVE_FORMAT, type LiveDocument, type ServerState } from "./live.ts";
import { liveApplication } from "./live-application.ts";

/** Applications that it tells at most. */
const MAX_APPLICATIONS = 16;
/** It is made anew after so long; a little less than pages wait before they ask again. */
const KEPT_MS = 950;

export class LiveDocuments {
  readonly #house: House;
  #body: Buffer | undefined;
  #madeMs = Number.NEGATIVE_INFINITY;

  constructor(house: House) {
    this.#house = house;
  }

  /** As JSON. */
  body(): Buffer {
    const nowMs = this.#house.nowMs();
    if (this.#body !== undefined && nowMs - this.#madeMs < KEPT_MS) return this.#body;
    this.#madeMs = nowMs;
    this.#body = Buffer.from(JSON.stringify(liveDocument(this.#house)));
    return this.#body;
  }
}

function liveDocument(house: House): LiveDocument {
  const { applications, version } = house;
  return {
    format: LIVE_FORMAT,
    atMs: Math.round(house.epochOffsetMs + house.nowMs()),
    version,
    state: stateOf(house),
    applications: applications.slice(0, MAX_APPLICATIONS).map((one) => liveApplication(house, one)),
    applicationsLeftOut: Math.max(0, applications.length - MAX_APPLICATIONS),
  };
}

function stateOf({ isStopping, isReady }: House): ServerState {
  if (isStopping) return "draining";
  return isReady ? "ready" : "starting";
}
