/**
 * Measures how often silero is right, and writes models/voice/models.json.
 * Usage: node dist/lab/models/voice/measure.js FOLDER..., one for each speaker, with its WAV files
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Rng } from "../../../runtime/core/rng.ts";
import { chunkLabels } from "./labels.ts";
import { CONDITIONS, recordingOf } from "./recordings.ts";
import {
  openSilero,
  probabilitiesOf,
  SAMPLE_RATE,
  SILERO_FILE,
  THRESHOLD,
  windowsOf,
} from "./silero.ts";
import { readWav } from "./wav.ts";

const SEED = 20;
const CLIPS_OF_SPEAKER = 20;
/** Clips of other lengths are single words, or would be most of what is measured. */
const SHORTEST_S = 1;
const LONGEST_S = 8;
/** Prompts of telephones that are no speech. */
const NO_SPEECH = /beep|tone|silence|music|monkeys|ring|dtmf/;
/** Chunks nearer than this to where speech begins or ends are left out of the second figure. */
const COLLAR_CHUNKS = 2;

interface Counts {
  chunks: number;
  right: number;
  speech: number;
  missed: number;
  falseAlarms: number;
  clear: number;
  clearRight: number;
}

const folders = process.argv.slice(2);
if (folders.length === 0) throw new Error("Usage: measure.js FOLDER...");
const speakers = folders.map((folder) => ({ name: path.basename(folder), clips: clipsOf(folder) }));
const session = await openSilero();
const totals = new Map<string, Counts>();
for (const [speaker, { name, clips }] of speakers.entries()) {
  for (const [index, condition] of CONDITIONS.entries()) {
    const { sound, speech } = recordingOf(clips, condition, SEED + 100 * speaker + index);
    const probabilities = await probabilitiesOf(session, windowsOf(sound));
    const counts = compare(probabilities, chunkLabels(speech));
    for (const key of ["all", condition.name, name]) add(key, counts);
  }
}
await session.release();
const file = readFileSync(SILERO_FILE);
const names = ["all", ...[...CONDITIONS, ...speakers].map(({ name }) => name)];
const figures = names.flatMap((name) => {
  const counts = totals.get(name);
  return counts === undefined ? [] : [{ name, ...sharesOf(counts) }];
});
const manifest = {
  model: { sha256: createHash("sha256").update(file).digest("hex"), bytes: file.length },
  seed: SEED,
  clips: speakers.map(({ name, clips }) => {
    const samples = clips.reduce((sum, clip) => sum + clip.length, 0);
    return { name, clips: clips.length, seconds: rounded(samples / SAMPLE_RATE, 1) };
  }),
  figures,
};
writeFileSync("models/voice/models.json", `${JSON.stringify(manifest, null, 2)}\n`);
console.table(figures);

/** Some clips of a folder, the same ones on every machine. */
function clipsOf(folder: string): Float32Array[] {
  const files = readdirSync(folder).filter(
    (name) => name.endsWith(".wav") && !NO_SPEECH.test(name),
  );
  const clips = files.sort().map((name) => readWav(readFileSync(path.join(folder, name)), name));
  const fitting = clips.filter(({ length }) => {
    return length >= SHORTEST_S * SAMPLE_RATE && length <= LONGEST_S * SAMPLE_RATE;
  });
  const rng = new Rng(SEED, 0);
  const drawn = fitting.map((clip) => ({ clip, at: rng.nextFloat() }));
  drawn.sort((a, b) => a.at - b.at);
  return drawn.slice(0, CLIPS_OF_SPEAKER).map(({ clip }) => clip);
}

function compare(probabilities: readonly number[], labels: readonly boolean[]): Counts {
  const counts = {
    chunks: 0,
    right: 0,
    speech: 0,
    missed: 0,
    falseAlarms: 0,
    clear: 0,
    clearRight: 0,
  };
  labels.forEach((label, chunk) => {
    const told = (probabilities[chunk] ?? 0) >= THRESHOLD;
    const near = labels.slice(Math.max(0, chunk - COLLAR_CHUNKS), chunk + COLLAR_CHUNKS + 1);
    const isClear = near.every((one) => one === label);
    counts.chunks++;
    counts.right += Number(told === label);
    counts.speech += Number(label);
    counts.missed += Number(label && !told);
    counts.falseAlarms += Number(told && !label);
    counts.clear += Number(isClear);
    counts.clearRight += Number(isClear && told === label);
  });
  return counts;
}

function add(name: string, counts: Counts): void {
  const total = totals.get(name);
  if (total === undefined) {
    totals.set(name, { ...counts });
    return;
  }
  for (const key of Object.keys(counts) as (keyof Counts)[]) total[key] += counts[key];
}

function sharesOf(counts: Counts) {
  const { chunks, right, speech, missed, falseAlarms, clear, clearRight } = counts;
  return {
    chunks,
    accuracy: rounded(right / chunks, 4),
    awayFromEdges: rounded(clearRight / clear, 4),
    missed: rounded(missed / speech, 4),
    falseAlarms: rounded(falseAlarms / (chunks - speech), 4),
  };
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
