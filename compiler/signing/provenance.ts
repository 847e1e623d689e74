/**
 * Describes how a bundle was made, as an in-toto statement with SLSA provenance: inputs, tools and
 * outputs, each with its digest. Source: slsa.dev/spec/v1.0/provenance.
 */
import { basename, dirname, join } from "node:path";
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle, InputDigest } from "stratagem-runtime/internal/bundle/schema";
import { FORMAT_VERSION } from "stratagem-runtime/internal/bundle/schema";
import { digestOfFile } from "stratagem-runtime/internal/bundles/shipping/file-digest";
import {
  PREDICATE_TYPE,
  STATEMENT_TYPE,
} from "stratagem-runtime/internal/bundles/trust/provenance";
import type { SignedFile } from "stratagem-runtime/internal/bundles/trust/statement";
import { type PackageDigest, packageDigest } from "./package-digest.ts";

/** Type of `buildDefinition`, described in docs/ship.md. */
const BUILD_TYPE = "urn:stratagem:compile:1";
/** Builder if none is given. */
export const UNNAMED_BUILDER = "urn:stratagem:builder:unnamed";

interface Making {
  readonly bundle: Bundle;
  /** Path and digest of the bundle's file. */
  readonly path: string;
  readonly sha256: string;
  readonly models: readonly SignedFile[];
  /** Name and version of the program that writes the statement. */
  readonly compiler: string;
  /** URI of the builder; null if unknown. */
  readonly builder: string | null;
  /** Path of the spec it was compiled from. */
  readonly spec: string;
}

/** Artifact as described by in-toto. */
interface ResourceDescriptor {
  readonly name: string;
  readonly uri?: string;
  readonly digest: Readonly<Record<string, string>>;
}

const PACKAGES = ["stratagem", "stratagem-runtime"];

/**
 * Encodes the statement as JSON. Packages get digests if they are the ones that compiled the
 * bundle.
 * @throws RuntimeError RUNTIME_USAGE if spec and inputs are not those of the bundle.
 */
export async function provenanceBytes(making: Making): Promise<Uint8Array> {
  const { inputs, compiler } = making.bundle.provenance;
  await expectInputs(making.spec, inputs);
  const packages = compiler === making.compiler ? PACKAGES.map(packageDigest) : [];
  return Buffer.from(JSON.stringify(provenanceOf(making, packages)));
}

/**
 * @param packages that compiled the bundle; empty if another version did, of which only the name is
 * known.
 */
function provenanceOf(making: Making, packages: readonly PackageDigest[]): object {
  const { bundle, path, sha256, models, builder, spec } = making;
  const { application, method, provenance } = bundle;
  const isInput = ({ sha256: digest }: SignedFile) => {
    return provenance.inputs.some((input) => input.sha256 === digest);
  };
  // The compiler creates stages, which lie beside the bundle.
  const made = models.filter((file) => !isInput(file));
  return {
    _type: STATEMENT_TYPE,
    subject: [
      { name: basename(path), digest: { sha256 } },
      ...made.map(({ file, sha256: digest }) => ({ name: file, digest: { sha256: digest } })),
    ],
    predicateType: PREDICATE_TYPE,
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { spec: basename(spec), application, method },
        internalParameters: { compiler: provenance.compiler, formatVersion: FORMAT_VERSION },
        resolvedDependencies: [...provenance.inputs.map(inputOf), ...packages.map(packageOf)],
      },
      runDetails: {
        builder: { id: builder ?? UNNAMED_BUILDER },
      },
    },
  };
}

/** Uses the path of the spec. */
function inputOf({ path, sha256 }: InputDigest): ResourceDescriptor {
  return { name: path, digest: { sha256 } };
}

function packageOf({ name, version, dirHash }: PackageDigest): ResourceDescriptor {
  return { name, uri: `pkg:npm/${name}@${version}`, digest: { dirHash } };
}

/** Checks that the files of a spec are still those that the bundle was compiled from. */
async function expectInputs(spec: string, inputs: readonly InputDigest[]): Promise<void> {
  if (!inputs.some(({ path }) => path === basename(spec))) {
    const names = inputs.map(({ path }) => path).join(", ");
    throw mismatch(spec, `one of the files that the bundle was compiled from, ${names}`);
  }
  for (const { path, sha256 } of inputs) {
    const place = join(dirname(spec), path);
    const found = await digestOfFile(place).catch((error: NodeJS.ErrnoException) => {
      throw mismatch(
        place,
        `the file that the bundle was compiled from, got ${error.code ?? error.message}`,
      );
    });
    if (found.sha256 === sha256) continue;
    throw mismatch(place, `SHA-256 ${sha256} from the bundle's compile, got ${found.sha256}`);
  }
}

function mismatch(place: string, expected: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", `--provenance: ${place}: expected ${expected}`);
}
