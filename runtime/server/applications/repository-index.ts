/** The models of a server as Triton's model repository lists them. */
import type { House } from "./house.ts";

export interface IndexEntry {
  readonly name: string;
  readonly version: string;
  readonly state: "READY" | "UNAVAILABLE";
  readonly reason: string;
}

/** @param onlyReady leaves out those that do not answer. */
export function repositoryIndex(house: House, onlyReady: boolean): IndexEntry[] {
  return house.models.flatMap(({ application, model }) => {
    const isReady = house.isApplicationReady(application);
    if (!isReady && onlyReady) return [];
    const state = isReady ? "READY" : "UNAVAILABLE";
    return model.signature.names.map((name) => ({ name, version: "1", state, reason: "" }));
  });
}
