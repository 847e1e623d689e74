/** Whether a request is refused as it comes, before anything of it is read. */
import type { RequestRecord } from "../telemetry/request-record.ts";
import type { HostedModel } from "./hosted-model.ts";
import type { House } from "./house.ts";

/** As HTTP has it; other protocols have a status for each. */
export interface ShutDoor {
  readonly status: 429 | 503;
  readonly message: string;
}

const FULL: ShutDoor = { status: 429, message: "no room: as many queries wait as may" };
const LATE: ShutDoor = {
  status: 503,
  message: "no room: the request would not be answered in time",
};

/** @returns undefined where a request for the model may come in. */
export function shutDoor(house: House, { model, application }: HostedModel): ShutDoor | undefined {
  // Time for the way in and the way out, and then nothing is left.
  if (2 * house.lag.onRequest() >= application.sloMs) return LATE;
  if (!application.gate.isShut(model)) return undefined;
  return model.isFull === undefined ? LATE : FULL;
}

/** A request has gone from a door that is shut. @param record what is noted of it, if anything. */
export function onTurnedAway(house: House, hosted: HostedModel, record?: RequestRecord): void {
  const { model, application } = hosted;
  model.onTurnedAway(1, 0);
  model.metrics.onRequestFailed("shed", 0, house.nowMs());
  house.trials.onSettled(application, false);
  if (record === undefined) return;
  record.model = model.signature.names[0] ?? "";
  record.sloMs = application.sloMs;
  record.bundleSha256 = application.endpoint.bundleSha256;
  record.failedMs = house.nowMs();
  record.error = "turned away at the door";
  record.reason = "shed";
}
