/** Default folder of the policy store. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/**
 * Chooses the state folder of the systemd service, or else the user's.
 * @param given by a setting; null for none.
 */
export function storeFolder(given: string | null, environment: NodeJS.ProcessEnv): string {
  if (given !== null) return resolve(given);
  // A unit may have several, separated by colons.
  const [ofService = ""] = (environment["STATE_DIRECTORY"] ?? "").split(":");
  if (ofService !== "") return resolve(ofService);
  const ofUser = environment["XDG_STATE_HOME"] ?? "";
  return join(ofUser === "" ? join(homedir(), ".local", "state") : ofUser, "stratagem");
}
