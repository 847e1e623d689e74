/** Whether a worker, or a front end, that NATS says nothing of is there all the same. */

import { askHttp } from "../../base/http-client.ts";

const LIMITS = { timeoutMs: 1000, maxBytes: 2 ** 20 };

/** True for any answer. Never rejects. */
export async function answersHealth(url: string): Promise<boolean> {
  return askHttp(`${url}/v2/health/live`, LIMITS).then(
    () => true,
    () => false,
  );
}

/** Whether that very front end answers there, and has workers to serve with. Never rejects. */
export async function servesAs(url: string, frontEnd: string): Promise<boolean> {
  try {
    const { status, bytes } = await askHttp(`${url}/v2/health/ready`, LIMITS);
    const told: unknown = JSON.parse(bytes.toString());
    if (status !== 200 || typeof told !== "object" || told === null) return false;
    return "frontEnd" in told && told.frontEnd === frontEnd;
  } catch {
    return false;
  }
}
