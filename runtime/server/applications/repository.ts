/**
 * The models of a server as Triton's model repository has them: a list, and the reading of an
 * application's bundle again.
 */
import { HttpError } from "../connections/http-error.ts";
import type { Application } from "./application.ts";
import { hostedModel } from "./hosted-model.ts";
import type { ServerState } from "./server-state.ts";

export interface IndexEntry {
  readonly name: string;
  readonly version: string;
  readonly state: "READY" | "UNAVAILABLE";
  readonly reason: string;
}

const READY = { state: "READY", reason: "" } as const;
const UNAVAILABLE = { state: "UNAVAILABLE", reason: "its workers are not ready" } as const;

/** @param onlyReady leaves out those that do not answer. */
export function repositoryIndex(state: ServerState, onlyReady: boolean): IndexEntry[] {
  return state.models.flatMap(({ application, names }) => {
    const isReady = state.isApplicationReady(application);
    if (!isReady && onlyReady) return [];
    const readiness = isReady ? READY : UNAVAILABLE;
    return names.map((name) => ({ name, version: "1", ...readiness }));
  });
}

/**
 * Reads the bundle's file again and serves it.
 * @param parameters of the request. @throws HttpError 400 with the reason if the bundle is not
 * accepted.
 */
export async function loadModel(
  state: ServerState,
  name: string,
  parameters: readonly string[],
): Promise<void> {
  const application = applicationOf(state, name, "load");
  if (parameters.length > 0) {
    const found = parameters.join(", ");
    throw refusal(
      "load",
      name,
      `expected no parameters: the bundle defines the model, got ${found}`,
    );
  }
  const { reload } = state;
  if (reload === undefined) {
    throw refusal("load", name, "its bundle was not read from a file");
  }
  const reloaded = await reload(application.name);
  if (reloaded?.isFollowed !== true) throw refusal("load", name, reloaded?.notice ?? "it is gone");
}

const STAYS = "a model cannot be unloaded while its server runs; stop the server";

/** @throws HttpError 400 always, since models cannot be unloaded. */
export function refuseUnload(state: ServerState, name: string): never {
  applicationOf(state, name, "unload");
  throw refusal("unload", name, STAYS);
}

/** @throws HttpError 400 for an unknown name, as Triton. */
function applicationOf(state: ServerState, name: string, action: string): Application {
  try {
    return hostedModel(state.models, name).application;
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    throw refusal(action, name, error.message);
  }
}

/** Error in the format of Triton's clients. */
function refusal(action: string, name: string, reason: string): HttpError {
  return new HttpError(400, `failed to ${action} '${name}', ${reason}`);
}
