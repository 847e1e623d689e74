/** Fields about the path of a request through the server. */
import { integerIn, listOf, numberIn, type Shape } from "./fields.ts";
import { MAX_CONTENTION, MAX_MS, MAX_STRETCH } from "./limits.ts";
import { type Field, optional, record } from "./record.ts";
import { refuse } from "./refuse.ts";
import type { ServingPath, Spread } from "./schema.ts";

const MAX_PROCESSORS = 65_536;
const MIN_STALLS = 1e-9;
const MAX_STALLS = 1000;
const MIN_SLOW_SHARE = 1e-6;
const MIN_SPELL_MS = 1;
const MIN_FAST = 0.001;
const fromZero = numberIn(0, MAX_MS);

const spreadRecord = record<Spread>({
  p50: [fromZero, "Median, ms."],
  p95: [fromZero, "95th percentile, at least the median."],
  p99: [fromZero, "99th percentile, at least the 95th."],
  mean: [fromZero, "Mean."],
});

/** Times of one kind, ms. */
export const spread: Shape<Spread> = {
  ...spreadRecord,
  read(value, path) {
    const read = spreadRecord.read(value, path);
    const { p50, p95, p99 } = read;
    if (p50 <= p95 && p95 <= p99) return read;
    return refuse(path, `${p50}, ${p95}, ${p99}`, "p50 ≤ p95 ≤ p99");
  },
};

const factors = listOf([1, MAX_CONTENTION], numberIn(1, MAX_STRETCH));

const contention: Shape<readonly number[]> = {
  ...factors,
  read(value, path) {
    const read = factors.read(value, path);
    if (read[0] !== 1) refuse(`${path}[0]`, read[0], "1, since it is relative to one worker");
    for (const [index, factor] of read.entries()) {
      const before = read[index - 1] ?? 1;
      if (factor < before)
        refuse(`${path}[${index}]`, factor, `at least ${before}, the one before`);
    }
    return read;
  },
};

const row = (meaning: string): Field<Spread> => [spread, meaning];

const stalls = record<NonNullable<ServingPath["stalls"]>>({
  perSecond: [numberIn(MIN_STALLS, MAX_STALLS), "Rate per second of processor work."],
  ms: row("Duration."),
});

const slow = record<NonNullable<ServingPath["slow"]>>({
  share: [numberIn(MIN_SLOW_SHARE, 1 - MIN_SLOW_SHARE), "Share of the time."],
  factor: [numberIn(1, MAX_STRETCH), "Slowdown in them."],
  spellMs: [numberIn(MIN_SPELL_MS, MAX_MS), "Mean duration."],
  fast: [
    numberIn(MIN_FAST, MAX_STRETCH),
    "Time of work outside of them, relative to that of profile and contention.",
  ],
});

export const servingPath = record<ServingPath>({
  processors: [integerIn(1, MAX_PROCESSORS), "Processors of the machine that was measured."],
  requestBytes: [integerIn(0, 2 ** 40), "Bytes of the request that was measured."],
  requestMs: row("The server's process: a request, from its start to its decision."),
  batchMs: row("The server's process: a batch, sending it to a worker and receiving its answer."),
  answerMs: row("The server's process: writing the answer of a request."),
  perMiBMs: [fromZero, "The server's process: each MiB beyond `requestBytes`."],
  wakeMs: row("Extra time of a process that slept."),
  wireMs: row("Client and network, both ways."),
  contention: [
    contention,
    "Service times with 1, 2, … workers busy at once, relative to those with one.",
  ],
  stalls: optional(stalls, "Times at which the host takes a processor away."),
  slow: optional(slow, "Times in which the host slowed a processor down; not used since 1.12."),
  marginMs: [fromZero, "Part of the SLO left to the path; less than any SLO."],
  stretch: optional(
    numberIn(1, MAX_STRETCH),
    "Largest service times that plans assume, relative to those measured; left out if plans " +
      "ignore the path.",
  ),
});
