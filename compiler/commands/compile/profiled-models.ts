/**
 * Compares the models of an application with those that its profiles were measured with: times of
 * an earlier training do not hold for a later one.
 */
import { dirname, join } from "node:path";
import type { ModelFile } from "stratagem-runtime/internal/bundle/schema";
import { quoted } from "../../base/shell-words.ts";
import { modelDigest, modelOf } from "../../model/model-files.ts";
import type { Variant, VariantProfile } from "../../spec/application.ts";
import { conflict, type Mistake, show } from "../../spec/document/mistakes.ts";
import type { LoadedApplication } from "../../spec/load-application.ts";
import { profileFor } from "../../spec/pool-profiles.ts";

/** Profiles of other models, and warnings about those that do not name theirs. */
interface ProfiledModels {
  readonly mistakes: readonly Mistake[];
  readonly warnings: readonly string[];
}

/**
 * Compares each profile that a pool uses. Code only gives a warning: it is edited without effect on
 * its times, and its digest leaves out what it imports.
 */
export function profiledModels(
  loaded: LoadedApplication,
  models: ReadonlyMap<string, ModelFile>,
): ProfiledModels {
  const { tasks, cluster } = loaded.application;
  const mistakes: Mistake[] = [];
  const warnings: string[] = [];
  const unnamed = new Map<VariantProfile["sha256"], { profile: VariantProfile; names: string[] }>();
  for (const [taskIndex, { variants }] of tasks.entries()) {
    for (const [index, variant] of variants.entries()) {
      const model = modelOf(models, variant);
      const digest = model === null ? null : modelDigest(model);
      if (digest === null) continue;
      for (const profile of new Set(cluster.pools.map((pool) => profileFor(variant, pool)))) {
        if (profile === null || profile.modelSha256 === digest) continue;
        if (profile.modelSha256 !== undefined) {
          const message = otherModel(loaded, variant, profile, digest);
          const path = ["tasks", taskIndex, "variants", index, "profile"];
          if (variant.host === undefined) mistakes.push(conflict(path, message));
          else warnings.push(`${variant.name}: ${message}`);
        } else if (variant.host === undefined) {
          const { names } = unnamed.get(profile.sha256) ?? { names: [] };
          unnamed.set(profile.sha256, { profile, names: [...names, variant.name] });
        }
      }
    }
  }
  for (const { profile, names } of unnamed.values()) {
    warnings.push(
      `${profile.file} does not say which files ${[...new Set(names)].join(", ")} were measured ` +
        `with, so other models would get their times; ${commandFor(loaded, profile)} adds it`,
    );
  }
  return { mistakes, warnings };
}

function otherModel(
  loaded: LoadedApplication,
  { name }: Variant,
  profile: VariantProfile,
  digest: string,
): string {
  const [measured, found] = [profile.modelSha256 ?? "", digest].map(shortened);
  return (
    `expected the model that ${show(name)} was measured with, SHA-256 ${measured}, got ${found}; ` +
    "measure it again (and its accuracy, if it was trained again): " +
    commandFor(loaded, profile)
  );
}

/** Shortens every digest of a list joined by "+". */
function shortened(digests: string): string {
  return digests.replaceAll(/([0-9a-f]{12})[0-9a-f]*/g, "$1…");
}

/** Returns the command that measures a profile again as it was. */
function commandFor(
  { path, inputs, application: { tasks, cluster } }: LoadedApplication,
  profile: VariantProfile,
): string {
  const { sha256, file, rows, byCores, layers, device, task, serving, hardware } = profile;
  const own = inputs.find((input) => input.sha256 === sha256)?.path ?? file;
  const batches = rows.map(({ batch }) => batch).join();
  const isNamed = cluster.pools.some((pool) => pool.hardware === hardware);
  const words = [
    ...["stratagem", "profile", path, "-o", join(dirname(path), own)],
    ...(task === null || tasks.length === 1 ? [] : ["--task", task]),
    ...(layers === null ? [] : ["--layers"]),
    ...(layers !== null || batches === "" ? [] : ["--batches", batches]),
    ...(byCores === null ? [] : ["--cores", byCores.map(({ cores }) => cores).join()]),
    ...(device === undefined || device.provider === "cpu" ? [] : ["--device", device.provider]),
    ...(isNamed ? ["--hardware", hardware] : []),
    ...(serving === undefined ? [] : ["--serving"]),
  ];
  return words.map((word) => (/^[\w,.-]+$/.test(word) ? word : quoted(word))).join(" ");
}
