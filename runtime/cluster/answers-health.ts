/** Whether a worker that NATS says nothing of is there all the same. */

const ANSWER_MS = 1000;

/** Whatever it answers, somebody is there; of gRPC nothing is asked. Never rejects. */
export async function answersHealth(url: string): Promise<boolean> {
  if (!url.startsWith("http")) return false;
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const reply = await fetch(`${url}/v2/health/live`, { signal });
    await reply.body?.cancel();
    return true;
  } catch {
    return false;
  }
}
