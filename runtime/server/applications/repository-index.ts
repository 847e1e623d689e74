/** The models of a server as Triton's model repository lists them. */
import type { House } from "./house.ts";

export interface IndexEntry {
  readonly name: string;
  readonly version: string;
  readonly state: "READY" | "UNAVAILABLE";
  readonly reason: string;
}

const READY = { state: "READY", reason: "" } as const;
const UNAVAILABLE = { state: "UNAVAILABLE", reason: "its workers are not ready" } as const;

/** @param onlyReady leaves out those that do not answer. */
export function repositoryIndex(house: House, onlyReady: boolean): IndexEntry[] {
  return house.models.flatMap(({ application, model }) => {
    const isReady = house.isApplicationReady(application);
    if (!isReady && onlyReady) return [];
    const told = isReady ? READY : UNAVAILABLE;
    return model.signature.names.map((name) => ({ name, version: "1", ...told }));
  });
}
