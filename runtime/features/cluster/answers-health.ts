/** Health checks over HTTP of workers and front ends whose beats are missing. */

import { askHttp } from "../../base/http-client.ts";

const LIMITS = { timeoutMs: 1000, maxBytes: 2 ** 20 };

/** Whether anything answers at the URL. Never rejects. */
export async function answersHealth(url: string): Promise<boolean> {
  return askHttp(`${url}/v2/health/live`, LIMITS).then(
    () => true,
    () => false,
  );
}

/** Both tries together end before a front end has to be replaced, 3 s after its last beat. */
const READY_LIMITS = { ...LIMITS, timeoutMs: 750 };
/** The first may have to wait until the HTTP client is loaded. */
const TRIES = 2;

/** Whether the named front end answers at the URL and is ready. Never rejects. */
export async function servesAs(url: string, frontEnd: string): Promise<boolean> {
  for (let left = TRIES; left > 0; left--) {
    try {
      const { status, bytes } = await askHttp(`${url}/v2/health/ready`, READY_LIMITS);
      const health: unknown = JSON.parse(bytes.toString());
      if (status !== 200 || typeof health !== "object" || health === null) return false;
      return "frontEnd" in health && health.frontEnd === frontEnd;
    } catch {}
  }
  return false;
}
