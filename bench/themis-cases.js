/**
 * The exact solver beside the exhaustive optima, and Themis's own answers beside the joint optimum: `node bench/themis-cases.js` after `npm run build`. The cases are where
 * STRATAGEM_REFERENCE says.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ExactScaler } from "../compiler/dist/methods/themis/solve/exact.js";
import { isPlan } from "../compiler/dist/methods/themis/solve/problem.js";

const REFERENCE = process.env.STRATAGEM_REFERENCE ?? "../shared/reference";
const read = (file) => JSON.parse(readFileSync(join(REFERENCE, "themis", file), "utf8"));
const { pipelines } = read("inputs.json");
const { cases } = read("exact.json");

function chainOf(pipeline, maxBatch, maxCores, sloMs) {
  const stages = pipelines[pipeline].stages.map(({ gamma, epsilon, delta, eta }, at) => ({
    parents: at === 0 ? [] : [at - 1],
    scale: 1,
    maxBatch,
    maxCores,
    latencyMs: Float64Array.from({ length: maxBatch * maxCores }, (_, cell) => {
      const batch = 1 + (cell % maxBatch);
      const cores = 1 + Math.floor(cell / maxBatch);
      return (gamma * batch) / cores + epsilon / cores + delta * batch + eta;
    }),
  }));
  return { sloMs, hopMs: 0, stages };
}

function solve({ pipeline, lam, sloMs, bMax }, maxCores, mode) {
  return new ExactScaler(chainOf(pipeline, bMax, maxCores, sloMs)).solve(lam, mode);
}

/** A horizontal case allows one core; its joint answer has as many cores as batches, like the vertical cases beside it. */
const solvedBy = {
  horizontal: (one) => [solve(one, one.cMax, { kind: "horizontal" }), one.exact_real],
  vertical: (one) => [
    solve(one, one.cMax, { kind: "vertical", instances: one.n0 }),
    one.exact_real,
  ],
  joint: (one) => [solve(one, one.bMax, { kind: "joint" }), one.exact_joint_real],
};

const totals = { cases: 0, feasible: 0, differing: 0, latencyMs: 0 };
console.log(
  "| pipeline | limits | mode | cases | feasible | other cores | largest difference, ms |",
);
console.log("| --- | --- | --- | ---: | ---: | ---: | ---: |");
for (const [key, own] of Object.entries(groups())) {
  const row = { cases: own.length, feasible: 0, differing: 0, latencyMs: 0 };
  for (const [answer, expected] of own) {
    if (isPlan(answer)) row.feasible++;
    if ((answer.cores ?? null) !== (expected?.cost ?? null)) row.differing++;
    else if (expected !== null) {
      row.latencyMs = Math.max(row.latencyMs, Math.abs(answer.latencyMs - expected.latencyMs));
    }
  }
  for (const name of ["cases", "feasible", "differing"]) totals[name] += row[name];
  totals.latencyMs = Math.max(totals.latencyMs, row.latencyMs);
  console.log(`| ${key} | ${cellsOf(row)} |`);
}
console.log(`| all | | | ${cellsOf(totals)} |`);

console.log(
  "\n| Themis's mode | cases | as a plan of its mode | of these dearer | worst | dearer than joint | worst |",
);
console.log("| --- | ---: | ---: | ---: | --- | ---: | --- |");
const labels = [...new Set(cases.map(labelOf)), "all"];
for (const label of labels) {
  console.log(
    themisRow(label, label === "all" ? cases : cases.filter((one) => labelOf(one) === label)),
  );
}

/** Pairs of answer and optimum by pipeline, limits and mode. */
function groups() {
  const found = {};
  for (const one of cases) {
    for (const mode of [one.mode, "joint"]) {
      const key = `${one.pipeline} | ${one.cfg} | ${mode}`;
      found[key] ??= [];
      found[key].push(solvedBy[mode](one));
    }
  }
  return Object.fromEntries(
    Object.entries(found).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
  );
}

function cellsOf({ cases: count, feasible, differing, latencyMs }) {
  return `${count} | ${feasible} | ${differing} | ${latencyMs.toExponential(1)}`;
}

function labelOf({ mode, nLabel }) {
  return nLabel === null ? mode : `${mode}, ${nLabel}`;
}

/** Themis's cost, as the reference has it, beside our plan of the same mode, where there is one without extra instances, and beside our joint plan. */
function themisRow(label, own) {
  const sameMode = dearerThan(own, (one) => solvedBy[one.mode](one)[0]);
  const joint = dearerThan(own, (one) => solvedBy.joint(one)[0]);
  return `| ${label} | ${own.length} | ${sameMode.both} | ${sameMode.text} | ${joint.text} |`;
}

function dearerThan(own, planOf) {
  const both = own
    .map((one) => ({ ...one, plan: planOf(one) }))
    .filter(({ plan, themisFeasible }) => isPlan(plan) && themisFeasible);
  const factors = both.map(({ themisCost, plan }) => themisCost / plan.cores);
  if (factors.some((factor) => factor < 1)) throw new Error("nothing is cheaper than the optimum");
  const dearer = factors.filter((factor) => factor > 1).length;
  const worst = Math.max(...factors);
  const { pipeline, lam, themisCost, plan } = both[factors.indexOf(worst)];
  const which = `${worst.toFixed(2)} (${pipeline}, ${lam}/s: ${themisCost} for ${plan.cores})`;
  return { both: both.length, text: `${dearer} | ${which}` };
}
