/** Whether a worker, or a front end, that NATS says nothing of is there all the same. */

const ANSWER_MS = 1000;

/** True for any answer. Never rejects. */
export async function answersHealth(url: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const reply = await fetch(`${url}/v2/health/live`, { signal });
    await reply.body?.cancel();
    return true;
  } catch {
    return false;
  }
}

/** Whether that very front end answers there, and has workers to serve with. Never rejects. */
export async function servesAs(url: string, frontEnd: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const reply = await fetch(`${url}/v2/health/ready`, { signal });
    const told: unknown = await reply.json();
    if (!reply.ok || typeof told !== "object" || told === null) return false;
    return "frontEnd" in told && told.frontEnd === frontEnd;
  } catch {
    return false;
  }
}
