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

/** Whether the named front end answers at the URL and is ready. Never rejects. */
export async function servesAs(
  url: string,
  frontEnd: string,
  timeoutMs = TIMEOUT_MS,
): Promise<boolean> {
  try {
    const limits = { timeoutMs, maxBytes: MAX_BYTES };
    const { status, bytes } = await askHttp(`${url}/v2/health/ready`, limits);
    const health: unknown = JSON.parse(bytes.toString());
    if (status !== 200 || typeof health !== "object" || health === null) return false;
    return "frontEnd" in health && health.frontEnd === frontEnd;
  } catch {
    return false;
  }
}
