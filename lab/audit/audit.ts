/**
 * `npm run audit`: known faults, signatures and licences of the packages that an install brings.
 * Ends with 3 where something was found; what the registry cannot answer is said by name, and is a
 * fault only under `--strict`.
 */
import { spawnSync } from "node:child_process";
import { licenceFaults } from "./licences.ts";
import { productionPackages, unpinned } from "./lockfile.ts";

const EXIT_FOUND = 3;
const PATIENCE_MS = 180_000;

type Answer = { readonly isAnswered: boolean; readonly faults: readonly string[] };

const isStrict = process.argv.includes("--strict");
const pinned = unpinned();
tell("pins", "every package has a SHA-512 and is of the registry", pinned);
const packages = productionPackages();
tell("licences", `${packages.length} packages, all allowed`, licenceFaults(packages));
answer("advisories", advisories());
answer("signatures", signatures());

function advisories(): Answer {
  const { stdout } = npm("audit", "--omit=dev", "--audit-level=high", "--json");
  const { vulnerabilities, message, error } = documentOf<{
    vulnerabilities?: Record<string, { severity: string; range: string }>;
    message?: string;
    error?: { summary?: string };
  }>(stdout);
  if (vulnerabilities === undefined) return notAnswered(message ?? error?.summary);
  const faults = Object.entries(vulnerabilities)
    .filter(([, { severity }]) => severity === "high" || severity === "critical")
    .map(([name, { severity, range }]) => `${name} ${range}: ${severity}`);
  return { isAnswered: true, faults };
}

function signatures(): Answer {
  const { stdout, stderr } = npm("audit", "signatures", "--omit=dev", "--json");
  const { invalid, missing, error } = documentOf<{
    invalid?: readonly { name: string; version: string }[];
    missing?: readonly { name: string; version: string }[];
    error?: { summary?: string };
  }>(stdout);
  if (invalid === undefined || missing === undefined) {
    return notAnswered(error?.summary ?? /npm error (?!code)(.+)/.exec(stderr)?.[1]);
  }
  const faults = [
    ...invalid.map(({ name, version }) => `${name} ${version}: its signature is wrong`),
    ...missing.map(({ name, version }) => `${name} ${version}: has no signature`),
  ];
  return { isAnswered: true, faults };
}

function npm(...args: readonly string[]): { stdout: string; stderr: string } {
  return spawnSync("npm", [...args, "--fetch-retries=0"], {
    encoding: "utf8",
    timeout: PATIENCE_MS,
  });
}

function documentOf<T>(text: string): Partial<T> {
  try {
    return JSON.parse(text) as Partial<T>;
  } catch {
    return {};
  }
}

function notAnswered(reason: string | undefined): Answer {
  return { isAnswered: false, faults: [reason || "no answer"] };
}

function answer(name: string, { isAnswered, faults }: Answer): void {
  if (isAnswered) {
    tell(name, "none found", faults);
    return;
  }
  console.warn(`${name}: NOT CHECKED, nobody answers (${faults.join("; ")})`);
  if (isStrict) process.exitCode = EXIT_FOUND;
}

function tell(name: string, fine: string, faults: readonly string[]): void {
  if (faults.length === 0) {
    console.log(`${name}: ${fine}`);
    return;
  }
  for (const fault of faults) console.error(`${name}: ${fault}`);
  process.exitCode = EXIT_FOUND;
}
