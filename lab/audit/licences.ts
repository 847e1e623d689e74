/** Which licences the packages may have that an install brings, and the page that lists them. */
import { type LockedPackage, productionPackages } from "./lockfile.ts";

/** They ask for their notice to be kept, and nothing of the code around them. */
const ALLOWED = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "Unlicense",
  "Zlib",
]);

interface Exception {
  /** A whole name, or of several packages what theirs begin with. */
  readonly name: string | RegExp;
  readonly license: string;
  readonly reason: string;
}

/** Prebuilt libvips, one package for each platform. */
const OF_THE_KIT = "0019, the kit only";
const EXCEPTIONS: readonly Exception[] = [
  {
    name: "glpk.js",
    license: "GPL-3.0",
    reason: "[0002](decisions/0002-glpk-licence.md), the compiler only",
  },
  { name: /^@img\/sharp-libvips-/, license: "LGPL-3.0-or-later", reason: OF_THE_KIT },
  {
    name: /^@img\/sharp-win32-/,
    license: "Apache-2.0 AND LGPL-3.0-or-later",
    reason: OF_THE_KIT,
  },
  {
    name: "@img/sharp-wasm32",
    license: "Apache-2.0 AND LGPL-3.0-or-later AND MIT",
    reason: OF_THE_KIT,
  },
];

/** What is wrong with the licences, each in a sentence. */
export function licenceFaults(packages: readonly LockedPackage[] = productionPackages()): string[] {
  return packages.flatMap(({ name, version, license }) =>
    isAllowed(license) || exceptionOf(name)?.license === license
      ? []
      : [`${name} ${version}: expected one of ${[...ALLOWED].join(", ")}, found ${license}`],
  );
}

/** The page of all licences, as docs/licences.md is to be. */
export function licencesPage(packages: readonly LockedPackage[] = productionPackages()): string {
  const rows = packages.map(({ name, version, license }) => {
    const note = exceptionOf(name)?.reason ?? "";
    return `| ${name} | ${version} | ${license ?? "none"} | ${note} |`;
  });
  return [
    "# Licences of the packages that an install brings",
    "",
    "The npm packages that `stratagem`, `stratagem-runtime` and `stratagem-kit` bring, as",
    "package-lock.json pins them. `npm run audit` fails on a licence that is not allowed, and",
    "`WRITE_DOCS=1 npx vitest run test/docs/licences.test.ts` writes this page. onnxruntime-node",
    "brings compiled code whose notices are in ThirdPartyNotices.txt of ONNX Runtime's repository.",
    "[0019](decisions/0019-kit.md) explains the exception for sharp. Models of examples come from",
    "packages for development only: PaddleOCR's (Apache-2.0) and silero-vad (MIT).",
    "",
    "| package | version | licence | exception |",
    "| --- | --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

function exceptionOf(name: string): Exception | undefined {
  return EXCEPTIONS.find(({ name: of }) => (typeof of === "string" ? of === name : of.test(name)));
}

/** An SPDX expression of one level: every part of AND, or any of OR. */
function isAllowed(license: string | null): boolean {
  const inner = (license ?? "").replace(/^\((.*)\)$/, "$1");
  const every = inner.split(" AND ");
  if (every.length > 1) return every.every((part) => ALLOWED.has(part));
  return inner.split(" OR ").some((part) => ALLOWED.has(part));
}
