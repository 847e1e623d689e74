/** Lists the variants of a spec to measure, each profile name once. */
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { suggestion } from "stratagem-runtime/internal/base/nearest";
import type { HostVariant } from "../spec/application.ts";
import { type Binding, bindingMistakes, resolveBinding } from "../spec/binding.ts";
import type { KeyPath, SourceDocument } from "../spec/document/document.ts";
import { conflict, fail, invalid, missing, refuse, show } from "../spec/document/mistakes.ts";
import { linesOf } from "../spec/document/source.ts";
import { hostKey, hostVariantOf, kindMistakes } from "../spec/host-tasks.ts";
import { chainKey, chainOf, oneModelOf } from "../spec/model-files.ts";
import { type ProfiledVariant, readProfile } from "../spec/profile.ts";
import type { ApplicationSpec } from "../spec/schema/application-schema.ts";
import type { PlannedUse } from "./planned-fit.ts";

/** Origin of the variants. */
interface NamedIn {
  /** Path of the spec. */
  readonly app: string;
  /** Selects one task; null for all. */
  readonly task: string | null;
}

export interface NamedVariant {
  readonly outputsAreRows: boolean;
  readonly task: string;
  readonly name: string;
  readonly accuracy: number | null;
  readonly path: string;
  /** Binding of the variant; undefined if the spec leaves it to the model. */
  readonly binding: Binding | undefined;
  readonly host?: HostVariant | undefined;
  /** Paths of files that run in sequence; `path` is then only a label. */
  readonly chain?: readonly string[] | undefined;
  /** Location of the model in the spec. */
  readonly at: KeyPath;
}

/**
 * The name must be the same in all profiles, one per hardware: the variant is
 * measured, wherever it runs.
 */
function nameInProfile(
  profile: string | readonly string[],
  at: KeyPath,
  document: SourceDocument,
): string {
  const references = typeof profile === "string" ? [profile] : profile;
  const names = references.map(
    (reference) => profileName(reference) ?? fail(document, badReference(at, reference)),
  );
  const [first = "", ...others] = names;
  const other = others.find((name) => name !== first);
  if (other === undefined) return first;
  const message = `expected one name in all profiles, got ${show(first)} and ${show(other)}`;
  return fail(document, conflict([...at, "profile"], message));
}

/** Lists the models of the spec, each profile name once. */
export function namedVariants(
  spec: ApplicationSpec,
  document: SourceDocument,
  { app, task: onlyTask }: NamedIn,
): NamedVariant[] {
  const byName = new Map<string, NamedVariant>();
  for (const [taskIndex, task] of spec.tasks.entries()) {
    if (onlyTask !== null && task.name !== onlyTask) continue;
    for (const [index, variant] of task.variants.entries()) {
      const at = ["tasks", taskIndex, "variants", index];
      if (variant.model === undefined) {
        const expected = "an ONNX file, since a variant is measured by running it";
        return fail(document, missing([...at, "model"], expected));
      }
      refuse(document, kindMistakes(variant, at));
      refuse(document, bindingMistakes(variant, at));
      const planned: NamedVariant = {
        task: task.name,
        name: nameInProfile(variant.profile, at, document),
        accuracy: variant.accuracy ?? null,
        ...useOf(variant, at, document, app),
        at: [...at, "model"],
        outputsAreRows: task.to.length === 0,
      };
      const other = byName.get(planned.name);
      if (other !== undefined && !isSameUse(other, planned)) {
        const message =
          `profile names must be unique: ${show(planned.name)} would appear twice, ` +
          "for variants with different models or bindings; measure one task at a time with --task";
        return fail(document, conflict([...at, "profile"], message));
      }
      byName.set(planned.name, {
        ...planned,
        accuracy: planned.accuracy ?? other?.accuracy ?? null,
      });
    }
  }
  if (byName.size > 0) return [...byName.values()];
  const known = spec.tasks.map(({ name }) => name);
  const found = onlyTask === null ? "none" : show(onlyTask) + suggestion(onlyTask, known);
  return fail(document, invalid(["tasks"], "a task with variants to measure", found));
}

interface ModelUse extends PlannedUse {
  readonly host: HostVariant | undefined;
  readonly chain: readonly string[] | undefined;
}

function useOf(
  variant: ApplicationSpec["tasks"][number]["variants"][number],
  at: KeyPath,
  document: SourceDocument,
  app: string,
): ModelUse {
  const folder = dirname(resolve(app));
  const host = hostVariantOf(variant, folder, (name) => resolve(folder, name)) ?? undefined;
  const chain = chainOf(variant)?.map((name) => resolve(folder, name));
  const one = resolve(folder, oneModelOf(variant) ?? "");
  const path = chain === undefined ? one : chainKey(chain);
  return {
    path: host === undefined ? path : hostKey(host),
    binding: resolveBinding(variant, at, labelsBeside(app, document)) ?? undefined,
    host,
    chain,
  };
}

export function usesOf(spec: ApplicationSpec, document: SourceDocument, { app, task }: NamedIn) {
  return (taskIndex: number, index: number): PlannedUse | null => {
    const own = spec.tasks[taskIndex];
    const variant = own?.variants[index];
    if (variant?.model === undefined || (task !== null && own?.name !== task)) return null;
    return useOf(variant, ["tasks", taskIndex, "variants", index], document, app);
  };
}

function isSameUse(one: NamedVariant, other: NamedVariant): boolean {
  const use = ({ path, binding }: NamedVariant) => JSON.stringify([path, binding ?? null]);
  return use(one) === use(other);
}

function labelsBeside(app: string, document: SourceDocument) {
  return (file: string, at: KeyPath): readonly string[] => {
    return linesOf(resolve(dirname(app), file), (reason) => {
      const message = `expected a readable file, got ${show(file)} (${reason})`;
      return fail(document, { code: "INPUT_UNREADABLE", path: at, message });
    });
  };
}

function profileName(reference: string): string | null {
  const hash = reference.indexOf("#");
  return hash <= 0 || hash === reference.length - 1 ? null : reference.slice(hash + 1);
}

function badReference(at: KeyPath, reference: string) {
  return invalid([...at, "profile"], "<file>#<variant>", show(reference));
}

/**
 * Returns the variants of the existing profile by name, if it may have accuracies that the spec
 * lacks; otherwise none.
 */
export function knownVariants(
  variants: readonly NamedVariant[],
  out: string | null,
): ReadonlyMap<string, ProfiledVariant> {
  const isComplete = variants.every(({ accuracy }) => accuracy !== null);
  return isComplete || out === null || !existsSync(out) ? new Map() : readProfile(out).variants;
}
