/**
 * What became worse as SARIF, which hosts show beside the lines of a change.
 * Source: SARIF 2.1.0, https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html
 */
import { createHash } from "node:crypto";
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import type { KeyPath } from "../spec/document.ts";
import { judgementText, placeText } from "./comparison-text.ts";
import type { GateOutcome } from "./gate-outcome.ts";
import { regressionsOf } from "./gate-table.ts";
import { breakText } from "./judged-text.ts";

/** The file that results name, and the line of what is about a figure. */
export interface SarifPlace {
  /** As the command line has it; of a repository relative to its root. */
  readonly file: string;
  readonly lineOf: (path: KeyPath) => number;
}

interface Finding {
  readonly rule: string;
  readonly text: string;
  /** What it is about, the same from run to run. */
  readonly about: string;
  /** Part of the spec that it is of. */
  readonly path: KeyPath;
}

/** What a reader looks at first where a figure became worse. */
const PARTS_OF_SPEC: Readonly<Record<string, KeyPath>> = {
  feasible: ["workload", "loads"],
  application: ["application"],
  accuracy: ["tasks"],
  accuracyPerQuery: ["tasks"],
  cost: ["cluster"],
  workers: ["cluster"],
  cores: ["cluster"],
  bytes: ["workload", "loads"],
  ceiling: ["slo"],
};

/** @param compiler name and version, such as `stratagem 0.1.0`. */
export function sarifDocument(outcome: GateOutcome, compiler: string, place: SarifPlace): object {
  const findings = findingsOf(outcome);
  const rules = [...new Set(findings.map(({ rule }) => rule))];
  const [name = compiler, version] = compiler.split(" ");
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name,
            ...(version === undefined ? {} : { version }),
            rules: rules.map((id) => ({ id, shortDescription: { text: ruleText(id) } })),
          },
        },
        // Hosts keep one run for each of these, so that applications do not hide each other.
        automationDetails: { id: `${name}-gate/${outcome.after.application}/` },
        results: findings.map((finding) => ({
          ruleId: finding.rule,
          ruleIndex: rules.indexOf(finding.rule),
          level: "error",
          message: { text: finding.text },
          locations: [locationOf(place, finding.path)],
          partialFingerprints: { "stratagemPromise/v1": fingerprint(outcome, finding) },
        })),
      },
    ],
  };
}

function findingsOf({ rows, requirements }: GateOutcome): Finding[] {
  const regressions = regressionsOf(rows).map((row) => ({
    rule: `regression/${row.figure}`,
    text: `${placeText(row)} became worse: ${judgementText(row)}`,
    about: placeText(row),
    path: partOfSpec(row.figure),
  }));
  const broken = requirements.flatMap(({ text, figure, broken }) =>
    broken.map((one) => ({
      rule: `requirement/${figure}`,
      text: `${text} is broken: ${breakText(one)}`,
      about: `${text} at ${one.loadQps}`,
      path: partOfSpec(figure),
    })),
  );
  return [...regressions, ...broken];
}

function partOfSpec(figure: string): KeyPath {
  return PARTS_OF_SPEC[figure] ?? ["slo"];
}

function ruleText(id: string): string {
  const [kind, figure] = id.split("/");
  return kind === "regression"
    ? `The bundle promises a worse ${figure} than the one before it.`
    : `The bundle breaks a requirement of its ${figure}.`;
}

function locationOf({ file, lineOf }: SarifPlace, path: KeyPath): object {
  const relative = file.replaceAll("\\", "/").split("/").map(encodeURIComponent).join("/");
  const artifactLocation = isAbsolute(file)
    ? { uri: pathToFileURL(file).href }
    : { uri: relative, uriBaseId: "%SRCROOT%" };
  return { physicalLocation: { artifactLocation, region: { startLine: lineOf(path) } } };
}

function fingerprint({ after }: GateOutcome, { rule, about }: Finding): string {
  return createHash("sha256")
    .update(JSON.stringify([after.application, rule, about]))
    .digest("hex");
}
