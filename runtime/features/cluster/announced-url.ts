/** URL under which front ends reach a worker. */
import { hostname } from "node:os";
import { RuntimeError } from "../../base/errors.ts";

const ANY_HOST = /^(https?:\/\/)(?:0\.0\.0\.0|\[::\])(:\d+)$/;

/**
 * Chooses the configured URL, or else the address the worker listens on; a wildcard address is
 * replaced by the host's name.
 * @throws RuntimeError RUNTIME_USAGE
 */
export function announcedUrl(given: string | undefined, listensAt: string): string {
  if (given === undefined) {
    return listensAt.replace(ANY_HOST, (_, scheme, port) => `${scheme}${hostname()}${port}`);
  }
  const url = URL.canParse(given) ? new URL(given) : null;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (url !== null && isHttp && url.host !== "") return given.replace(/\/$/, "");
  const expected = "expected a URL such as http://10.0.0.7:8000";
  throw new RuntimeError("RUNTIME_USAGE", `--url: ${expected}, got ${given}`);
}
