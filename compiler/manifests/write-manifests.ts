/**
 * Implements `stratagem manifests BUNDLE`: writes the manifests of a Kubernetes cluster that serves
 * a bundle.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import { bundleOfBytes, readBundleFile } from "stratagem-runtime/internal/bundles/load-bundle";
import { partsOf } from "stratagem-runtime/internal/bundles/shipping/parts";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { explainedTable } from "stratagem-runtime/internal/describe/text";
import { stringify } from "yaml";
import { writeAllAtomically } from "../base/atomic-write.ts";
import { UnwritableError } from "../base/errors.ts";
import { methodOf } from "../methods/registry.ts";
import type { ManifestFile, ManifestOptions } from "./manifest-options.ts";
import { manifestsOf } from "./manifests.ts";
import { dnsLabel } from "./objects.ts";
import { needsOf, readmeOf } from "./readme.ts";

/** kubectl skips files that are not manifests. */
const README = "README.md";

interface ManifestsCommandOptions extends Omit<ManifestOptions, "name"> {
  readonly bundle: string;
  /** Output folder; null for one text. */
  readonly out: string | null;
  /** Null for the application's name. */
  readonly name: string | null;
}

/** @throws BundleError, RuntimeError, UnwritableError */
export async function manifestsCommand(asked: ManifestsCommandOptions): Promise<CommandResult> {
  const { bundle: path, out, name, ...rest } = asked;
  const bytes = await readBundleFile(path);
  const { bundle, sha256 } = await bundleOfBytes(path, bytes);
  const method = await methodOf(bundle);
  const workersByLevel = bundle.levels.map((level) => method.plannedWorkers(bundle, level));
  const options = { ...rest, name: name ?? usableName(bundle.application) };
  const files = manifestsOf({ bundle, bytes, workersByLevel }, options);
  const objects = files.flatMap(({ file, objects: all }) =>
    all.map(({ kind, metadata }) => ({ file, kind, name: metadata.name })),
  );
  const models = partsOf(bundle).map(({ file }) => file);
  if (out !== null) await writeFiles(out, files, readmeOf(out, files, options, models));
  return {
    exitCode: EXIT_CODES.ok,
    text: out === null ? streamOf(files) : listOf(out, objects, needsOf(files, options, models)),
    json: { bundle: { path, sha256 }, name: options.name, out, objects, manifests: files },
  };
}

/** @throws RuntimeError RUNTIME_USAGE if no valid character is left. */
function usableName(application: string): string {
  const name = dnsLabel(application);
  if (name !== "") return name;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `the application "${application}" has no letters for object names; use --name`,
  );
}

function streamOf(files: readonly ManifestFile[]): string {
  return files.map(manifestText).join("---\n").trimEnd();
}

/** Formats the documents of a file, with a comment for its purpose. */
function manifestText({ about, objects }: ManifestFile): string {
  // Aliases are legal but hard to read.
  const options = { aliasDuplicateObjects: false, lineWidth: 0 };
  const documents = objects.map((object) => stringify(object, options));
  return `# ${about}\n${documents.join("---\n")}`;
}

async function writeFiles(
  folder: string,
  files: readonly ManifestFile[],
  readme: string,
): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new UnwritableError(folder, error.code ?? error.message);
  });
  const written = files.map((file) => ({
    path: join(folder, file.file),
    bytes: Buffer.from(manifestText(file)),
  }));
  const readmeFile = { path: join(folder, README), bytes: Buffer.from(readme) };
  await writeAllAtomically([...written, readmeFile]);
}

function listOf(
  folder: string,
  objects: readonly { readonly file: string; readonly kind: string; readonly name: string }[],
  needs: readonly string[],
): string {
  const rows = objects.map(({ file, kind, name }) => [join(folder, file), kind, name]);
  return [
    explainedTable([["file", "kind", "name"], ...rows]),
    "",
    `Prerequisites (details in ${join(folder, README)}):`,
    ...needs.map((need) => `- ${need}`),
    "",
    `kubectl apply -f ${folder}`,
  ].join("\n");
}
