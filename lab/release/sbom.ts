/** What a package brings, as a bill of materials in CycloneDX 1.6. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import * as CDX from "@cyclonedx/cyclonedx-library";
import { closureOf, type Lock, type LockEntry, type PinnedPackage } from "./lock.ts";

export interface SbomOptions {
  readonly lock: Lock;
  /** The folder of the package's sources, such as "runtime". */
  readonly workspace: string;
  /** Its tarball, whose digest the bill states. */
  readonly tarball: string;
}

const { Enums, Models, Serialize, Spec, SPDX } = CDX;
const FORMAT = Spec.Spec1dot6;

/**
 * The bill as JSON. The same package gives the same bytes: there is no time in it, and its serial
 * number is made of its content.
 */
export function sbomOf({ lock, workspace, tarball }: SbomOptions): string {
  const [own, ...brought] = closureOf(lock, workspace);
  if (own === undefined) throw new Error(`${workspace}: not a package`);
  const bom = new Models.Bom();
  const components = new Map<string, CDX.Models.Component>();
  const subject = componentOf(own);
  const digest = createHash("sha256").update(readFileSync(tarball)).digest("hex");
  subject.hashes.set(Enums.HashAlgorithm["SHA-256"], digest);
  components.set(own.folder, subject);
  bom.metadata.component = subject;
  bom.metadata.lifecycles.add(Enums.LifecyclePhase.Build);
  for (const each of brought) {
    const component = componentOf(each);
    components.set(each.folder, component);
    bom.components.add(component);
  }
  for (const each of [own, ...brought]) {
    const needed = each.needs.flatMap((folder) => components.get(folder)?.bomRef ?? []);
    for (const ref of needed) components.get(each.folder)?.dependencies.add(ref);
  }
  const unnumbered = serialized(bom);
  bom.serialNumber = `urn:uuid:${uuidOf(unnumbered)}`;
  return serialized(bom);
}

function serialized(bom: CDX.Models.Bom): string {
  const factory = new Serialize.JSON.Normalize.Factory(FORMAT);
  const serializer = new Serialize.JsonSerializer(factory);
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

function componentOf({ name, version, entry, isOptional }: PinnedPackage): CDX.Models.Component {
  const purl = packageUrl(name, version);
  const [group, short] = name.startsWith("@") ? name.split("/") : [undefined, name];
  return new Models.Component(Enums.ComponentType.Library, short ?? name, {
    ...(group === undefined ? {} : { group }),
    version,
    purl,
    bomRef: purl,
    scope: isOptional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required,
    hashes: new Models.HashDictionary(digestsOf(entry)),
    licenses: new Models.LicenseRepository(licencesOf(entry)),
  });
}

/** As the specification of package URLs has it for npm: the scope is a namespace. */
function packageUrl(name: string, version: string): string {
  const path = name.split("/").map(encodeURIComponent).join("/");
  return `pkg:npm/${path}@${encodeURIComponent(version)}`;
}

function digestsOf({ integrity = "" }: LockEntry): [CDX.Enums.HashAlgorithm, string][] {
  const base64 = /^sha512-(\S+)$/.exec(integrity)?.[1];
  if (base64 === undefined) return [];
  const hex = Buffer.from(base64, "base64").toString("hex");
  return [[Enums.HashAlgorithm["SHA-512"], hex]];
}

function licencesOf({ license }: LockEntry): CDX.Models.License[] {
  if (license === undefined) return [];
  if (SPDX.isSupportedSpdxId(license)) return [new Models.SpdxLicense(license)];
  return [new Models.LicenseExpression(license)];
}

/** A UUID of version 8, whose bits are a digest's. */
function uuidOf(text: string): string {
  const bytes = createHash("sha256").update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20)].join("-");
}
