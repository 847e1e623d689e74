/** Where front ends reach a worker. */
import { hostname } from "node:os";
import { RuntimeError } from "../../base/errors.ts";

const ANY_HOST = /^(https?:\/\/)(?:0\.0\.0\.0|\[::\])(:\d+)$/;

/**
 * Where front ends reach a worker: as it was told, or where it listens. Of all addresses of a
 * machine its name stands for one.
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
