/**
 * Bytes that the decision log takes for a request, of all requests and of a sample, before and
 * after gzip: `npm run -s build:lab && node dist/lab/bench/decision-bytes.js`.
 */
import { gzipSync } from "node:zlib";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { DecisionLog } from "stratagem-runtime/internal/features/decision-log/decision-log";
import { RequestRecord } from "stratagem-runtime/internal/server/requests/request-record";
import { tinyBundle } from "../../test/support/tiny-bundle.ts";

const REQUESTS = 20_000;
const QPS = 1000;
const BATCH = 4;
/** Requests between two batches of lines: half a second of them. */
const FLUSHED = 500;
const SHA256 = "ab".repeat(32);
const bundle = tinyBundle();

function answered(rng: Rng, index: number, arrivalMs: number): RequestRecord {
  const hex = (digits: number) =>
    Array.from({ length: digits }, () => Math.floor(16 * rng.nextFloat()).toString(16)).join("");
  const origin = { traceId: hex(32), spanId: hex(16), isSampled: false, arrivalMs };
  const client = `10.0.0.${index % 20}:40122`;
  const seen = { protocol: "http", method: "POST", path: "/", client, userAgent: "bench" } as const;
  const record = new RequestRecord(seen, origin);
  const endMs = arrivalMs + 10 * rng.nextFloat();
  record.model = "letters";
  record.application = "letters";
  record.rows = 1;
  record.status = 200;
  record.sloMs = 50;
  record.lagMs = rng.nextFloat();
  record.endMs = endMs;
  record.bundleSha256 = SHA256;
  record.variant = "cnn-m";
  record.accuracy = 0.987;
  record.runs = [
    {
      ...{ variantName: "cnn-m", level: 0, rows: BATCH, queued: BATCH, worker: index % 2 },
      ...{ slackMs: 37 * rng.nextFloat(), startMs: arrivalMs + 1, handedMs: arrivalMs + 1.1 },
      ...{ endMs, wallMs: 8 },
    },
  ];
  return record;
}

async function bytesOf(sample: number) {
  const texts: string[] = [];
  const destination = {
    name: "here",
    send: async (text: string) => {
      texts.push(text);
      return { kind: "taken" } as const;
    },
  };
  const runnerUp = { variant: "cnn-s", batch: 4, serviceMs: 5.1, accuracy: 0.98, meetsSlack: true };
  const log = new DecisionLog({
    ...{
      destination,
      sample,
      mask: [],
      nowMs: () => 0,
      epochOffsetMs: () => 1.79e12,
      onNotice: () => {},
    },
    review: () => ({ agrees: true, says: "", runnerUp }),
  });
  const core = log.follow(bundle);
  const endpoint = { bundle, bundleSha256: SHA256 };
  core.onOpened({ name: "letters", endpoint, limits: { maxPending: 64 } });
  const rng = new Rng(1, 0);
  let nowMs = 1000;
  for (let index = 0; index < REQUESTS; index++) {
    nowMs += (-1000 / QPS) * Math.log(1 - rng.nextFloat());
    log.take(answered(rng, index, nowMs));
    core.onEntry({ kind: "arrival", query: index % 64, deadlineMs: nowMs + 50, nowMs });
    if (index % BATCH === 0) {
      const worker = index % 2;
      core.onEntry({ kind: "done", worker, nowMs });
      core.onEntry({ kind: "start-batch", worker, variant: 1, level: 0, queries: [1, 2, 3, 4] });
    }
    if (index % FLUSHED === 0) await log.flush();
  }
  await log.close();
  const bytes = texts.reduce((sum, text) => sum + text.length, 0);
  const zipped = texts.reduce((sum, text) => sum + gzipSync(text).length, 0);
  return [bytes, zipped].map((all) => (all / REQUESTS).toFixed(1));
}

for (const sample of [1, 0.01]) {
  const [plain, zipped] = await bytesOf(sample);
  console.log(`sample ${sample}: ${plain} bytes a request, ${zipped} after gzip`);
}
