/** Health checks over HTTP of workers and front ends whose beats are missing. */

import { askHttp } from "../../base/http-client.ts";

const TIMEOUT_MS = 1000;
const MAX_BYTES = 2 ** 20;

/** Whether anything answers at the URL. Never rejects. */
export async function answersHealth(url: string, timeoutMs = TIMEOUT_MS): Promise<boolean> {
  return askHttp(`${url}/v2/health/live`, { timeoutMs, maxBytes: MAX_BYTES }).then(
    () => true,
    () => false,
  );
}

/** Both tries together end before a front end has to be replaced, 3 s after its last beat. */
const SERVES_MS = 1500;
const TRIES = 2;

/** Whether the named front end answers at the URL and is ready. Never rejects. */
export async function servesAs(
  url: string,
  frontEnd: string,
  timeoutMs = SERVES_MS,
): Promise<boolean> {
  const limits = { timeoutMs: timeoutMs / TRIES, maxBytes: MAX_BYTES };
  for (let left = TRIES; left > 0; left--) {
    try {
      const { status, bytes } = await askHttp(`${url}/v2/health/ready`, limits);
      const health: unknown = JSON.parse(bytes.toString());
      if (status !== 200 || typeof health !== "object" || health === null) return false;
      return "frontEnd" in health && health.frontEnd === frontEnd;
    } catch {}
  }
  return false;
}
