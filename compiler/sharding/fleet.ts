/** Combines the parts of a compile, and finds lost, duplicate or foreign ones. */
import { InputError } from "../spec/document/input-error.ts";
import type { PartHeader } from "./part.ts";
import type { ReadPart } from "./part-text.ts";
import { shardText } from "./shard.ts";

/** Part as given, if it exists. */
export interface GivenPart {
  /** Path as given. */
  readonly path: string;
  /** Null if not even an unfinished part exists. */
  readonly part: ReadPart | null;
  /** Last write, ms since 1970; null if it does not exist. */
  readonly writtenMs: number | null;
}

export interface PresentPart extends GivenPart {
  readonly part: ReadPart;
}

export interface Fleet {
  readonly of: number;
  readonly header: PartHeader;
  /** Keys are shard numbers; several parts if a shard was given more than once. */
  readonly byShard: ReadonlyMap<number, readonly PresentPart[]>;
  /** Paths without a part. */
  readonly absent: readonly string[];
}

/** @throws InputError INPUT_PARTS if they are of different compiles, or none exists. */
export function fleetOfParts(given: readonly GivenPart[]): Fleet {
  const present = given.flatMap((one) => (one.part === null ? [] : [{ ...one, part: one.part }]));
  const absent = given.filter(({ part }) => part === null).map(({ path }) => path);
  const [first] = present;
  if (first === undefined) {
    throw refusal(`expected parts of stratagem compile --shard, got none; ${nothing(absent)}`);
  }
  for (const other of present.slice(1)) expectSame(first, other);
  const byShard = new Map<number, PresentPart[]>();
  for (const one of present) {
    const { number } = one.part.header.shard;
    byShard.set(number, [...(byShard.get(number) ?? []), one]);
  }
  const { header } = first.part;
  return { of: header.shard.of, header, byShard, absent };
}

/** @throws InputError INPUT_PARTS that names the lost, unfinished or duplicate shards. */
export function expectWhole({ of, byShard, absent }: Fleet): readonly PresentPart[] {
  const wrong: string[] = [];
  const lost: number[] = [];
  const whole: PresentPart[] = [];
  for (let number = 1; number <= of; number++) {
    const parts = byShard.get(number) ?? [];
    const [first, second] = parts;
    if (first === undefined) lost.push(number);
    else if (second !== undefined) {
      const paths = parts.map(({ path }) => path).join(" and ");
      wrong.push(`shard ${number} was given ${parts.length} times (${paths})`);
    } else if (!first.part.isWhole) {
      const { length } = first.part.levels;
      wrong.push(`shard ${number} is unfinished (${first.path} has ${length} levels so far)`);
    } else whole.push(first);
  }
  if (lost.length > 0)
    wrong.unshift(`${shardsText(lost)} ${lost.length === 1 ? "is" : "are"} lost`);
  if (absent.length > 0) wrong.push(nothing(absent));
  if (wrong.length === 0) return whole;
  throw refusal(`expected one part of each of ${of} shards, but ${wrong.join("; ")}`);
}

export function shardsText(numbers: readonly number[]): string {
  return `${numbers.length === 1 ? "shard" : "shards"} ${numbers.join(", ")}`;
}

function nothing(paths: readonly string[]): string {
  return `not found: ${paths.join(", ")}`;
}

/** Reports the most likely difference first. */
function expectSame(one: PresentPart, other: PresentPart): void {
  const [a, b] = [one.part.header, other.part.header];
  const difference = differenceOf(a, b);
  if (difference === null) return;
  throw refusal(`expected parts of the same compile, but ${difference(one.path, other.path)}`);
}

type DifferenceText = (one: string, other: string) => string;

function differenceOf(a: PartHeader, b: PartHeader): DifferenceText | null {
  if (a.shard.of !== b.shard.of) {
    return (one, other) =>
      `${one} is shard ${shardText(a.shard)} and ${other} is shard ${shardText(b.shard)}`;
  }
  const [nameOfA, nameOfB] = [a.source.application.name, b.source.application.name];
  if (nameOfA !== nameOfB)
    return (one, other) => `${one} is for ${nameOfA}, ${other} for ${nameOfB}`;
  if (a.compiler !== b.compiler) {
    return (one, other) => `${one} is by ${a.compiler} and ${other} by ${b.compiler}`;
  }
  if (a.fleet === b.fleet) return null;
  const file = differingFile(a, b);
  if (file !== null) return (one, other) => `${file} differs between ${one} and ${other}`;
  return (one, other) => `${one} and ${other} were compiled with different options`;
}

function differingFile(a: PartHeader, b: PartHeader): string | null {
  const digests = new Map(a.source.inputs.map(({ path, sha256 }) => [path, sha256]));
  const other = b.source.inputs.find(({ path, sha256 }) => digests.get(path) !== sha256);
  if (other !== undefined) return other.path;
  const paths = new Set(b.source.inputs.map(({ path }) => path));
  return a.source.inputs.find(({ path }) => !paths.has(path))?.path ?? null;
}

function refusal(message: string): InputError {
  return new InputError("INPUT_PARTS", message);
}
