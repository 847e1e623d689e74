/**
 * Sends the pages of models/ocr at random times to a server of policies/ocr, and tells how many
 * were answered within the SLO and how right they were.
 * Usage: node dist/lab/models/ocr/load.js URL POLICY PAGES_PER_SECOND SECONDS
 */
import { randomSource } from "../letters.ts";
import { readPages } from "./pages.ts";
import { accuracyOf, type PageScore, pageScore } from "./score.ts";

const SLO_MS = 10_000;

interface Answer {
  readonly error?: string;
  readonly parameters?: { readonly variant?: string };
  readonly outputs?: readonly { readonly name: string; readonly data: readonly string[] }[];
}

interface Sent {
  readonly latencyMs: number;
  readonly variant: string;
  /** Null if there was no answer. */
  readonly score: PageScore | null;
}

const [url, policy = "ocr", rate = "0.2", seconds = "60"] = process.argv.slice(2);
if (url === undefined) throw new Error("expected the URL of a server");
const pages = readPages();
const random = randomSource(23, 0);
const running: Promise<Sent>[] = [];
const endMs = performance.now() + 1000 * Number(seconds);
for (;;) {
  const waitMs = (-1000 * Math.log(1 - random())) / Number(rate);
  if (performance.now() + waitMs > endMs) break;
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  running.push(send(running.length % pages.length));
}
const sent = await Promise.all(running);
const latencies = sent.map(({ latencyMs }) => latencyMs).sort((a, b) => a - b);
const quantile = (share: number) =>
  Math.round(latencies[Math.floor(share * latencies.length)] ?? 0);
const late = sent.filter(({ latencyMs, score }) => score === null || latencyMs > SLO_MS).length;
const variants = sent.map(({ variant }) => variant);
const summary = {
  pages: sent.length,
  late,
  accuracy: accuracyOf(sent.flatMap(({ score }) => score ?? [])),
  p50Ms: quantile(0.5),
  p95Ms: quantile(0.95),
  mostMs: quantile(0.9999),
  variants: Object.fromEntries(
    [...new Set(variants)].map((name) => [name, variants.filter((one) => one === name).length]),
  ),
};
process.stdout.write(`${JSON.stringify(summary)}\n`);

async function send(index: number): Promise<Sent> {
  const page = pages[index];
  if (page === undefined) throw new RangeError("an index of a page is in range");
  const startMs = performance.now();
  const response = await fetch(`${url}/v2/models/${policy}/infer`, {
    method: "POST",
    headers: { "inference-header-content-length": "0" },
    body: page.file,
  });
  const { outputs, parameters } = (await response.json()) as Answer;
  const latencyMs = performance.now() - startMs;
  const lines = outputs?.find(({ name }) => name === "read.text" || name === "join.page")?.data;
  const score = lines === undefined ? null : pageScore(page.text, lines.join("\n"));
  return { latencyMs, variant: parameters?.variant ?? "none", score };
}
