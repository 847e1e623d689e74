/**
 * Malformed requests, made from good ones by a seeded generator, over sockets against a server: all
 * that were whole are answered, all that were not are told why, and nothing stays behind.
 */
import { withServer } from "../experiments/harness/live.ts";
import type { Attack, Outcome, Part } from "./part.ts";
import { httpWire } from "./wire/http-wire.ts";
import {
  asked,
  connectionsGone,
  descriptorCount,
  INFER_BODY,
  MODEL,
  startLetters,
  targetOf,
} from "./wire/letters.ts";
import { runMalformed } from "./wire/malformed-run.ts";

/** One for each transport; gRPC is not one yet. */
const WIRES = [httpWire(MODEL, INFER_BODY)];
const TOLD_EVERY = 10_000;

export const MALFORMED: Part = {
  name: "malformed",
  about: "requests with spoilt bytes, tokens, headers and framing, cut, reset and pipelined",
  unit: "requests",
  sizes: { full: 100_000, short: 2000 },
  minutes: 5,
  run,
};

async function run({ size, seed, say }: Attack): Promise<Outcome> {
  return withServer(startLetters(), async (server) => {
    const lost: string[] = [];
    // What the server opens once, such as for its first requests, is open before.
    for (const wire of WIRES) await runMalformed(wire, targetOf(server), { size: 100, seed: 0 });
    lost.push(...(await afterwards(server.url)));
    const descriptors = descriptorCount(server.pid);
    const startMs = performance.now();
    for (const wire of WIRES) {
      const onDone = (index: number) => {
        if (index % TOLD_EVERY === TOLD_EVERY - 1) say(`${wire.name}: ${index + 1}`);
      };
      lost.push(...(await runMalformed(wire, targetOf(server), { size, seed, onDone })));
    }
    const seconds = (performance.now() - startMs) / 1000;
    const tried = size * WIRES.length;
    lost.push(...(await afterwards(server.url)));
    const left = descriptorCount(server.pid) - descriptors;
    if (left > 0) lost.push(`${left} descriptors are still open`);
    const figures = { "requests/s": (tried / seconds).toFixed(0), "descriptors left": `${left}` };
    return { tried, lost, figures };
  });
}

/** Whether the server is as it was: ready, answering, with no connection of the campaign. */
async function afterwards(url: string): Promise<string[]> {
  try {
    await connectionsGone(url);
    const { status, text } = await asked(`${url}/v2/models/${MODEL}/infer`, INFER_BODY);
    return status === 200 ? [] : [`afterwards: ${status} ${text}`];
  } catch (error) {
    return [`afterwards: ${error instanceof Error ? error.message : String(error)}`];
  }
}
