/** Where bundles of sources are kept unless a setting says so. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/**
 * The folder that the system gives a service, else that of the user's programs.
 * @param given by a setting; null for none.
 */
export function storeFolder(given: string | null, environment: NodeJS.ProcessEnv): string {
  if (given !== null) return resolve(given);
  // A unit may have several, with colons between them.
  const [ofService = ""] = (environment["STATE_DIRECTORY"] ?? "").split(":");
  if (ofService !== "") return resolve(ofService);
  const ofUser = environment["XDG_STATE_HOME"] ?? "";
  return join(ofUser === "" ? join(homedir(), ".local", "state") : ofUser, "stratagem");
}
